"""Writing into a working tree: all of it or none."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from claims.errors import Conflict, SwarmError, Undecided
from claims.operations.writing import Replacement, alone_in, write


def tree(top: Path) -> dict[str, bytes | None]:
    """Path to content, None for a folder."""
    return {str(path.relative_to(top)): path.read_bytes() if path.is_file() else None for path in top.rglob("*")}


def test_new_files_and_their_folders_appear(tmp_path: Path) -> None:
    write(tmp_path, {"a/b/one": b"1", "two": b"2"})
    assert tree(tmp_path) == {"a": None, "a/b": None, "a/b/one": b"1", "two": b"2"}


@pytest.mark.parametrize("name", ["folder/in/the/way", "there", "changed", "gone"])
def test_where_one_cannot_be_written_none_is(name: str, tmp_path: Path) -> None:
    (tmp_path / "folder").write_bytes(b"a file")
    (tmp_path / "there").write_bytes(b"mine")
    (tmp_path / "changed").write_bytes(b"by now")
    before = tree(tmp_path)
    new = {"a/b/one": b"1", "two": b"2"}
    over = {} if name in ("folder/in/the/way", "there") else {name: Replacement(b"when it was read", b"new")}
    with pytest.raises(SwarmError) as caught:
        write(tmp_path, new if over else {**new, name: b"new"}, over)
    assert isinstance(caught.value, Undecided if name in ("folder/in/the/way", "gone") else Conflict)
    assert name in caught.value.message
    assert tree(tmp_path) == before


def test_what_replaces_a_file_replaces_the_one_that_was_read(tmp_path: Path) -> None:
    (tmp_path / "it").write_bytes(b"old")
    write(tmp_path, {"new": b"n"}, {"it": Replacement(b"old", b"newer")})
    assert tree(tmp_path) == {"it": b"newer", "new": b"n"}


def test_an_interrupt_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("claims.operations.writing._take_place", interrupted)
    (tmp_path / "it").write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path, {"a/new": b"n"}, {"it": Replacement(b"old", b"newer")})
    assert tree(tmp_path) == {"it": b"old"}


def test_without_hard_links_nothing_is_overwritten_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(1, "no links here")

    monkeypatch.setattr("os.link", refused)
    write(tmp_path, {"one": b"1"})
    with pytest.raises(Conflict, match="one is there by now"):
        write(tmp_path, {"one": b"2", "two": b"2"})
    assert tree(tmp_path) == {"one": b"1"}


def test_one_at_a_time(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    try:
        with alone_in(tmp_path), pytest.raises(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(descriptor)
