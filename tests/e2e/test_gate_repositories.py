"""The repository around a pull request is hostile or broken: that never makes a pass of what fails, nor a traceback."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from hashlib import sha1, sha256
from pathlib import Path
from typing import Any

import pytest

from claims.arbiter.local import LocalArbiter
from claims.errors import SwarmError, Undecided
from claims.names import Branch
from claims.session import Options, open_session
from gate import gather, landing, repository
from gate.evidence import Facts
from gate.local import Request, judge_locally
from tests.e2e.test_environment_git import of_another
from tests.support.board import board_files, moved, task_file, task_id
from tests.support.git_wrapper import GitWrapper
from tests.support.repo import Repo, clone, init
from tests.support.swarm import swarm, swarm_gate

TASK = task_id(1)
BRANCH = "agent/one"
FILE = task_file(TASK, paths=["src/"])
OUTSIDE = "docs/x.md"
PROPOSAL = """---
id: P-20260814-00000001
title: Found
base_plan_revision: 0
severity: local
status: open
raised_by: one
---
Text.
"""
QUEUED, DONE = f".agents/tasks/queued/{TASK}.md", f".agents/tasks/done/{TASK}.md"


def stage(folder: Path, honest: bool = True) -> Repo:
    """A repository without a remote: base moved on, and a branch did its task; dishonest, it touched more than that."""
    repo = init(folder, {**board_files([FILE]), "src/a.py": "a\n" * 9})
    repo.branch(BRANCH)
    swarm(repo, "claim", TASK, "--agent", "one", ok=True)
    repo.commit({"src/a.py": "b\n" + "a\n" * 9}, "Work")
    if not honest:
        repo.commit({OUTSIDE: "outside\n"}, "Outside")
        repo.commit({OUTSIDE: None}, "Restored")
    repo.commit(moved(FILE, "done"), "Finish")
    repo.commit({"src/a.py": "a\n" * 9 + "c\n"}, "Base moves on", branch="main")
    return repo


def told(repo: Repo, env: dict[str, str | None] | None = None, head: str = BRANCH) -> dict[str, Any]:
    """The verdict, an error among them; whatever it is, it is said in the way that it should be."""
    result = swarm_gate(repo, "pr", "--base", "main", "--head", head, "--head-branch", BRANCH, "--json", env=env)
    value = result.json if result.out else {"verdict": "error", "error": result.error}
    assert isinstance(value, dict)
    assert (result.code, value["verdict"]) in [(0, "pass"), (1, "fail"), (3, "error")], result
    assert "Traceback" not in result.err and "unexpected" not in result.err, result
    return value


def error_of(verdict: dict[str, Any]) -> str:
    assert verdict["verdict"] == "error", verdict
    code = verdict["error"]["code"]
    assert isinstance(code, str)
    return code


@pytest.fixture(params=[True, False], ids=["honest", "dishonest"])
def work(request: pytest.FixtureRequest, tmp_path: Path) -> Repo:
    return stage(tmp_path / "work", request.param)


def as_it_should_be(repo: Repo) -> dict[str, Any]:
    verdict = told(repo)
    dishonest = "Outside" in repo.git("log", "--format=%s", BRANCH)
    assert verdict["verdict"] == ("fail" if dishonest else "pass")
    return verdict


def test_variables_of_another_repository(work: Repo, tmp_path: Path) -> None:
    elsewhere = init(tmp_path / "elsewhere", {"README.md": "Another.\n"})
    before = elsewhere.snapshot()
    more = {"GIT_ATTR_SOURCE": "HEAD", "GIT_NO_LAZY_FETCH": "0", "GIT_ALLOW_PROTOCOL": "file", "GIT_FLUSH": "0"}
    expected = as_it_should_be(work)
    assert told(work, {**of_another(elsewhere), **more}) == expected
    assert elsewhere.snapshot() == before


def test_settings_and_attributes(work: Repo, tmp_path: Path) -> None:
    """Of the clone and of the user: none may matter, nothing they name may run."""
    expected = as_it_should_be(work)
    ran = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch '{ran}'\nexit 1\n")
    program.chmod(0o755)
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    settings = {
        **dict.fromkeys(("core.fsmonitor", "diff.external", "merge.lie.driver", "core.sshCommand"), str(program)),
        "core.hooksPath": str(hooks),
        "merge.default": "lie",
        "filter.lie.clean": str(program),
        "merge.renames": "false",
        "merge.directoryRenames": "false",
        "merge.renameLimit": "1",
        "diff.renames": "copies",
        "diff.ignoreSubmodules": "all",
        "diff.noprefix": "true",
        "core.quotePath": "false",
        "core.abbrev": "4",
        "core.ignoreCase": "true",
        "core.precomposeUnicode": "true",
        "log.showSignature": "true",
    }
    for name in ("post-checkout", "reference-transaction"):
        (hooks / name).symlink_to(program)
    for name, value in settings.items():
        work.git("config", name, value)
    for path in (work.git_path("info/attributes"), work.path / ".gitattributes"):
        path.parent.mkdir(exist_ok=True)
        path.write_text("* merge=lie diff=lie filter=lie\n")
    assert told(work) == expected
    assert not ran.exists()


def hides_by_replacing_the_commit(repo: Repo) -> None:
    first = repo.git("rev-parse", "main~1")
    repo.git("replace", f"{BRANCH}~2", repo.git("commit-tree", f"{BRANCH}~3^{{tree}}", "-p", first, "-m", "Nothing"))


def hides_by_replacing_the_task(repo: Repo) -> None:
    """Base's file would grant what the branch touched, and so would the one that lands."""
    for name in (f"main:{QUEUED}", f"{BRANCH}:{DONE}"):
        text = repo.cat(name).decode().replace("- src/", "- src/\n    - docs/")
        repo.git("replace", repo.git("rev-parse", name), repo.blob(text))


def hides_by_a_graft(repo: Repo) -> None:
    grafts = repo.git_path("info/grafts")
    grafts.parent.mkdir(exist_ok=True)
    grafts.write_text(f"{repo.git('rev-parse', BRANCH)} {repo.git('rev-parse', 'main~1')}\n")


def hides_by_a_false_boundary(repo: Repo) -> None:
    """As a shallow clone whose history ends at the work."""
    repo.git_path("shallow").write_text(repo.git("rev-parse", f"{BRANCH}~1") + "\n")


@pytest.mark.parametrize(
    "hide", [hides_by_replacing_the_commit, hides_by_replacing_the_task, hides_by_a_graft, hides_by_a_false_boundary]
)
def test_what_the_clone_tells_of_its_history(hide: Callable[[Repo], None], tmp_path: Path) -> None:
    repo = stage(tmp_path / "work", honest=False)
    expected = as_it_should_be(repo)
    before = as_git_has_it(repo)
    hide(repo)
    assert as_git_has_it(repo) != before, "git itself is not led astray"
    assert told(repo) == expected


def as_git_has_it(repo: Repo) -> tuple[str, str]:
    return repo.git("log", "--format=%s %T", BRANCH), repo.git("cat-file", "blob", f"main:{QUEUED}")


@pytest.mark.parametrize("name", ["it's", 'a "quoted" one', "semi;colon:and", "back\\slash", "caf\udce9", "#hash"])
def test_a_path_that_git_would_read_otherwise(name: str, tmp_path: Path) -> None:
    repo = stage(tmp_path / name / "work", honest=False)
    assert told(repo)["verdict"] == "fail"
    shared = clone(repo.path, tmp_path / name / "shared", "--shared")
    shared.git("fetch", "-q", "origin", "+refs/heads/*:refs/heads/*", "+refs/swarm/*:refs/swarm/*", "--update-head-ok")
    assert told(shared)["verdict"] == "fail"


def test_borrowed_objects_that_are_gone(work: Repo, tmp_path: Path) -> None:
    shared = clone(work.path, tmp_path / "shared", "--shared", "--no-checkout")
    shared.git("fetch", "-q", "origin", "+refs/heads/*:refs/heads/*", "--update-head-ok")
    work.path.rename(tmp_path / "moved")
    assert error_of(told(shared)) == "evidence-incomplete"


@pytest.mark.parametrize("damage", ["gone", "empty"])
def test_whatever_object_is_damaged_nothing_passes_for_it(work: Repo, damage: str) -> None:
    """An honest branch may fail for it: what cannot be read is no claim."""
    expected = in_this_process(work)
    outcomes = set()
    for path in sorted((work.path / ".git" / "objects").glob("??/*")):
        aside = path.rename(path.with_suffix(".aside"))
        if damage == "empty":
            path.touch()
        outcomes.add(in_this_process(work))
        aside.replace(path)
    assert expected in outcomes and "error" in outcomes
    assert expected == "pass" or "pass" not in outcomes


def in_this_process(repo: Repo) -> str:
    """The verdict, `error` where it could not be decided."""
    try:
        session = open_session(Options(directory=repo.path, base="main"), os.environ)
        try:
            facts = Facts(Branch("main"), session.clock(), Branch(BRANCH))
            return judge_locally(session, LocalArbiter(session), Request("main", BRANCH), facts, os.environ).word
        finally:
            session.objects.close()
    except SwarmError:
        return "error"


def test_more_paths_than_are_judged(tmp_path: Path) -> None:
    repo = stage(tmp_path / "work")
    blob = repo.blob("x\n")
    files = (f"M 100644 {blob} src/n{number // 250}/{number % 250}\n" for number in range(60_000))
    fast_import(repo, "".join(files))
    assert error_of(told(repo)) == "limits-exceeded"


@pytest.mark.parametrize("more", [0, 1])
@pytest.mark.parametrize(
    ("limit", "most"), [("MAX_PATHS", 4), ("MAX_COMMITS", 3), ("MAX_PARENTS", 3), ("MAX_TOUCHED", 4)]
)
def test_as_many_as_are_judged(
    limit: str, most: int, more: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The branch has two commits, which change a file and move another; here comes a third."""
    monkeypatch.setattr(landing, limit, most)
    repo = stage(tmp_path / "work")
    another = more and limit in ("MAX_PATHS", "MAX_TOUCHED")
    repo.commit({"src/b.py": "b\n", **({"src/c.py": "c\n"} if another else {})}, "Third")
    if more and not another:
        repo.commit({"src/b.py": "c\n"}, "Fourth")
    assert in_this_process(repo) == ("error" if more else "pass")


@pytest.mark.parametrize(
    ("entries", "fault"),
    [
        (["work.py", "zz.py"], None),
        (["work.py", "work.py"], "a name stands in it twice"),
        (["zz.py", "work.py"], "its entries are out of order"),
        (["deep/work.py"], "a name that no file can have"),
    ],
)
def test_a_malformed_tree_that_the_tip_has_no_more(entries: list[str], fault: str | None, tmp_path: Path) -> None:
    """Whoever fetches with checks on cannot fetch it: what passes here must not fail there."""
    repo = stage(tmp_path / "work")
    blob = bytes.fromhex(repo.blob("x\n"))
    odd = repo.git(
        *("hash-object", "-t", "tree", "-w", "--literally", "--stdin"),
        input=b"".join(b"100644 %b\0%b" % (name.encode(), blob) for name in entries),
    )
    briefly(repo, odd)
    verdict = told(repo)
    assert verdict["verdict"] == ("pass" if fault is None else "fail")
    said = [(one["rule"], one["path"], one["message"]) for one in verdict["findings"]]
    assert said == (
        [] if fault is None else [("paths-safe", "src/briefly", f"the tree src/briefly is malformed: {fault}")]
    )


@pytest.mark.parametrize("files", [True, False], ids=["files", "empty folders"])
def test_a_tree_without_end_that_the_tip_has_no_more(files: bool, tmp_path: Path) -> None:
    """git would walk it until its deadline, and hold every file of it meanwhile."""
    repo = stage(tmp_path / "work")
    tree = repo.git("mktree", input=f"100644 blob {repo.blob('x')}\tf\n" if files else "")
    for _ in range(10):
        tree = repo.git("mktree", input="".join(f"040000 tree {tree}\td{number}\n" for number in range(10)))
    briefly(repo, tree)
    assert error_of(told(repo)) == "limits-exceeded"


def briefly(repo: Repo, tree: str) -> None:
    """Commit a folder below `src/`, and a commit after it that has it no more."""
    before = repo.git("rev-parse", f"{BRANCH}^{{tree}}")
    for folder in (f"040000 tree {tree}\tbriefly\n", ""):
        src = repo.git("mktree", input=f"{repo.git('ls-tree', f'{before}:src')}\n{folder}")
        root = repo.git("ls-tree", before).replace(repo.git("rev-parse", f"{before}:src"), src)
        made = repo.git("commit-tree", repo.git("mktree", input=f"{root}\n"), "-p", BRANCH, "-m", "Briefly")
        repo.git("update-ref", f"refs/heads/{BRANCH}", made)


@pytest.mark.parametrize("parents", [1, 3_000])
def test_the_same_parent_over_and_over(parents: int, tmp_path: Path) -> None:
    repo = stage(tmp_path / "work")
    for file in range(30):
        (repo.path / "src" / f"n{file}").write_text("n\n")
    repo.git("add", "src")
    who = "A <a@example.invalid> 1786699800 +0000"
    head, tree = repo.git("rev-parse", BRANCH), repo.git("write-tree")
    lines = [f"tree {tree}", *[f"parent {head}"] * parents, f"author {who}", f"committer {who}", "", "Octopus", ""]
    made = repo.git("hash-object", "-t", "commit", "-w", "--stdin", input="\n".join(lines))
    repo.git("update-ref", f"refs/heads/{BRANCH}", made)
    assert told(repo)["verdict"] == "pass"


@pytest.mark.parametrize("count", [1_000, 1_001])
def test_as_many_records_as_are_looked_at(count: int, tmp_path: Path) -> None:
    repo = stage(tmp_path / "work")
    blob = repo.blob("no record\n")
    log = (f"create refs/swarm/claim-log/{TASK}/{number} {blob}\n" for number in range(count))
    repo.git("update-ref", "--stdin", input="".join(log))
    verdict = told(repo)
    assert verdict["verdict"] == "pass" if count == 1_000 else error_of(verdict) == "limits-exceeded"


@pytest.mark.parametrize("size", [200_000, 300_000])
def test_a_task_file_as_large_as_is_read(size: int, tmp_path: Path) -> None:
    repo = stage(tmp_path / "work")
    repo.commit({DONE: repo.cat(f"{BRANCH}:{DONE}") + b"x" * size + b"\n"}, "Notes")
    verdict = told(repo)
    assert verdict["verdict"] == "pass" if size == 200_000 else error_of(verdict) == "limits-exceeded"


def fast_import(repo: Repo, changes: str) -> None:
    """A commit on the branch, its tree as fast-import takes it."""
    head = f"commit refs/heads/{BRANCH}\ncommitter A <a@example.invalid> 1786699800 +0000\ndata 0\n"
    repo.git("fast-import", "--quiet", input=f"{head}from refs/heads/{BRANCH}^0\n{changes}")


@pytest.mark.parametrize("depth", [1, 1_000])
@pytest.mark.parametrize("top", ["src", "docs"])
def test_folders_in_folders(top: str, depth: int, tmp_path: Path) -> None:
    repo = stage(tmp_path / "work")
    nested(repo, top, depth)
    assert told(repo)["verdict"] == ("pass" if top == "src" else "fail")


@pytest.mark.parametrize("depth", [2_043, 2_044, 3_000])
def test_a_path_that_no_system_opens(depth: int, tmp_path: Path) -> None:
    """It is `src/deep`, `/d` for each folder, and `/f`."""
    repo = stage(tmp_path / "work")
    nested(repo, "src", depth)
    verdict = told(repo)
    if depth == 2_043:
        assert verdict["verdict"] == "pass"
    else:
        assert error_of(verdict) == "limits-exceeded"


def test_paths_that_are_long_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder is counted once, however many files are in it. Here: the task at two places, the work and its folder."""
    repo = stage(tmp_path / "work")
    told_of = ["src", "src/a.py", QUEUED, DONE, ".agents", ".agents/tasks", str(Path(QUEUED).parent)]
    exact = sum(map(len, [*told_of, str(Path(DONE).parent)]))
    for more, word in ((0, "pass"), (1, "error")):
        monkeypatch.setattr(landing, "MAX_PATH_BYTES", exact - more)
        assert in_this_process(repo) == word


@pytest.mark.parametrize("more", [0, 1])
@pytest.mark.parametrize(("limit", "most"), [("_MAX_PROPOSALS", 2), ("_MAX_PROPOSED", 2 * len(PROPOSAL))])
def test_as_many_proposals_as_are_read(
    limit: str, most: int, more: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One file may stand under ten thousand names, and is small to send."""
    repo = stage(tmp_path / "work")
    ids = [f"P-20260814-0000000{number}" for number in (1, 2)]
    repo.commit({f".agents/proposals/{one}.md": PROPOSAL.replace("P-20260814-00000001", one) for one in ids}, "Found")
    monkeypatch.setattr(gather, limit, most - more)
    assert in_this_process(repo) == ("error" if more else "pass")


def test_a_configuration_that_broke_on_base(tmp_path: Path) -> None:
    """Nothing can be judged under it, not even what mends it; so that is said."""
    repo = stage(tmp_path / "work")
    repo.commit({".agents/swarm.yaml": "gate: [\n"}, "Break it", branch="main")
    verdict = told(repo)
    assert error_of(verdict) == "malformed-config" and "merged past this check" in verdict["error"]["hint"]


@pytest.mark.parametrize("more", [0, 1])
def test_as_many_links_as_are_followed(more: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that the authority names: none of the others lands, wherever it leads."""
    monkeypatch.setattr(gather, "_MAX_LINKS", 2)
    names = [f"src/link{number}" for number in range(2 + more)]
    repo = init(tmp_path / "work", board_files([task_file(TASK, paths=["src/", *names])]))
    repo.branch(BRANCH)
    swarm(repo, "claim", TASK, "--agent", "one", ok=True)
    (repo.path / "src").mkdir()
    for name in names:
        (repo.path / name).symlink_to("work.py")
    repo.git("add", "src")
    repo.commit(moved(task_file(TASK, paths=["src/", *names]), "done"), "Finish")
    assert in_this_process(repo) == ("error" if more else "pass")


def nested(repo: Repo, top: str, depth: int) -> None:
    """Commit a file below so many folders, each the only thing in the one above it."""
    entry = b"100644 f\0" + bytes.fromhex(repo.blob("x\n"))
    for _ in range(depth):
        tree = stored(repo, entry)
        entry = b"40000 d\0" + tree
    fast_import(repo, f"M 040000 {stored(repo, entry).hex()} {top}/deep\n")


def stored(repo: Repo, tree: bytes) -> bytes:
    """Write a tree of one entry; its id."""
    data = b"tree %d\0" % len(tree) + tree
    made = (sha1 if len(tree.partition(b"\0")[2]) == 20 else sha256)(data)
    path = repo.path / ".git" / "objects" / made.hexdigest()[:2] / made.hexdigest()[2:]
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(zlib.compress(data, 0))
    return made.digest()


@pytest.mark.parametrize("command", ["merge-tree", "rev-list", "merge-base", "diff-tree"])
def test_a_git_that_never_ends(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = stage(tmp_path / "work")
    wrapper = GitWrapper(tmp_path / "wrapper")
    monkeypatch.setenv("PATH", wrapper.env["PATH"])
    assert in_this_process(repo) == "pass"
    wrapper.pause("before", command)
    monkeypatch.setattr(repository, "DEADLINE", 0.5)
    session = open_session(Options(directory=repo.path, base="main"), os.environ)
    facts = Facts(Branch("main"), session.clock(), Branch(BRANCH))
    try:
        with pytest.raises(Undecided) as caught:
            judge_locally(session, LocalArbiter(session), Request("main", BRANCH), facts, os.environ)
    finally:
        session.objects.close()
    assert caught.value.code == "timed-out"
