"""`swarm demo`: it tells its story to the end, sealed from its user, cleans up, and fails where a command does."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from claims.demo.pull_requests import gate
from claims.demo.stage import set_stage
from claims.demo.terminal import Terminal
from claims.errors import CODES, Undecided
from tests.support.git_wrapper import GitWrapper
from tests.support.swarm import Result, swarm

#: What the story has to come to, in this order: the error codes of its refusals.
REFUSALS = [
    "on-base-branch",
    *("claim-held", "claim-held", "lock-held", "dependency-open"),
    "claim-live",
    *("claim-held", "claim-lost", "claim-lost", "claim-lost"),
    "finished-elsewhere",
]

#: The five moves of the incident, in their order: the rules that each breaks.
MOVES = {
    "agent/made-up": {
        *("one-task", "base-queued", "task-unchanged", "authority-unchanged"),
        *("plan-current", "claim-recorded", "paths-inside"),
    },
    "agent/unclaimed": {"claim-recorded"},
    "agent/two-again": {"claim-recorded", "claim-current"},
    "agent/two, its authority widened": {"authority-unchanged"},
    "agent/two, a path outside": {"paths-inside"},
}


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the demo's temporary folder comes to lie, and nothing else."""
    folder = tmp_path / "temporary files"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def test_the_story(folders: Path) -> None:
    told = swarm(folders, "demo", ok=True)
    assert re.findall(r"^error\[([a-z-]+)\]: ", told.out, re.MULTILINE) == REFUSALS
    assert re.findall(r"\(exit ([1-9][0-9]*)\)", told.out) == [str(CODES[code]) for code in REFUSALS] + ["1"] * len(
        MOVES
    )
    assert "EXPIRED" in told.out
    assert "stole T-" in told.out
    assert told.out.rstrip().endswith("all as told; the folder is gone again")
    assert told.err == ""
    assert list(folders.iterdir()) == []
    # Commands stand as they are typed.
    typed = re.findall(r"^(\S+)\$ (.*)$", told.out, re.MULTILINE)
    assert ("app", "git push --quiet origin main") in typed
    assert ("one", "swarm renew --minutes 60") in typed
    assert {where for where, _ in typed} == {".", "app", "one", "two", "far"}


def test_it_reads_nobodys_configuration_and_keeps_the_folder(folders: Path, tmp_path: Path) -> None:
    hostile = tmp_path / "hostile"
    hostile.mkdir()
    (hostile / ".gitconfig").write_text("[swarm]\n\tbase = nowhere\n[core]\n\thooksPath = /bin\n[broken\n")
    env = {
        "HOME": str(hostile),
        "GIT_CONFIG_GLOBAL": None,
        "SWARM_GIT_CONFIG_SEALED": None,
        "GIT_DIR": str(hostile),
        "SWARM_BASE": "nowhere",
        "SWARM_AGENT": "somebody",
        "SWARM_REMOTE": "elsewhere",
    }
    told = swarm(folders, "demo", "--keep", env=env, ok=True)
    assert "somebody" not in told.out and str(hostile) not in told.out
    (kept,) = folders.iterdir()
    assert told.out.rstrip().endswith(f"all as told; kept in {kept}")
    assert (kept / "origin.git").is_dir() and (kept / "far" / ".agents").is_dir()


def test_json_is_one_value(folders: Path) -> None:
    told: Result = swarm(folders, "demo", "--json", ok=True)
    steps = told.json["steps"]
    refused = [step for step in steps if step["exit"] and step["command"].startswith("swarm ")]
    assert [re.findall(r"error\[([a-z-]+)\]", step["output"])[0] for step in refused] == REFUSALS
    honest, *moves = [step for step in steps if step["command"].startswith("swarm-gate ")]
    assert (honest["exit"], honest["output"].count("fail[")) == (0, 0)
    assert "verdict: pass (implementation of T-" in honest["output"]
    assert [(step["exit"], broken(step["output"])) for step in moves] == [(1, rules) for rules in MOVES.values()]
    assert told.json["folder"] is None
    assert list(folders.iterdir()) == []


def broken(output: str) -> set[str]:
    """The rules by which a pull request failed."""
    return set(re.findall(r"^fail\[([a-z-]+)\]", output, re.MULTILINE))


def test_it_fails_where_the_gate_lets_a_move_pass(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, os.environ, lambda line: None)
    stage = set_stage(terminal)
    terminal.run("two", f"swarm claim {stage.schema} --agent two")
    lenient = '#!/bin/sh\necho "verdict: pass (implementation of $(ls .agents/tasks/done | sed s/.md//))"\n'
    (tmp_path / "bin" / "swarm-gate").write_text(lenient)
    with pytest.raises(Undecided, match=r"swarm-gate pr .* ended otherwise than told"):
        gate(stage)
    honest = next(step for step in terminal.steps if step.command.startswith("swarm-gate"))
    assert honest.output.startswith("verdict: pass")
    assert terminal.steps[-2].command == "git commit --quiet -m 'Whatever I like'"


def test_it_fails_where_a_command_ends_otherwise_than_told(folders: Path, tmp_path: Path) -> None:
    wrapper = GitWrapper(tmp_path / "wrapper")
    wrapper.fail(1, "fatal: not today\n", "worktree", "add")
    told = swarm(folders, "demo", env=wrapper.env)
    assert (told.code, told.error_code) == (3, "unexpected")
    assert "git worktree add" in told.err
    assert list(folders.iterdir()) == []


def test_no_git(folders: Path, tmp_path: Path) -> None:
    nothing = tmp_path / "nothing"
    nothing.mkdir()
    told = swarm(folders, "demo", "--json", env={"PATH": str(nothing)})
    assert (told.code, told.error_code) == (3, "git-missing")


@pytest.mark.parametrize(
    ("command", "code", "fine"),
    [
        ("swarm --version", "usage", False),
        ("swarm nothing", "usage", True),
        ("swarm nothing", "claim-held", False),
        ("git nothing", "usage", False),
    ],
)
def test_a_refusal_has_to_be_the_one_that_was_told(tmp_path: Path, command: str, code: str, fine: bool) -> None:
    terminal = Terminal(tmp_path, os.environ, lambda line: None)
    if fine:
        terminal.refused(".", command, code)
    else:
        with pytest.raises(Undecided, match="otherwise than told"):
            terminal.refused(".", command, code)


@pytest.mark.parametrize(
    ("command", "says", "fine"),
    [
        ("swarm --version", "swarm 0", True),
        ("swarm --version", "swarm x", False),
        ("swarm nothing", "", False),
        ("swarm-gate --version", "swarm-gate 0", True),
    ],
)
def test_a_success_has_to_say_what_was_told(tmp_path: Path, command: str, says: str, fine: bool) -> None:
    shown: list[str] = []
    terminal = Terminal(tmp_path, os.environ, shown.append)
    if fine:
        terminal.run(".", command, says=says)
        assert shown[0] == f"\n.$ {command}"
        assert json.dumps([step.to_json() for step in terminal.steps])
    else:
        with pytest.raises(Undecided, match="otherwise than told"):
            terminal.run(".", command, says=says)


@pytest.mark.parametrize(
    ("rules", "exit", "fine"),
    [
        (("a-b", "c"), 1, True),
        (("a-b",), 1, False),
        (("a-b", "c", "d"), 1, False),
        (("a-b", "d"), 1, False),
        (("a-b", "c"), 0, False),
    ],
)
def test_a_failure_has_to_be_by_the_rules_that_were_told(
    tmp_path: Path, rules: tuple[str, ...], exit: int, fine: bool
) -> None:
    (tmp_path / "says").write_text(f"echo 'fail[a-b]: x'; echo 'fail[c]: y'; echo 'verdict: FAIL'; exit {exit}\n")
    terminal = Terminal(tmp_path, os.environ, lambda line: None)
    if fine:
        terminal.failed(".", "sh says", *rules)
    else:
        with pytest.raises(Undecided, match="otherwise than told"):
            terminal.failed(".", "sh says", *rules)
