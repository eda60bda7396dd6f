"""`task-links`: what the body of a queued or blocked task points at, and is not there."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from claims.board import links
from claims.board.board import TreeReader
from claims.board.survey import Remark, Survey
from claims.errors import Undecided


def dead_links(reader: TreeReader, found: Survey) -> Iterator[Remark]:
    """Every link that leads nowhere. A path that the task's own authority covers may be new."""
    candidates = {
        (path, link): _candidates(path, link.path) for path, pointed in found.links.items() for link in pointed
    }
    paths = sorted({one for several in candidates.values() for one in several})
    there = dict(zip(paths, reader.exists(paths), strict=True)) if paths else {}
    texts: dict[str, frozenset[str] | None] = {}
    for (path, link), several in candidates.items():
        if not link.path:
            if link.anchor and link.anchor not in found.anchors[path]:
                yield Remark(path, f"the body names #{link.anchor}, but has no such heading")
            continue
        file = next((one for one in several if there[one]), None)
        if file is None:
            authority = found.tasks[path].authority
            new = any(authority.covers(one.encode("utf-8", "surrogateescape")) for one in several)
            if not new and not any(reader.list(one) is not None for one in several):
                yield Remark(path, f"the body names {link.path}, which is not there")
        elif link.anchor and file.endswith(".md"):
            anchors = _anchors(reader, texts, file)
            if anchors is not None and link.anchor not in anchors:
                yield Remark(path, f"the body names {link.path}#{link.anchor}, but there is no such heading")


def _candidates(path: str, target: str) -> tuple[str, ...]:
    """The paths that a link may mean: from the root of the repository, or from the folder of the task's file.

    None for one with control characters: no file that anybody links to has them, and not every reader takes them.
    """
    if not target or not target.isprintable():
        return ()
    from_root = posixpath.normpath(target.lstrip("/"))
    nearby = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    both = (from_root,) if target.startswith("/") else (from_root, nearby)
    return tuple(dict.fromkeys(one for one in both if not one.startswith("../") and one not in ("..", ".")))


def _anchors(reader: TreeReader, texts: dict[str, frozenset[str] | None], path: str) -> frozenset[str] | None:
    """The anchors of a file; None (any may be there) for one that is too large to be read, or not here."""
    if path not in texts:
        try:
            data = reader.read([path])[0]
            texts[path] = links.anchors_in((data or b"").decode("utf-8", "replace"))
        except Undecided:
            texts[path] = None
    return texts[path]
