"""Kinds of repositories: worktrees, bare, shallow, partial, SHA-256; and what goes over the network."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.scene import CLAIM, FILES, LOCK, T1, T2, T3, Scene, alone, canonical, claim_members, lock_ref, stage
from tests.support.board import moved, task_file
from tests.support.git_wrapper import GitWrapper
from tests.support.repo import Repo, clone, init, origin
from tests.support.swarm import start

#: Everything that an agent and an operator do to one task.
LIFE = [
    f"claim {T1}",
    "check",
    "renew --minutes 0",
    f"steal {T1}",
    "release --done",
    f"reopen {T1} --reason why",
    f"claim {T1}",
    "release",
]


@pytest.mark.parametrize("build", [stage, alone])
def test_sha256(build: Callable[[Path], Scene], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DEFAULT_HASH", "sha256")
    scene = build(tmp_path)
    for line in LIFE:
        told = scene.claims(line)
        assert {len(told["baseCommit"]), len(told["branchCommit"])} == {64}
    assert {len(value) for value in scene.arbiter.refs().values()} == {64}
    assert len(scene.arbiter.refs()) == 4, "one log entry for each end"


@pytest.mark.parametrize("build", [stage, alone])
def test_linked_worktrees_exclude_each_other(build: Callable[[Path], Scene], tmp_path: Path) -> None:
    scene = build(tmp_path)
    there = scene.here.worktree("there", "other")
    scene.run(f"claim {T1}", ok=True)
    for task, code in ((T1, "claim-held"), (T3, "lock-held")):
        assert scene.refused(f"claim {task} --agent b1", at=there)["code"] == code
    for line in (f"renew {T1}", f"release {T1}"):
        assert scene.refused(f"{line} --agent a1", at=there)["code"] == "not-holder"
    assert scene.refused("check", at=there)["code"] == "claim-not-found"
    scene.run(f"check {T1} --branch work", at=there, ok=True)
    scene.run("release", ok=True)
    scene.run(f"claim {T1} --agent b1", at=there, ok=True)
    assert scene.refused(f"claim {T1}")["code"] == "claim-held"


def test_a_worktree_that_is_gone_took_its_token_along(tmp_path: Path) -> None:
    """Nobody can renew or release for it; the lease runs out, and reap or steal clears it away."""
    scene = stage(tmp_path)
    there = scene.here.worktree("there", "other")
    scene.run(f"claim {T1} --agent b1", at=there, ok=True)
    scene.here.git("worktree", "remove", "--force", str(there.path))
    assert scene.refused(f"release {T1} --agent b1")["code"] == "not-holder"
    scene.forge(T1, minutes=-1, locks=[LOCK])
    scene.run(f"steal {T1}", ok=True)


def test_reading_in_a_bare_repository(tmp_path: Path) -> None:
    scene = stage(tmp_path)
    scene.run(f"claim {T1}", ok=True)
    bare = scene.arbiter
    before = bare.snapshot()
    told = scene.run("status --json", at=bare, ok=True).json
    assert [claim["task"] for claim in told["claims"]] == [T1]
    for line in ("tasks", f"show {T1}", f"check {T1} --branch work", "log", f"log {T1}", "reap --dry-run"):
        scene.run(line, at=bare, ok=True)
    assert scene.refused(f"claim {T2}", at=bare)["code"] == "on-base-branch"
    assert bare.snapshot() == before


def test_a_shallow_clone(tmp_path: Path) -> None:
    scene = stage(tmp_path)
    for number in range(3):
        scene.change({"src/a.py": f"{number}\n"})
    assert scene.origin is not None
    shallow = clone(scene.origin, tmp_path / "shallow", "--depth=1")
    shallow.branch("work")
    scene.change({"src/a.py": "moved on\n"})
    for line in LIFE:
        scene.run(line, at=shallow, ok=True)
    assert scene.run("status --json", at=shallow, ok=True).json["behind"] == 1


def partial(scene: Scene, *options: str) -> Repo:
    assert scene.origin is not None
    scene.origin.git("config", "uploadpack.allowFilter", "true")
    scene.origin.git("config", "uploadpack.allowAnySHA1InWant", "true")
    repo = clone(scene.origin, scene.folder / "partial", "--filter=blob:none", "--no-checkout", *options)
    repo.git("update-ref", "refs/heads/work", "main")
    repo.git("symbolic-ref", "HEAD", "refs/heads/work")
    return repo


def served(repo: Repo, log: Path) -> Callable[[], int]:
    """How often the remote was asked for objects since, by whomever: git fetches what is missing by itself, too."""
    repo.git("config", "remote.origin.uploadpack", f"echo asked >>{shlex.quote(str(log))}; git upload-pack")

    def count() -> int:
        asked = log.read_text().count("asked") if log.exists() else 0
        log.unlink(missing_ok=True)
        return asked

    return count


def test_a_partial_clone_asks_once_for_what_is_missing(tmp_path: Path) -> None:
    """A command fetches the state and, the first time, all files that it needs at once."""
    scene = stage(tmp_path)
    tasks = [task_file(f"T-20260814-0000{number:04x}") for number in range(0x100, 0x128)]
    scene.put(*tasks, config={"wip": {"implementation": 9}, "overlap": "warn"})
    scene.forge(T2)
    repo = partial(scene)
    asked = served(repo, tmp_path / "log")
    scene.run(f"claim {T1}", at=repo, ok=True)
    assert asked() <= 3, "the state, the task's files, the tasks of other claims"
    scene.run("check", at=repo, ok=True)
    assert asked() == 1
    scene.run("tasks", at=repo, ok=True)
    assert asked() <= 2
    scene.run("tasks", at=repo, ok=True)
    assert asked() == 1
    scene.run("release", at=repo, ok=True)
    scene.change({"src/a.py": "x\n"})
    scene.run("status", at=repo, ok=True)
    asked()
    assert "?" in repo.git("rev-list", "--objects", "--missing=print", "--no-object-names", "main"), "still partial"


def test_a_partial_clone_whose_remote_does_not_answer(tmp_path: Path) -> None:
    scene = stage(tmp_path)
    repo = partial(scene)
    wrapper = GitWrapper(tmp_path / "wrapper")
    wrapper.fail(128, "fatal: unable to access\n", "fetch", nth=2)
    error = scene.refused(f"claim {T1}", at=repo, env=wrapper.env)
    assert (error["code"], error["hint"]) == ("remote-unreachable", "git ls-remote origin")
    assert scene.arbiter.refs() == {}
    scene.run(f"claim {T1}", at=repo, ok=True)


def network_operations(scene: Scene, line: str, exit: int = 0) -> int:
    """How many git processes of a command cross the network."""
    wrapper = GitWrapper(scene.folder / f"wrapper-{len(list(scene.folder.iterdir()))}")
    result = scene.run(line, env=wrapper.env)
    assert result.code == exit, result
    return len(wrapper.network_operations)


#: The command, how it ends, and how many network operations it may take.
COSTS = [
    (f"claim {T1}", 0, 2),
    (f"claim {T1}", 0, 1),
    ("check", 0, 1),
    (f"check {T1}", 0, 1),
    ("status", 0, 1),
    ("tasks", 0, 1),
    ("tasks --ready", 0, 1),
    (f"show {T1}", 0, 1),
    ("renew", 0, 2),
    ("renew 00000001 --minutes 0", 0, 2),
    ("check", 1, 1),
    (f"steal {T1}", 0, 2),
    (f"steal {T1}", 0, 1),
    ("release --done", 0, 2),
    (f"claim {T1}", 1, 1),
    (f"reopen {T1} --reason why", 0, 2),
    (f"claim {T3}", 0, 2),
    (f"release {T3}", 0, 2),
    (f"release {T3}", 1, 1),
    ("claim 00000001", 0, 3),  # its log can be asked for only once the id is known
    (f"claim {T2}", 2, 1),
    ("release", 0, 2),
    ("log", 0, 2),  # the names first, then the records that it shows
    (f"log {T1} --limit 1", 0, 2),
    ("reap", 0, 1),
]


def test_network_operations_per_command(tmp_path: Path) -> None:
    """An uncontended claim is one fetch and one push; what is refused or only reads is one fetch."""
    scene = stage(tmp_path)
    for line, exit, most in COSTS:
        assert network_operations(scene, line, exit) == most, line


@pytest.mark.parametrize("contended", [False, True])
def test_a_retry_takes_one_more_of_each(contended: bool, tmp_path: Path) -> None:
    """Only what the push touches can be contended: base and other tasks may move meanwhile."""
    scene = stage(tmp_path)
    wrapper = GitWrapper(tmp_path / "wrapper")
    pause = wrapper.pause("before", "push")
    with start(scene.here, "claim", T1, env={**scene.env, **wrapper.env}) as running:
        pause.wait()
        scene.forge(T2, locks=["another"])
        scene.change({"src/a.py": "moved\n"})
        if contended:
            scene.arbiter.git("update-ref", lock_ref(LOCK), scene.arbiter.blob(debris(scene)))
        pause.resume()
        assert running.wait().code == 0
    expected = ["fetch", "push", "fetch", "fetch", "push"] if contended else ["fetch", "push"]
    assert wrapper.network_operations == expected


def debris(scene: Scene) -> bytes:
    """What a kill left at a lock: an expired claim that is nowhere else. Taking it reads the claims once more."""
    return canonical(claim_members(scene.arbiter, T3, minutes=-1, locks=[LOCK]))


def test_nothing_crosses_the_network_without_a_remote(tmp_path: Path) -> None:
    scene = alone(tmp_path)
    for line in (f"claim {T1}", "check", "renew", "status", "tasks", "release", "reap"):
        assert network_operations(scene, line) == 0


def test_the_base_is_what_the_remote_says_it_is(tmp_path: Path) -> None:
    bare = origin(tmp_path / "origin.git", FILES)
    bare.git("branch", "-m", "main", "trunk")
    bare.git("symbolic-ref", "HEAD", "refs/heads/trunk")
    here = clone(bare, tmp_path / "here")
    here.branch("main")
    here.git("update-ref", "refs/remotes/origin/decoy/HEAD", "HEAD")
    scene = Scene(here, bare)
    assert scene.claims("status")["base"]["branch"] == "trunk"
    assert scene.claims(f"claim {T1}")["branch"] == "main"


def test_a_base_with_a_slash(tmp_path: Path) -> None:
    scene = stage(tmp_path)
    assert scene.origin is not None
    scene.origin.git("branch", "release/1.x", "main")
    for line in (f"claim {T1}", "check", "release"):
        scene.run(f"--base release/1.x {line}", ok=True)
    assert "refs/remotes/origin/release/1.x" in scene.here.refs("refs/remotes/")


@pytest.mark.parametrize("make", [init, origin])
def test_an_empty_repository(make: Callable[[Path], Repo], tmp_path: Path) -> None:
    here = make(tmp_path / "here")
    scene = Scene(here, None)
    for line in ("status", f"claim {T1} --branch x", "tasks"):
        error = scene.refused(line)
        assert (error["code"], error["details"]["branches"]) == ("base-not-found", [])


def test_an_empty_origin(tmp_path: Path) -> None:
    bare = origin(tmp_path / "origin.git")
    scene = Scene(clone(bare, tmp_path / "here"), bare)
    scene.here.git("switch", "-q", "--orphan", "work")
    error = scene.refused(f"claim {T1}")
    assert (error["code"], error["hint"]) == ("base-not-found", "commit and push a first branch")
    bare.commit(FILES)
    scene.run(f"claim {T1}", ok=True)


def test_a_folder_within_the_work_tree_and_a_git_directory_elsewhere(tmp_path: Path) -> None:
    scene = stage(tmp_path)
    scene.run(f"claim {T1}", at=scene.here.path / "src", ok=True)
    scene.run("-C docs check", ok=True)
    moved_git = tmp_path / "elsewhere.git"
    scene.here.git("init", "-q", f"--separate-git-dir={moved_git}")
    scene.run("renew", ok=True)
    scene.run("release", ok=True)


def test_every_end_is_on_record(tmp_path: Path) -> None:
    scene = stage(tmp_path)
    for line in LIFE:
        scene.run(line, ok=True)
    scene.run(f"claim {T1}", ok=True)
    scene.run("renew --minutes 0", ok=True)
    scene.run("reap --reason nightly", ok=True)
    scene.run(f"claim {T1}", ok=True)
    scene.run("release --done", ok=True)
    scene.change(moved(task_file(T1), "done"))
    scene.run("reap", ok=True)
    log = scene.arbiter.refs(f"refs/swarm/claim-log/{T1}/")
    closed = [json.loads(scene.arbiter.cat(blob))["closed"] for _, blob in sorted(log.items())]
    ends = ["stolen", "done", "reopened", "released", "expired", "done"]
    assert [(it["outcome"], it["reason"]) for it in closed] == list(
        zip(ends, [None, None, "why", None, "nightly", None], strict=True)
    )
    assert CLAIM + T1 not in scene.arbiter.refs()
    assert lock_ref(LOCK) not in scene.arbiter.refs()
