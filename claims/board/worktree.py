"""A working tree as a `TreeReader`, for the two commands that advise their user on it. The package's only I/O.

It reads what git would: no link is followed, neither at the end of a path nor on the way, and a link's content is its
target. Otherwise a link in somebody's branch could make a command print a file from anywhere.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Sequence
from typing import TypeVar

from claims.board.board import Entry, NotAFile
from claims.board.node import MAX_FILE
from claims.errors import Undecided

T = TypeVar("T")

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK, opening a named pipe would wait for somebody to write to it.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

# A link where a folder is wanted is ENOTDIR to Linux and ELOOP to others.
_NOT_THERE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG})

_FOLDER_MODE = 0o040000
_LINK_MODE = 0o120000


class WorkTree:
    """The tree below the folder `root`. Sockets, pipes and devices are not there, as for git.

    Every method raises Undecided("unexpected") where the system refuses, as for want of a permission.
    """

    __slots__ = ("_root",)

    def __init__(self, root: str) -> None:
        self._root = root

    def list(self, folder: str) -> tuple[Entry, ...] | None:
        """See `TreeReader`."""
        return self._within(folder, _entries)

    def files(self, folder: str) -> Sequence[str]:
        """See `TreeReader`."""
        return [entry.name for entry in self.list(folder) or () if entry.mode != _FOLDER_MODE]

    def read(self, paths: Sequence[str]) -> Sequence[bytes | None]:
        """See `TreeReader`."""
        return [self._read(path) for path in paths]

    def exists(self, paths: Sequence[str]) -> Sequence[bool]:
        """See `TreeReader`."""
        return [bool(self._at(path, _is_file)) for path in paths]

    def _read(self, path: str) -> bytes | None:
        return self._at(path, lambda name, folder: _content(name, folder, path))

    def _at(self, path: str, act: Callable[[str, int], T | None]) -> T | None:
        """What `act` makes of the last segment of `path` in its open folder; None where that does not exist."""
        folder, _, name = path.rpartition("/")
        return self._within(folder, lambda opened: act(name, opened))

    def _within(self, folder: str, act: Callable[[int], T | None]) -> T | None:
        """What `act` makes of the open folder; None where it does not exist or is reached through a link."""
        opened = -1
        try:
            opened = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            for name in folder.split("/") if folder else ():
                inner = os.open(name, _FOLDER, dir_fd=opened)
                os.close(opened)
                opened = inner
            return act(opened)
        except OSError as refused:
            if refused.errno in _NOT_THERE:
                return None
            raise Undecided("unexpected", f"{folder or '.'}: {refused.strerror}") from None
        finally:
            if opened >= 0:
                os.close(opened)


def _entries(folder: int) -> tuple[Entry, ...]:
    with os.scandir(folder) as children:
        modes = {child.name: _git_mode(child.stat(follow_symlinks=False).st_mode) for child in children}
    return tuple(Entry(name, mode, None) for name, mode in sorted(modes.items()) if mode is not None)


def _git_mode(mode: int) -> int | None:
    """The mode that git would record; None for what it passes over."""
    if stat.S_ISDIR(mode):
        return _FOLDER_MODE
    if stat.S_ISLNK(mode):
        return _LINK_MODE
    if not stat.S_ISREG(mode):
        return None
    return 0o100755 if mode & stat.S_IXUSR else 0o100644


def _is_file(name: str, folder: int) -> bool:
    mode = _git_mode(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    return mode is not None and mode != _FOLDER_MODE


def _content(name: str, folder: int, path: str) -> bytes | None:
    mode = _git_mode(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    if mode == _FOLDER_MODE:
        raise NotAFile(path, "folder")
    if mode is None:
        return None
    if mode == _LINK_MODE:
        return os.fsencode(os.readlink(name, dir_fd=folder))
    with os.fdopen(os.open(name, _FILE, dir_fd=folder), "rb") as file:
        data = file.read(MAX_FILE + 1)
    if len(data) > MAX_FILE:
        raise Undecided("limits-exceeded", f"{path}: over {MAX_FILE} bytes, which no file under .agents/ may have")
    return data
