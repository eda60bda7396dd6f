"""The fixtures notice what is taken away from the gate. All of it is with `--full`, or `python -m tests.mutations`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutations import MUTATIONS, NOTHING, Mutation, NoMutation, build_all, notice
from tests.support.fixtures import found

_NAMED = {mutation.what: mutation for mutation in MUTATIONS}


def noticed(mutation: Mutation, prefix: str, folder: Path) -> list[str]:
    paths = [path for path in found() if path.startswith(prefix)]
    build_all(paths, folder)
    return notice(mutation, paths, folder)


def test_a_rule_and_a_line_that_are_gone_are_noticed(tmp_path: Path) -> None:
    assert noticed(_NAMED["rule paths-inside"], "gate/paths-inside/", tmp_path / "rule")
    assert noticed(_NAMED["landing: one merge base"], "gate/landing/", tmp_path / "line")


def test_nothing_is_noticed_where_nothing_is_gone(tmp_path: Path) -> None:
    assert noticed(NOTHING, "gate/paths-inside/", tmp_path) == []


def test_a_mutation_that_changes_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NoMutation, match="stands 0 times"):
        notice(Mutation("moved on", "landing.py", "what was here once", "x"), [], tmp_path)


def test_every_mutation_fits_the_source(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """With `--full` all are made, and all noticed."""
    full = request.config.getoption("--full")
    paths = found() if full else []
    build_all(paths, tmp_path)
    survivors = [mutation.what for mutation in MUTATIONS if not notice(mutation, paths, tmp_path) and full]
    assert survivors == []
