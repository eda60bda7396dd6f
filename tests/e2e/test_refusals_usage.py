"""What was not written as the help says (exit 64): usage errors wherever `--json` stands, and ids that are not one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.scene import T1, T2, T3, Scenario, Scene, alone, change, nothing, prove, stage
from tests.support.board import task_path
from tests.support.swarm import swarm

#: A wrong command line, what is said of it, and how it is right. Neither claims anything: nobody has a name here.
WRONG = [
    ("nope", "No such command 'nope'", "status"),
    ("status --nope", "No such option", "status"),
    ("status more", "unexpected extra argument", "status"),
    ("-C", "requires an argument", "-C . status"),
    ("claim", "Missing argument 'ID'", None),
    ("claim --minutes 0", "range 1<=x<=1440", None),
    ("claim --minutes 1441", "range 1<=x<=1440", None),
    ("claim --minutes ten", "not a valid integer range", None),
    ("claim --repository 0", "range x>=1", None),
    ("claim t-20260814-00000001", "not a task id", None),
    ("claim T-20260230-00000001", "not a real date", None),
    ("claim T-20260814-0000000G", "not a task id", None),
    ("claim 001", "4 or more characters", None),
    ("claim 0000000g", "4 or more characters", None),
    ("claim 000000001", "4 or more characters", None),
    ("claim -- -rf/", "4 or more characters", None),
    ("claim ''", "4 or more characters", None),
    ("claim täsk", "4 or more characters", None),
    ("renew --minutes -1", "range 0<=x<=1440", None),
    ("renew --minutes 1441", "range 0<=x<=1440", None),
    ("renew --every 0", "range 1<=x<=120", None),
    ("renew --every 121", "range 1<=x<=120", None),
    ("renew --every 5 --minutes 5", "has to outlast --every 5", None),
    (f"reopen {T1}", "Missing option '--reason'", None),
    (f"reopen {T1} --reason ' '", "1 to 1000 printable characters", None),
    (f"release {T1} --reason {'x' * 1001}", "1 to 1000 printable characters", None),
    ("--base 'a b' status", "--base: 'a b' is not a branch name", "--base main status"),
    ("status --agent -x", "--agent: '-x' is not an agent name", "status --agent x"),
    ("status --branch a..b", "--branch: 'a..b' is not a branch name", "status --branch ab"),
]


@pytest.fixture(scope="module")
def still(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """One scene for all wrong command lines: none of them may change it."""
    scene = alone(tmp_path_factory.mktemp("still"))
    before = scene.snapshots()
    yield scene
    assert scene.snapshots() == before


@pytest.mark.parametrize(("line", "words", "right"), WRONG, ids=[line[:40] for line, _, _ in WRONG])
def test_a_command_line_that_is_wrong(line: str, words: str, right: str | None, still: Scene) -> None:
    said = still.run(line)
    assert (said.code, said.out, said.error_code) == (64, "", "usage")
    assert words in said.err
    if right is not None:
        still.run(right, ok=True)


@pytest.mark.parametrize(
    "line",
    ["--json nope", "nope --json", "claim --json", "--json claim", "claim --minutes x --json T-1", "--json --nope"],
)
def test_json_may_stand_anywhere(line: str, tmp_path: Path) -> None:
    """Even where the command line did not get to be read that far."""
    told = swarm(tmp_path, *line.split())
    assert (told.code, told.out, told.error_code) == (64, "", "usage")
    assert told.error["hint"].endswith("--help")
    assert swarm(tmp_path, *told.error["hint"].split()[1:]).code == 0


def test_json_behind_two_dashes_is_an_argument(tmp_path: Path) -> None:
    told = swarm(tmp_path, "claim", "--", "--json")
    assert told.code == 64
    assert told.err.startswith("error[usage]: ")


@pytest.mark.parametrize(
    ("name", "value"),
    [("SWARM_AGENT", "two words"), ("SWARM_BASE", "a..b"), ("SWARM_TIMEOUT", "0"), ("SWARM_TIMEOUT", "soon")],
)
def test_a_variable_that_is_wrong(name: str, value: str, tmp_path: Path) -> None:
    scene = alone(tmp_path)
    error = scene.refused("status", env={name: value})
    assert error["code"] == "usage"
    assert error["message"].startswith(f"{name}: ")
    scene.run("status", env={name: ""}, ok=True)


def test_nothing_is_claimed_behind_the_back_of_a_remote(tmp_path: Path) -> None:
    scene = stage(tmp_path)
    for command in (f"claim {T1}", f"steal {T1}", "reap"):
        error = scene.refused(f"--no-remote {command}")
        assert (error["code"], "origin arbitrates here" in error["message"]) == ("usage", True)
    scene.run("--no-remote status", ok=True)
    scene.run(f"claim {T1}", ok=True)


AMBIGUOUS = [
    Scenario(
        "the start of several",
        "ambiguous-id",
        nothing,
        "claim T-20260814",
        "write more of it",
        change({task_path(T2): None, task_path(T3): None}),
    ),
    Scenario(
        "the start of several in hex",
        "ambiguous-id",
        nothing,
        "claim 0000",
        "write more of it",
        change({task_path(T2): None, task_path(T3): None}),
    ),
]


@pytest.mark.parametrize("scenario", AMBIGUOUS, ids=lambda scenario: scenario.name)
def test_ambiguous_and_then_not(scenario: Scenario, tmp_path: Path) -> None:
    prove(scenario, stage(tmp_path), exit=64)


def test_an_ambiguous_id_names_the_candidates(tmp_path: Path) -> None:
    scene = alone(tmp_path)
    assert scene.refused("check 0000")["details"] == {"candidates": [T1, T2, T3]}


@pytest.mark.parametrize("text", ["00000002", "T-20260814-00000002", "T-20260814-00000002"[:19]])
def test_an_id_may_be_shortened(text: str, tmp_path: Path) -> None:
    scene = alone(tmp_path)
    assert scene.claims(f"claim {text}")["task"] == T2
    assert scene.claims(f"check {text[:20]}")["task"] == T2
