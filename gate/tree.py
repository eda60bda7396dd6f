"""Tree entries and changes between trees, as bytes. Paths are never decoded to be compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from claims.names import ObjectId

FILE = 0o100644
EXECUTABLE = 0o100755
LINK = 0o120000
SUBMODULE = 0o160000
FOLDER = 0o040000

#: Bytes of a path that are looked at: no system opens a longer one.
MAX_PATH = 4096


class Entry(NamedTuple):
    """What a path holds: a mode as git writes it, and an object id."""

    mode: int
    id: ObjectId


class Change(NamedTuple):
    """A path and what it holds on both sides; None where it is absent. `before` and `after` differ."""

    path: bytes
    before: Entry | None
    after: Entry | None


def shown(path: bytes) -> str:
    """A path for people and programs: UTF-8 as it is, other bytes and control characters as `\\xNN`."""
    text = path.decode("utf-8", "backslashreplace")
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def by_path(changes: Iterable[Change]) -> Mapping[bytes, Change]:
    """Changes by their path."""
    return {change.path: change for change in changes}


def folders_of_all(paths: Iterable[bytes]) -> set[bytes]:
    """Every folder above one of the paths, in time that does not grow with how deep the ones they share lie."""
    found: set[bytes] = set()
    for path in paths:
        folder = path
        while folder:
            folder = folder.rpartition(b"/")[0]
            if folder in found:
                break
            found.add(folder)
    return found


def _escaped(char: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in char.encode("utf-8", "surrogatepass"))
