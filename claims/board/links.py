"""What the body of a task points at: paths of the repository and headings. A task that points nowhere misleads.

Links of Markdown count, `[text](docs/login.md#tokens)`, and code spans that look like a path, `` `src/login.py` ``.
What stands in a fenced block is an example.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from claims.values import dataclass

_FENCE = re.compile(r" {0,3}(```+|~~~+)")
_LINK = re.compile(r"\]\(<?([^)\s>]+)>?(?:\s+[\"'(][^)]*)?\)")
_DEFINITION = re.compile(r" {0,3}\[[^\]]+\]:\s*<?([^\s>]+)>?")
_SPAN = re.compile(r"(`+)(.+?)\1")
_PATH_LIKE = re.compile(r"[A-Za-z0-9_.@-]+(?:/[A-Za-z0-9_.@-]+)+\.[A-Za-z0-9]{1,8}")
_HEADING = re.compile(r" {0,3}#{1,6}\s+(.*?)\s*#*\s*")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_NOT_IN_ANCHOR = re.compile(r"[^\w\- ]")


@dataclass(frozen=True, slots=True)
class Link:
    """A path as it is written (empty: this very file), and a heading's anchor in it (empty: none)."""

    path: str
    anchor: str


def links_in(body: str) -> tuple[Link, ...]:
    """What a body points at within the repository, each once, in order."""
    found: dict[tuple[str, str], Link] = {}
    for line in _outside_fences(body):
        for target in _targets(line):
            path, _, anchor = target.partition("#")
            if target and not _SCHEME.match(target) and not target.startswith("//"):
                found.setdefault((unquote(path), unquote(anchor)), Link(unquote(path), unquote(anchor)))
    return tuple(found.values())


def anchors_in(body: str) -> frozenset[str]:
    """The anchors of a text's headings, as GitHub makes them: lower case, blanks as hyphens, repeats numbered."""
    counts: dict[str, int] = {}
    found: set[str] = set()
    for line in _outside_fences(body):
        match = _HEADING.fullmatch(line)
        if match is not None:
            anchor = _NOT_IN_ANCHOR.sub("", match.group(1).strip().lower()).replace(" ", "-")
            again = counts.get(anchor, 0)
            counts[anchor] = again + 1
            found.add(f"{anchor}-{again}" if again else anchor)
    return frozenset(found)


def _targets(line: str) -> Iterator[str]:
    definition = _DEFINITION.match(line)
    if definition is not None:
        yield definition.group(1)
        return
    spans = [match.group(2).strip() for match in _SPAN.finditer(line)]
    yield from (span for span in spans if _PATH_LIKE.fullmatch(span))
    yield from _LINK.findall(_SPAN.sub("", line))


def _outside_fences(body: str) -> Iterator[str]:
    fence = ""
    for line in body.split("\n"):
        match = _FENCE.match(line)
        if match is None:
            if not fence:
                yield line.removesuffix("\r")
        elif not fence:
            fence = match.group(1)
        elif match.group(1).startswith(fence) and not line[match.end() :].strip():
            fence = ""
