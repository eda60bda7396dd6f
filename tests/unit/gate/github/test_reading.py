"""GitHub's answers are taken for what it describes, or refused; nothing is cut short without a word."""

from __future__ import annotations

from typing import Any

import pytest

from claims.errors import Undecided
from gate.github.reading import Reading
from tests.unit.gate.github.canned import Canned, file

HERE = {"": {"default_branch": "main"}}


@pytest.mark.parametrize(
    "change",
    [
        {"type": "dir"},
        {"type": "submodule"},
        {"encoding": "none", "content": ""},
        {"content": None},
        {"content": "a"},
    ],
)
def test_what_is_no_file(change: dict[str, Any]) -> None:
    whole = {"/contents/f": file(b"x\n")}
    assert Reading(Canned(whole)).file("f", "main") == b"x\n"
    whole["/contents/f"] |= change
    with pytest.raises(Undecided) as refused:
        Reading(Canned(whole)).file("f", "main")
    assert refused.value.code == "github-unavailable"


def test_no_file() -> None:
    assert Reading(Canned({})).file("f", "main") is None
    assert Reading(Canned(HERE)).workflow_files() == {}


def workflows(number: int) -> Canned:
    paths = [f".github/workflows/{one:03}.yml" for one in range(number)]
    listed = [{"path": path, "type": "file"} for path in (*paths, ".github/workflows/README.md")]
    files = {f"/contents/{path}": file(path.encode()) for path in paths}
    return Canned({**HERE, "/contents/.github/workflows": listed, **files})


def test_more_workflows_than_are_read() -> None:
    assert len(Reading(workflows(100)).workflow_files()) == 100
    with pytest.raises(Undecided) as refused:
        Reading(workflows(101)).workflow_files()
    assert refused.value.code == "limits-exceeded"


def test_a_branch_with_a_slash_is_one_part_of_the_path() -> None:
    canned = Canned({"/rules/branches/release%2F1": []})
    assert Reading(canned).rules("release/1") == []
