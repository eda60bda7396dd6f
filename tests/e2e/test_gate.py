"""`swarm-gate pr`: the honest branch passes, and each move of the incident fails for its own reason."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.board import board_files, moved, task_file, task_id, task_path
from tests.support.repo import Repo, clone, init, origin
from tests.support.swarm import SWARM_GATE, swarm, swarm_gate

TASK = task_id(1)
BRANCH = "agent/one"
DONE = f".agents/tasks/done/{TASK}.md"


@pytest.fixture
def work(tmp_path: Path) -> Repo:
    """A clone on a branch of its own, at a base that queues one task for `src/`."""
    files = board_files(tasks=[task_file(TASK, paths=["src/"])])
    repo = clone(origin(tmp_path / "origin.git", files), tmp_path / "work")
    repo.git("switch", "--quiet", "-c", BRANCH)
    return repo


def claimed(repo: Repo) -> None:
    swarm(repo, "claim", TASK, "--agent", "one", ok=True)


def finished(repo: Repo) -> None:
    """The work inside the authority, and the move of the task."""
    repo.commit({"src/work.py": "print('done')\n"}, "Work")
    repo.commit(moved(task_file(TASK, paths=["src/"]), "done"), "Finish")


def judged(repo: Repo, *args: str) -> tuple[int, dict[str, set[str]]]:
    """The exit status and, by outcome, the rules that had it."""
    result = swarm_gate(repo, "pr", "--base", "origin/main", "--head", "HEAD", "--json", *args)
    assert not result.err, result
    by_outcome: dict[str, set[str]] = {}
    for rule, outcome in result.json["rules"].items():
        by_outcome.setdefault(outcome, set()).add(rule)
    assert result.json["verdict"] == ("pass" if result.code == 0 else "fail")
    return result.code, by_outcome


def test_the_honest_branch_passes(work: Repo) -> None:
    claimed(work)
    finished(work)
    code, rules = judged(work)
    assert (code, rules.get("fail"), rules.get("error")) == (0, None, None)


def test_it_passes_after_the_release_and_changes_nothing(work: Repo) -> None:
    claimed(work)
    finished(work)
    swarm(work, "release", "--done", ok=True)
    before = work.snapshot()
    assert judged(work)[0] == 0
    assert work.snapshot() == before


def moved_in(text: str) -> dict[str, str]:
    """The edit that adds a task file where its status says."""
    return {task_path(text): text}


def authored_into_done(repo: Repo) -> None:
    claimed(repo)
    repo.commit(moved_in(task_file(task_id(2), status="done", paths=["src/"])), "Invent a task")
    repo.commit({"src/work.py": "print('done')\n"}, "Work")


def without_a_claim(repo: Repo) -> None:
    finished(repo)


def claimed_on_another_branch(repo: Repo) -> None:
    claimed(repo)
    repo.git("switch", "--quiet", "-c", "agent/two")
    finished(repo)


def with_a_widened_authority(repo: Repo) -> None:
    claimed(repo)
    finished(repo)
    repo.commit({DONE: task_file(TASK, status="done", paths=["src/", "docs/"])}, "Widen")


def with_a_path_outside(repo: Repo) -> None:
    claimed(repo)
    finished(repo)
    repo.commit({"docs/x.md": "outside\n"}, "Outside")


@pytest.mark.parametrize(
    ("move", "reasons"),
    [
        (authored_into_done, {"one-task", "base-queued", "claim-recorded", "authority-unchanged", "paths-inside"}),
        (without_a_claim, {"claim-recorded"}),
        (claimed_on_another_branch, {"claim-recorded", "claim-current"}),
        (with_a_widened_authority, {"authority-unchanged"}),
        (with_a_path_outside, {"paths-inside"}),
    ],
)
def test_each_move_of_the_incident_fails(work: Repo, move: Callable[[Repo], None], reasons: set[str]) -> None:
    move(work)
    code, rules = judged(work)
    assert code == 1
    assert reasons <= rules["fail"]
    if len(reasons) == 1:
        assert rules["fail"] == reasons


def test_a_path_that_a_commit_touched_and_another_restored_is_judged(work: Repo) -> None:
    claimed(work)
    finished(work)
    work.commit({"docs/x.md": "for a moment\n"}, "Touch")
    work.commit({"docs/x.md": None}, "Restore")
    code, rules = judged(work)
    assert (code, rules["fail"]) == (1, {"paths-inside"})


@pytest.mark.parametrize("name", ["main", "origin/main", "refs/heads/origin/main", BRANCH])
def test_a_tag_of_that_name_is_not_the_branch(work: Repo, name: str) -> None:
    """git takes the tag, and a fetch brings tags along: whoever may push could choose what is judged."""
    claimed(work)
    finished(work)
    honest = work.git("rev-parse", "HEAD")
    work.commit({"docs/x.md": "outside\n"}, "Outside")
    base, head = ("main" if name == "main" else "origin/main", BRANCH)
    work.git("tag", name, honest if name == BRANCH else "HEAD~1")
    result = swarm_gate(work, "pr", "--base", base, "--head", head, "--json")
    assert (result.code, result.json["verdict"]) == (1, "fail")
    assert result.json["base"]["commit"] == work.git("rev-parse", "refs/remotes/origin/main")
    assert result.json["head"]["commit"] == work.git("rev-parse", "HEAD")


@pytest.mark.parametrize(
    ("revision", "tag"),
    [
        ("HEAD-2", "HEAD-2"),
        ("refs/heads/gone", "refs/heads/gone"),
        ("HEAD-2^0", "HEAD-2"),
        ("HEAD-2@{upstream}", "other"),
    ],
)
def test_a_tag_is_not_the_head(work: Repo, revision: str, tag: str) -> None:
    claimed(work)
    work.git("branch", "HEAD-2")
    finished(work)
    work.git("tag", tag)
    result = swarm_gate(work, "pr", "--base", "origin/main", "--head", revision, "--json")
    if revision in ("HEAD-2", "HEAD-2^0"):
        assert {finding["rule"] for finding in result.json["findings"]} == {"no-change"}
        assert result.json["head"]["branch"] == ("HEAD-2" if revision == "HEAD-2" else None)
    else:
        assert (result.code, "names no commit here" in result.err) == (64, True)


@pytest.mark.parametrize("archived", [True, False], ids=["archived", "gone"])
@pytest.mark.parametrize("place", ["local", "remote"])
def test_a_claim_that_was_archived_is_on_record(tmp_path: Path, place: str, archived: bool) -> None:
    files = board_files(tasks=[task_file(TASK, paths=["src/"])])
    if place == "remote":
        arbiter = origin(tmp_path / "origin.git", files)
        work = clone(arbiter, tmp_path / "work")
    else:
        arbiter = work = init(tmp_path / "work", files)
    work.branch(BRANCH)
    claimed(work)
    finished(work)
    swarm(work, "release", TASK, "--reason", "enough", ok=True)
    ((ref, blob),) = arbiter.refs("refs/swarm/claim-log/").items()
    if archived:
        stamp = ref.rpartition("/")[2]
        tree = arbiter.git("mktree", input=f"100644 blob {blob}\t{stamp}.json\n")
        for name in (TASK, TASK[2:8]):
            tree = arbiter.git("mktree", input=f"040000 tree {tree}\t{name}\n")
        arbiter.git("update-ref", "refs/swarm/claim-log-archive", arbiter.git("commit-tree", tree, "-m", "Archive"))
    arbiter.git("update-ref", "-d", ref)
    base = "origin/main" if place == "remote" else "main"
    result = swarm_gate(work, "pr", "--base", base, "--head", "HEAD", "--json")
    assert (result.code, result.json["verdict"]) == ((0, "pass") if archived else (1, "fail")), result
    assert (result.json["rules"]["claim-recorded"] == "pass") is archived


@pytest.mark.parametrize("ends", ["inside", "outside"])
def test_a_link_is_judged_by_where_it_leads_in_the_end(tmp_path: Path, ends: str) -> None:
    """Not by where another commit had it lead."""
    files = board_files(tasks=[task_file(TASK, paths=["src/", "src/link"])])
    work = clone(origin(tmp_path / "origin.git", {**files, "src/a.py": "a\n"}), tmp_path / "work")
    work.branch(BRANCH)
    claimed(work)
    link = work.path / "src" / "link"
    for number, target in enumerate(["work.py", "a.py"] if ends == "inside" else ["a.py", "../docs/x"]):
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        work.git("add", "-A")
        work.git("commit", "-qm", f"Link {number}")
    work.commit(moved(task_file(TASK, paths=["src/", "src/link"]), "done"), "Finish")
    code, rules = judged(work)
    assert (code, rules.get("fail")) == ((0, None) if ends == "inside" else (1, {"entries-ordinary"}))


@pytest.mark.parametrize("operators", [[], ["octocat"]], ids=["nobody", "somebody"])
def test_without_a_task_it_matters_who_wrote_it(tmp_path: Path, operators: list[str]) -> None:
    config = {"gate": {"operators": operators, "hotfix": True}}
    repo = clone(origin(tmp_path / "origin.git", board_files(config=config)), tmp_path / "work")
    repo.branch(BRANCH)
    repo.commit({"src/work.py": "print('hot')\n"}, "Fix")
    unknown = swarm_gate(repo, "pr", "--base", "origin/main", "--head", "HEAD", "--json")
    named = swarm_gate(repo, "pr", "--base", "origin/main", "--head", "HEAD", "--author", "octocat", "--json")
    assert [unknown.code, named.code] == [1, 0 if operators else 1]
    assert any("--author" in notice["message"] for notice in unknown.json["notices"]) is bool(operators)
    assert not any("--author" in notice["message"] for notice in named.json["notices"])


def test_nothing_lands(work: Repo) -> None:
    result = swarm_gate(work, "pr", "--base", "origin/main", "--head", "HEAD", "--json")
    assert (result.code, [one["rule"] for one in result.json["findings"]]) == (1, ["no-change"])


def test_a_conflict_is_a_finding(work: Repo) -> None:
    claimed(work)
    finished(work)
    work.git("branch", "base", "origin/main")
    work.commit({"src/work.py": "print('base')\n"}, "Base goes on", branch="base")
    result = swarm_gate(work, "pr", "--base", "base", "--head", "HEAD", "--json")
    assert (result.code, [one["rule"] for one in result.json["findings"]]) == (1, ["landing-conflict"])


def test_a_head_without_a_common_history(work: Repo) -> None:
    work.git("switch", "--quiet", "--orphan", "alone")
    work.commit({"src/work.py": "print('alone')\n"}, "Alone")
    result = swarm_gate(work, "pr", "--base", "origin/main", "--head", "HEAD", "--json")
    assert (result.code, [one["rule"] for one in result.json["findings"]]) == (1, ["no-common-history"])


def test_work_that_was_begun_before_the_claim_does_not_bind(work: Repo) -> None:
    work.commit({"src/early.py": "print('early')\n"}, "Begin")
    claimed(work)
    finished(work)
    code, rules = judged(work)
    assert (code, rules["fail"]) == (1, {"claim-binds"})


def test_a_stolen_claim_overtakes(work: Repo, tmp_path: Path) -> None:
    claimed(work)
    finished(work)
    swarm(work, "renew", "--minutes", "0", ok=True)
    other = work.worktree("other", "agent/other", "origin/main")
    swarm(other, "steal", TASK, "--agent", "other", ok=True)
    code, rules = judged(work)
    assert (code, rules["fail"]) == (1, {"claim-current"})


def test_a_base_that_moved_on_the_remote_is_judged_as_it_is_now(work: Repo, tmp_path: Path) -> None:
    claimed(work)
    finished(work)
    other = clone(work.path.parent / "origin.git", tmp_path / "other")
    moved_to = other.commit({task_path(TASK): None}, "Withdraw the task")
    other.git("push", "--quiet", "origin", "main")
    result = swarm_gate(work, "pr", "--base", "origin/main", "--head", "HEAD", "--json")
    assert (result.code, result.json["base"]["commit"]) == (1, moved_to)
    assert [one["rule"] for one in result.json["findings"]] == ["landing-conflict"]


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["text", "json"])
@pytest.mark.parametrize("honest", [True, False])
def test_a_reader_that_goes_away_turns_no_failure_into_a_pass(work: Repo, honest: bool, options: list[str]) -> None:
    if honest:
        claimed(work)
    finished(work)
    command = [str(SWARM_GATE), "pr", "--base", "origin/main", "--head", "HEAD", *options]
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(command, cwd=work.path, stdout=writing, stderr=subprocess.PIPE, timeout=60, check=False)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (0 if honest else 1, b"")


@pytest.mark.parametrize("revision", ["no-such-branch", "--upload-pack=x", "HEAD:src"])
def test_a_head_that_is_none(work: Repo, revision: str) -> None:
    result = swarm_gate(work, "pr", "--base", "origin/main", f"--head={revision}", "--json")
    assert (result.code, result.error_code, result.out) == (64, "usage", "")
    told = json.loads(result.err)
    assert (list(told), told["version"], told["verdict"]) == (["version", "verdict", "error"], 1, "error")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--head-repo", "O/App", "--head-repo-id", "7", "--base-repo", "o/app"], 0),
        (["--head-repo", "fork/app", "--head-repo-id", "42", "--base-repo", "o/app"], 1),
        (["--head-repo", "o/app", "--head-repo-id", "42"], 1),
        (["--head-repo-id", "42"], 1),
        (["--head-repo", "", "--head-repo-id", "42"], 64),
        (["--head-repo", ""], 64),
        (["--head-repo", "o/\u212a", "--base-repo", "o/k"], 64),
    ],
)
def test_a_fork_does_not_ride_on_the_claim_of_a_branch_here(work: Repo, options: list[str], expected: int) -> None:
    """Nor where only its number is known, or where a script has nothing to say: the fork was deleted."""
    claimed(work)
    finished(work)
    result = swarm_gate(work, "pr", "--base", "origin/main", "--head", "HEAD", "--json", *options)
    assert result.code == expected, result
    if expected == 1:
        assert {one["rule"] for one in result.json["findings"]} == {"claim-recorded", "claim-current"}


def test_every_rule_is_explained(work: Repo) -> None:
    listed = swarm_gate(work, "rules", "--json", ok=True).json["rules"]
    assert len(listed) >= 19
    for one in listed:
        text = swarm_gate(work, "rules", one["rule"], ok=True).out
        assert "Why:" in text and "Fix:" in text
    assert swarm_gate(work, "rules", "no-such-rule").code == 64
