"""`swarm-gate doctor` as it is typed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.board import board_files, task_id
from tests.support.repo import Repo, clone, init, origin
from tests.support.swarm import swarm, swarm_gate

ONE = task_id(1)


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A clone without a remote, with a claim."""
    repo = init(tmp_path / "repo", board_files([ONE]))
    repo.branch("topic")
    swarm(repo, "claim", ONE, "--agent", "ann", ok=True)
    return repo


def test_silence_where_all_is_well(repo: Repo) -> None:
    result = swarm_gate(repo, "doctor")
    assert (result.code, result.out, result.err) == (0, "", "")
    assert swarm_gate(repo, "doctor", "--json").json == {
        "version": 1,
        "verdict": "pass",
        "findings": [],
        "unknown": [],
    }


def test_what_needs_a_hand(repo: Repo) -> None:
    lock = repo.git_path("packed-refs.lock")
    lock.touch()
    os.utime(lock, (0, 0))
    result = swarm_gate(repo, "doctor")
    assert (result.code, result.err) == (1, "")
    first, expected, fix = result.out.splitlines()
    assert first.startswith("found[lock-file]: ") and expected.startswith("  expected: ")
    assert fix.startswith(f"  fix: rm {lock}   # ")
    found = swarm_gate(repo, "doctor", "--json").json
    assert (found["verdict"], [one["code"] for one in found["findings"]]) == ("fail", ["lock-file"])
    assert lock.exists()


def test_what_could_not_be_looked_at(tmp_path: Path) -> None:
    """A remote that leads to no repository on GitHub: the clone is well, and nobody looked at GitHub."""
    here = clone(origin(tmp_path / "origin.git", board_files([ONE])), tmp_path / "here")
    result = swarm_gate(here, "doctor")
    assert (result.code, result.err) == (3, "")
    assert result.out.startswith("unknown[check-required, ") and "--no-remote" in result.out
    assert swarm_gate(here, "doctor", "--no-remote").code == 0


def test_wrong_command_lines(repo: Repo) -> None:
    assert swarm_gate(repo, "doctor", "--repo", "widgets").error_code == "usage"
    assert swarm_gate(repo, "doctor", "--base", "-x").code == 64
    assert swarm_gate(repo.path.parent, "doctor").error_code == "not-a-repository"
