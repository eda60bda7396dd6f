"""Writing files of the board into a working tree: all of them or none, each whole, never through a link.

What is new never takes the place of a file that is there; what replaces a file replaces the one that was read.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from claims.errors import Conflict, Undecided
from claims.git import printable
from claims.values import dataclass, field

_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})


@dataclass(frozen=True, slots=True)
class Replacement:
    """A file's new content and the one that it was made from."""

    old: bytes
    new: bytes


@contextmanager
def alone_in(top: Path) -> Iterator[None]:
    """Keep others who ask for the same from the working tree `top` meanwhile. It ends with the process, if need be."""
    try:
        descriptor = os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as refused:
        raise _refused(str(top), refused) from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError:
            pass  # a file system without locks: what was read is compared before it is replaced, all the same
        yield
    finally:
        os.close(descriptor)


def write(top: Path, new: Mapping[str, bytes], replaced: Mapping[str, Replacement] | None = None) -> None:
    """Write files; paths are from `top`, the root of the working tree, with `/`. New ones appear first.

    Raises Conflict `moved` where a new file is there by now or a replaced one has changed; Undecided `unexpected`
    where the system refuses, or a folder on the way is none (a link may lead anywhere). Nothing is left then.
    """
    undo = _Undo()
    try:
        staged = {path: _stage(top, path, data, undo) for path, data in new.items()}
        meant = replaced or {}
        staged_over = {path: _stage(top, path, change.new, undo) for path, change in meant.items()}
        for path, temporary in staged.items():
            _appear(temporary, top / path, path, undo)
        for path, temporary in staged_over.items():
            _take_place(temporary, top / path, path, meant[path].old)
    except BaseException:
        undo.run()
        raise
    for temporary in staged.values():
        temporary.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class _Undo:
    """What takes back what was done so far, to be run backwards."""

    steps: list[Callable[[], None]] = field(default_factory=list)

    def run(self) -> None:
        for step in reversed(self.steps):
            try:
                step()
            except OSError:
                pass  # somebody put something else there, or it is gone


def _stage(top: Path, path: str, data: bytes, undo: _Undo) -> Path:
    """Write `data` beside the place of `path`, with the mode of the file that is there."""
    folder = _folder(top, path, undo)
    final = top / path
    temporary = folder / f".{final.name}.{os.urandom(4).hex()}.tmp"
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        undo.steps.append(lambda: temporary.unlink(missing_ok=True))
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if final.is_file() and not final.is_symlink():
            temporary.chmod(stat.S_IMODE(final.stat().st_mode))
    except OSError as refused:
        raise _refused(path, refused) from None
    return temporary


def _folder(top: Path, path: str, undo: _Undo) -> Path:
    """Create the folders on the way to `path`."""
    folder = top
    for name in path.split("/")[:-1]:
        folder = folder / name
        try:
            folder.mkdir()
            undo.steps.append(folder.rmdir)
        except FileExistsError:
            if not stat.S_ISDIR(folder.lstat().st_mode):
                raise Undecided("unexpected", f"{path}: {printable(str(folder))} is not a folder") from None
        except OSError as refused:
            raise _refused(path, refused) from None
    return folder


def _appear(temporary: Path, final: Path, path: str, undo: _Undo) -> None:
    """Give a file its name, which nothing may have yet."""
    try:
        try:
            os.link(temporary, final)
        except OSError as refused:
            if refused.errno not in _NO_LINKS:
                raise
            if os.path.lexists(final):
                raise FileExistsError from None
            temporary.rename(final)
    except FileExistsError:
        raise Conflict("moved", f"{path} is there by now", "run the command again") from None
    except OSError as refused:
        raise _refused(path, refused) from None
    undo.steps.append(lambda: final.unlink(missing_ok=True))


def _take_place(temporary: Path, final: Path, path: str, old: bytes) -> None:
    try:
        if final.is_symlink() or final.read_bytes() != old:
            raise Conflict("moved", f"{path} was changed while it was read", "run the command again")
        temporary.replace(final)
    except OSError as refused:
        raise _refused(path, refused) from None


def _refused(path: str, refused: OSError) -> Undecided:
    return Undecided("unexpected", f"{printable(path)}: {refused.strerror or refused}")
