"""`swarm-gate board`, and pull requests that plan."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.board import board_files, milestone, moved, task_file, task_id
from tests.support.git_wrapper import GitWrapper
from tests.support.repo import Repo, clone, init, origin
from tests.support.swarm import swarm_gate

ONE, TWO = task_id(1), task_id(2)
QUEUED = f".agents/tasks/queued/{ONE}.md"
PR = ["pr", "--base", "origin/main", "--head", "HEAD"]
FILES = board_files([task_file(ONE)], plan=1, manifest=[milestone("m1", [ONE])], config={"gate": {"operators": ["op"]}})


@pytest.fixture
def work(tmp_path: Path) -> Repo:
    repo = clone(origin(tmp_path / "origin.git", FILES), tmp_path / "work")
    repo.branch("plan")
    return repo


def test_a_valid_board(tmp_path: Path) -> None:
    repo = init(tmp_path / "repo", FILES)
    result = swarm_gate(repo, "board", ok=True)
    assert (result.out, result.err) == ("verdict: pass (1 task, 0 findings)\n", "")
    assert swarm_gate(repo, "board", "--json", ok=True).json == {
        "version": 1,
        "verdict": "pass",
        "tasks": 1,
        "findings": [],
        "notices": [],
    }


def test_the_working_tree_and_a_revision(tmp_path: Path) -> None:
    """From any folder; in a bare repository a revision has to be named."""
    repo = init(tmp_path / "repo", {**FILES, "src/a.py": "a\n"})
    (repo.path / QUEUED).write_text(task_file(ONE, depends_on=[TWO]))
    found = swarm_gate(repo.path / "src", "board", "--json", ok=False)
    assert (found.code, found.json["verdict"]) == (1, "fail")
    assert [(one["rule"], one["path"]) for one in found.json["findings"]] == [("board-valid", QUEUED)]
    text = swarm_gate(repo, "board", ok=False)
    assert text.out.startswith(f"fail[board-valid]: {QUEUED}: `depends_on` names {TWO}")
    assert swarm_gate(repo, "board", "--rev", "HEAD").code == 0
    bare = clone(repo, tmp_path / "bare.git", "--bare")
    assert swarm_gate(bare, "board", "--rev", "main").code == 0
    assert swarm_gate(bare, "board", "--json", ok=False).error["code"] == "not-a-repository"
    assert swarm_gate(repo, "board", "--rev", "nothing").code == 64


def judged(repo: Repo, *args: str) -> tuple[str, str, set[str]]:
    """Verdict, kind and the rules that failed."""
    result = swarm_gate(repo, "pr", "--base", "origin/main", "--head", "HEAD", "--json", *args)
    assert not result.err, result
    failed = {rule for rule, outcome in result.json["rules"].items() if outcome == "fail"}
    assert result.code == (0 if result.json["verdict"] == "pass" else 1)
    return result.json["verdict"], result.json["kind"], failed


def add_a_task(repo: Repo) -> None:
    stones = [milestone("m1", [ONE, TWO])]
    repo.commit(board_files([task_file(ONE), task_file(TWO, depends_on=[ONE])], plan=1, manifest=stones), "Plan")


def test_an_operator_plans(work: Repo) -> None:
    add_a_task(work)
    assert judged(work, "--author", "op") == ("pass", "planning", set())
    assert judged(work, "--author", "OP")[0] == "pass", "GitHub folds the case of logins"


def test_nobody_else_does(work: Repo) -> None:
    add_a_task(work)
    for author in (["--author", "agent"], []):
        verdict, kind, failed = judged(work, *author)
        assert (verdict, kind) == ("fail", "implementation")
        assert {"one-task", "reserved-paths"} <= failed


def test_a_plan_that_breaks_the_board_fails(work: Repo) -> None:
    work.commit({QUEUED: task_file(ONE, depends_on=[TWO])}, "Plan")
    assert judged(work, "--author", "op") == ("fail", "planning", {"board-valid"})


def test_who_makes_an_operator_of_an_author_is_judged_by_base(work: Repo) -> None:
    config = board_files([], config={"gate": {"operators": ["op", "agent"]}})[".agents/swarm.yaml"]
    work.commit({".agents/swarm.yaml": config}, "Make me an operator")
    assert judged(work, "--author", "agent")[:2] == ("fail", "implementation")
    assert judged(work, "--author", "op")[:2] == ("pass", "planning")


def test_a_plan_with_a_file_in_done_or_with_code_is_none(work: Repo) -> None:
    work.commit(moved(task_file(ONE), "done"), "Call it done")
    assert judged(work, "--author", "op")[1] == "implementation"
    work.git("reset", "-q", "--hard", "origin/main")
    add_a_task(work)
    work.commit({"src/x.py": "x\n"}, "And some code")
    assert judged(work, "--author", "op")[1] == "implementation"


def test_dead_links_are_a_notice(work: Repo) -> None:
    work.commit({QUEUED: task_file(ONE, body="See [x](docs/gone.md).\n")}, "Plan")
    result = swarm_gate(work, "pr", "--base", "origin/main", "--head", "HEAD", "--author", "op", "--json", ok=True)
    assert ["docs/gone.md, which is not there" in one["message"] for one in result.json["notices"]].count(True) == 1


def test_a_link_to_a_name_that_no_file_has_is_a_notice(work: Repo) -> None:
    """Whatever a body says, the rest of the board is checked: from files, from a clone's objects and by the gate."""
    (work.path / QUEUED).write_text(task_file(ONE, body="See [x](docs/a%0Ab.md) and [y](docs/%00.md).\n"))
    work.git("commit", "-qam", "Plan")
    for args in (["board"], ["board", "--rev", "HEAD"]):
        found = swarm_gate(work, *args, "--json", ok=True).json
        assert ["which is not there" in one["message"] for one in found["notices"]] == [True, True]
    assert judged(work, "--author", "op") == ("pass", "planning", set())


@pytest.mark.parametrize("args", [["board", "--rev", "HEAD"], [*PR, "--author", "op"]])
def test_a_path_that_is_not_utf8_is_given_with_escapes(work: Repo, args: list[str]) -> None:
    blob = work.git("hash-object", "-w", "--stdin", input="x").strip()
    entry = f"100644 {blob}\t.agents/tasks/queued/x".encode() + b"\xff.md\0"
    work.git("update-index", "-z", "--index-info", input=entry)
    work.git("commit", "-qm", "Odd")
    result = swarm_gate(work, *args, "--json", ok=False)
    assert result.code == 1
    paths = {one["path"] for one in result.json["findings"] if one["rule"] == "board-valid"}
    assert paths == {".agents/tasks/queued/x\\xff.md"}


def test_a_partial_clone_fetches_the_board_at_once(tmp_path: Path) -> None:
    """Though it is read a batch at a time."""
    tasks = [task_id(number) for number in range(1, 301)]
    bare = origin(tmp_path / "origin.git", board_files(tasks))
    bare.git("config", "uploadpack.allowFilter", "true")
    bare.git("config", "uploadpack.allowAnySHA1InWant", "true")
    partial = clone(bare, tmp_path / "partial", "--filter=blob:none", "--no-checkout")
    wrapper = GitWrapper(tmp_path / "wrapped")
    found = swarm_gate(partial, "board", "--rev", "origin/main", "--json", env=wrapper.env, ok=True).json
    assert (found["tasks"], found["findings"], found["notices"]) == (300, [], [])
    assert len([call for call in wrapper.log if "fetch" in call.argv]) == 1
