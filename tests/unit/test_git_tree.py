"""The board's tree reader: what a tree object says, and a commit's files through a real git."""

from __future__ import annotations

from pathlib import Path

import pytest

from claims.board.board import Entry, NotAFile
from claims.board.node import MAX_FILE
from claims.errors import Undecided
from claims.git_tree import GitTree, board_at, parse_tree
from claims.names import ObjectId, TaskId
from tests.integration.sessions import opened
from tests.support.board import board_files, task_file, task_id
from tests.support.repo import Repo, init

ONE, TWO = bytes(range(20)), bytes(range(20, 40))
TREE = b"100644 a.md\0" + ONE + b"40000 b\0" + TWO


def test_a_tree_object_is_read() -> None:
    assert parse_tree(TREE, 20) == (
        Entry("a.md", 0o100644, ObjectId(ONE.hex())),
        Entry("b", 0o040000, ObjectId(TWO.hex())),
    )


def test_ids_may_hold_any_byte() -> None:
    raw = b"100644 a\0" + b"\0" * 20 + b"100755 b\0" + b"\n40000 c\0" * 2 + b"xx"
    assert [(entry.name, entry.mode) for entry in parse_tree(raw, 20)] == [("a", 0o100644), ("b", 0o100755)]


def test_an_object_id_may_be_longer() -> None:
    assert parse_tree(b"120000 l\0" + b"\xff" * 32, 32) == (Entry("l", 0o120000, ObjectId("ff" * 32)),)


def test_a_tree_may_be_empty() -> None:
    assert parse_tree(b"", 20) == ()


def test_a_name_is_whatever_stands_before_the_null() -> None:
    name = " a\nb\xff\xc3\xa4 "
    raw = b"100644 " + name.encode("latin-1") + b"\0" + ONE
    (entry,) = parse_tree(raw, 20)
    assert entry.name.encode("utf-8", "surrogateescape") == name.encode("latin-1")


@pytest.mark.parametrize("cut", [*range(1, len(TREE) - 28), *range(len(TREE) - 27, len(TREE))])
def test_a_tree_that_was_cut_is_refused(cut: int) -> None:
    if cut == len(b"100644 a.md\0") + 20:
        assert len(parse_tree(TREE[:cut], 20)) == 1
        return
    with pytest.raises(Undecided) as caught:
        parse_tree(TREE[:cut], 20)
    assert caught.value.code == "git-failed"


@pytest.mark.parametrize("mode", [b"", b"abc", b"100648", b"99999", b"1006440", b"644", b"+40000", b"0x1ff", b"\xb2"])
def test_a_mode_that_is_none_is_refused(mode: bytes) -> None:
    with pytest.raises(Undecided) as caught:
        parse_tree(mode + b" a\0" + ONE, 20)
    assert caught.value.code == "git-failed"


TASKS = [TaskId(task_id(number)) for number in range(1, 4)]
FOLDER = ".agents/tasks/queued"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return init(tmp_path / "repo", board_files(TASKS) | {"src/a b.py": "x", "empty": ""})


def test_folders_are_listed_and_files_read_as_the_commit_has_them(repo: Repo) -> None:
    commit = ObjectId(repo.git("rev-parse", "HEAD"))
    (repo.path / "src" / "a b.py").write_text("changed in the working tree")
    repo.commit({"src/a b.py": "changed on the branch", f"{FOLDER}/{TASKS[0]}.md": None})
    with opened(repo) as session:
        tree = GitTree(session, commit)
        listed = tree.list(FOLDER)
        assert listed is not None
        assert [entry.name for entry in listed] == [".gitkeep", *(f"{task}.md" for task in TASKS)]
        assert tree.read(["src/a b.py", "empty", "nowhere", "src/nowhere"]) == [b"x", b"", None, None]
        assert tree.exists(["src/a b.py", "nowhere", "src"]) == [True, False, False]
        assert tree.list("nowhere") is None
        assert tree.list("empty") is None


@pytest.mark.parametrize("listed", [True, False])
def test_it_gives_the_same_whether_or_not_a_folder_was_listed(repo: Repo, listed: bool) -> None:
    """A submodule is no file, also where its commit happens to be here."""
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{repo.oid('HEAD')},src/sub")
    (repo.path / "src" / "link").symlink_to("a b.py")
    repo.git("add", "src/link")
    repo.git("commit", "-qm", "More")
    with opened(repo) as session:
        tree = GitTree(session, ObjectId(repo.git("rev-parse", "HEAD")))
        if listed:
            tree.list("src")
        assert tree.read(["src/a b.py", "src/link", "src/nowhere"]) == [b"x", b"a b.py", None]
        assert tree.exists(["src/a b.py", "src/link", "src/sub", "src/nowhere"]) == [True, True, False, False]
        for path, what in (("src/sub", "submodule"), ("src", "folder")):
            with pytest.raises(NotAFile, match=f"{path}:1: it is a {what}, not a file"):
                tree.read(["src/a b.py", path])


def test_a_large_file_is_refused_by_its_size(repo: Repo) -> None:
    repo.commit({"at": b"x" * MAX_FILE, "over": b"x" * (MAX_FILE + 1)})
    with opened(repo) as session:
        tree = GitTree(session, ObjectId(repo.git("rev-parse", "HEAD")))
        assert tree.read(["at"]) == [b"x" * MAX_FILE]
        with pytest.raises(Undecided, match="over") as caught:
            tree.read(["at", "over"])
    assert caught.value.code == "limits-exceeded"


def test_a_board_is_read_in_few_batches_whatever_its_size(repo: Repo) -> None:
    many = [TaskId(task_id(number)) for number in range(100, 400)]
    repo.commit(board_files(many, plan=1, manifest=[]))
    with opened(repo) as session:
        before = session.git.processes
        board = board_at(session, ObjectId(repo.git("rev-parse", "HEAD")))
        board.prefetch(*many)
        assert len(board.states_of(many)) == 300
        assert board.task(many[-1], next(iter(board.places_of(many[-1:])[many[-1]]))).id == many[-1]
        assert session.git.processes == before


def test_a_partial_clone_gets_what_it_lacks_in_one_fetch(tmp_path: Path, repo: Repo) -> None:
    repo.git("config", "uploadpack.allowFilter", "true")
    repo.git("config", "uploadpack.allowAnySHA1InWant", "true")
    repo.commit({f"{FOLDER}/{TASKS[0]}.md": task_file(TASKS[0], title="Only in the remote")})
    here = Repo(tmp_path / "here")
    repo.git("clone", "-q", "--filter=blob:none", "--no-checkout", repo.url, str(here.path))
    paths = [f"{FOLDER}/{task}.md" for task in TASKS]
    with opened(here) as session:
        tree = GitTree(session, ObjectId(here.git("rev-parse", "origin/main")))
        assert tree.exists([*paths, f"{FOLDER}/nowhere.md"]) == [True, True, True, False]
        assert session.git.network_operations == 0
        found = tree.read([*paths, f"{FOLDER}/nowhere.md"])
        assert [data is not None for data in found] == [True, True, True, False]
        assert found[0] == repo.cat(f"main:{paths[0]}")
        assert session.git.network_operations == 1
        assert tree.read(paths) == found[:3]
        assert session.git.network_operations == 1
