"""The working tree: what git would see there, and nothing through a link."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from claims.board.board import Entry, NotAFile, TreeReader
from claims.board.node import MAX_FILE
from claims.board.worktree import WorkTree
from claims.errors import Undecided


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "tree" / "a" / "b").mkdir(parents=True)
    (tmp_path / "tree" / "a" / "x.md").write_bytes(b"x\r\n\xff")
    (tmp_path / "tree" / "a" / "run").write_text("#!")
    (tmp_path / "tree" / "a" / "run").chmod(0o755)
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key").write_text("secret")
    return tmp_path / "tree"


def reader(root: Path) -> TreeReader:
    return WorkTree(str(root))


def test_reads_files_as_they_are(root: Path) -> None:
    assert reader(root).read(["a/x.md", "a/y.md", "b/x.md", "a/x.md/z", "a/run"]) == [
        b"x\r\n\xff",
        None,
        None,
        None,
        b"#!",
    ]
    assert reader(root).exists(["a/x.md", "a/y.md", "a", "a/b", "b/x.md", "a/x.md/z"]) == [True] + [False] * 5


def test_a_folder_is_no_file(root: Path) -> None:
    with pytest.raises(NotAFile) as caught:
        reader(root).read(["a/x.md", "a"])
    assert (caught.value.path, caught.value.message) == ("a", "a:1: it is a folder, not a file")


def test_lists_as_git_would(root: Path) -> None:
    (root / "a" / "link").symlink_to("x.md")
    os.mkfifo(root / "a" / "pipe")
    (root / "a" / os.fsdecode(b"\xff")).write_text("")
    assert reader(root).list("a") == (
        Entry("b", 0o040000, None),
        Entry("link", 0o120000, None),
        Entry("run", 0o100755, None),
        Entry("x.md", 0o100644, None),
        Entry("\udcff", 0o100644, None),
    )
    assert reader(root).list("a/b") == ()
    assert reader(root).list("a/c") is None
    assert reader(root).list("a/x.md") is None
    listed = reader(root).list("")
    assert listed is not None
    assert [entry.name for entry in listed] == ["a"]


def test_a_links_content_is_its_target(root: Path) -> None:
    (root / "a" / "link").symlink_to(root.parent / "secret" / "key")
    assert reader(root).read(["a/link"]) == [os.fsencode(root.parent / "secret" / "key")]
    assert reader(root).exists(["a/link"]) == [True]


def test_no_folder_is_reached_through_a_link(root: Path) -> None:
    (root / "linked").symlink_to(root.parent / "secret")
    (root / "inside").symlink_to("a")
    assert reader(root).read(["linked/key", "inside/x.md", "a/x.md"]) == [None, None, b"x\r\n\xff"]
    assert reader(root).exists(["linked/key", "inside/x.md", "a/x.md"]) == [False, False, True]
    assert reader(root).list("linked") is None
    assert reader(root).list("inside") is None


def test_a_pipe_is_not_there_and_is_not_waited_for(root: Path) -> None:
    os.mkfifo(root / "a" / "pipe")
    assert reader(root).read(["a/pipe"]) == [None]
    assert reader(root).exists(["a/pipe"]) == [False]


def test_a_large_file_exceeds_the_limits(root: Path) -> None:
    (root / "a" / "x.md").write_bytes(b"x" * MAX_FILE)
    assert reader(root).read(["a/x.md"]) == [b"x" * MAX_FILE]
    (root / "a" / "x.md").write_bytes(b"x" * (MAX_FILE + 1))
    with pytest.raises(Undecided) as caught:
        reader(root).read(["a/run", "a/x.md"])
    assert caught.value.code == "limits-exceeded"
    assert caught.value.message.startswith("a/x.md: ")


def test_what_the_system_refuses_is_an_error(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    assert reader(root).list("a") is not None
    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(Undecided) as caught:
        reader(root).list("a")
    assert (caught.value.code, caught.value.message) == ("unexpected", "a: Permission denied")


def test_a_name_that_no_system_takes_is_not_there(root: Path) -> None:
    assert reader(root).read(["a/" + "x" * 300, "x" * 300 + "/a", "a/run"]) == [None, None, b"#!"]


def test_every_folder_is_closed_again(root: Path) -> None:
    before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0
    for _ in range(3):
        reader(root).read(["a/x.md", "a/b/c", "x/y"])
        reader(root).list("a/b")
    after = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0
    assert after == before
