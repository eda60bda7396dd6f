from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.repo import Repo, clone, init, origin


def test_commits_are_the_same_every_time(tmp_path: Path) -> None:
    first, second = (init(tmp_path / name, {"a b": "1\n", "src/ü": b"\0"}) for name in ("one", "two"))
    assert first.git("rev-parse", "HEAD") == second.git("rev-parse", "HEAD")
    assert len(first.git("rev-parse", "HEAD")) == {"sha1": 40, "sha256": 64}[os.environ["GIT_DEFAULT_HASH"]]
    assert first.commit({"a b": None, "*": "literal\n"}) == first.oid("HEAD")
    assert first.git("ls-tree", "-r", "-z", "--name-only", "HEAD").split("\0") == ["*", "src/ü", ""]
    assert not first.git("status", "--porcelain")


def test_a_commit_onto_a_branch_leaves_work_tree_and_index_alone(tmp_path: Path) -> None:
    bare = origin(tmp_path / "origin.git", {"a b": "1\n"})
    here = clone(bare, tmp_path / "here")
    moved = bare.commit({"src/ü": "2", "a b": None})
    before = here.snapshot()
    side = here.commit({"c": "3"}, branch="side")
    assert (bare.cat("main:src/ü"), here.cat("side:c")) == (b"2", b"3")
    assert (bare.oid("main"), bare.oid("main:a b"), here.oid("side")) == (moved, None, side)
    after = here.snapshot()
    assert (after.files, after.index, after.head) == (before.files, before.index, before.head)
    assert after.refs == before.refs | {"refs/heads/side": side}


def test_worktrees_share_refs(tmp_path: Path) -> None:
    repo = init(tmp_path / "repo", {"a": "1"})
    repo.branch("known")
    repo.git("switch", "-q", "main")
    fresh, known = repo.worktree("fresh", "agent/fresh"), repo.worktree("known", "known")
    blob = fresh.blob("claim\n")
    fresh.git("update-ref", "refs/swarm/x", blob)
    assert known.refs() == {"refs/swarm/x": blob} == repo.refs()
    assert [it.git("branch", "--show-current") for it in (fresh, known)] == ["agent/fresh", "known"]


def _write_token(repo: Repo) -> None:
    repo.git_path("swarm").mkdir()
    (repo.git_path("swarm") / "token-x").write_text("secret")


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("refs", lambda repo: repo.git("update-ref", "refs/swarm/x", "HEAD")),
        ("files", lambda repo: (repo.path / "new").touch()),
        ("files", lambda repo: (repo.path / "a").chmod(0o755)),
        ("index", lambda repo: repo.git("rm", "-q", "--cached", "a")),
        ("head", lambda repo: repo.git("switch", "-q", "--detach")),
        ("private", _write_token),
        ("locks", lambda repo: (repo.path / ".git/refs/heads/main.lock").touch()),
    ],
)
def test_a_snapshot_sees(tmp_path: Path, field: str, change: object) -> None:
    repo = init(tmp_path / "repo", {"a": "1"})
    before = repo.snapshot()
    assert before == repo.snapshot()
    assert callable(change)
    change(repo)
    after = repo.snapshot()
    changed = {name for name in before.__slots__ if getattr(before, name) != getattr(after, name)}
    assert changed == {field}


def test_git_says_when_it_should_have_failed(tmp_path: Path) -> None:
    repo = init(tmp_path / "repo", {})
    assert "unknown" in repo.git("rev-parse", "unknown", ok=False)
    for args, ok in ((["rev-parse", "HEAD"], False), (["rev-parse", "unknown"], True)):
        with pytest.raises(AssertionError, match="exit"):
            repo.git(*args, ok=ok)
