"""Which tasks the files of the board still name: what is named may not go."""

from __future__ import annotations

import re
from collections.abc import Iterator

from claims.board.board import TreeReader
from claims.board.config import CONFIG_PATH
from claims.board.plan import MANIFEST_PATH, PLAN_PATH
from claims.board.task import State
from claims.names import TaskId, parse_task_id

_FOLDERS = (*(state.folder for state in State), ".agents/proposals", ".agents/decisions")
_FILES = (CONFIG_PATH, PLAN_PATH, MANIFEST_PATH)
_ID = re.compile(rb"(?<![0-9A-Za-z-])T-[0-9]{8}-[0-9a-f]{8}(?![0-9A-Za-z])")
#: Files that are held in memory at once.
_BATCH = 500


def mentioned(tree: TreeReader) -> frozenset[TaskId]:
    """The tasks that a file of the board names in its front matter, or anywhere if it has none; no file names its own.

    As text, not as YAML: a file that does not read may be mended, and then names what it names. What a body says is
    prose. Raises Undecided where a file cannot be looked at.
    """
    found: set[TaskId] = set()
    paths = list(_paths(tree))
    for start in range(0, len(paths), _BATCH):
        batch = paths[start : start + _BATCH]
        for path, data in zip(batch, tree.read(batch), strict=True):
            found.update(_named_in(data or b"", own=path.rpartition("/")[2].removesuffix(".md")))
    return frozenset(found)


def _paths(tree: TreeReader) -> Iterator[str]:
    yield from _FILES
    for folder in _FOLDERS:
        yield from (f"{folder}/{name}" for name in tree.files(folder) if name.endswith(".md"))


def _named_in(data: bytes, own: str) -> Iterator[TaskId]:
    head = re.split(rb"\n---[ \t\r]*(?:\n|\Z)", data, maxsplit=1)[0] if data.startswith(b"---") else data
    for text in set(_ID.findall(head)) - {own.encode("utf-8", "surrogateescape")}:
        try:
            yield parse_task_id(text.decode("ascii"))
        except ValueError:
            continue  # not a real date, so no task's
