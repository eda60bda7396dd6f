"""What the body of a task points at: paths of the repository and headings. A task that points nowhere misleads.

Links of Markdown count, `[text](docs/login.md#tokens)`, and code spans that look like a path, `` `src/login.py` ``.
What stands in a fenced block is an example, and what has a `*` in it is a pattern.

Whoever writes a body may have written it to keep its reader busy, so every search here is bounded: time grows with the
length of the text and no faster.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from claims.values import dataclass

#: So many links of one body are looked at.
MOST = 1_000
#: Characters of a target; the patterns below say it again.
_LONGEST = 1_000

_FENCE = re.compile(r" {0,3}(```+|~~~+)")
# A target has no parenthesis of its own: then no start of a link lies within another's target, and none is read twice.
_LINK = re.compile(r"\]\(<?([^()\s<>]{1,1000})>?(?:\s{1,8}[\"'][^()]{0,300})?\)")
_DEFINITION = re.compile(r" {0,3}\[[^\]^][^\]]*\]:\s*<?([^\s<>]{1,1000})>?\s*(?:[\"'(].*)?")
_TICKS = re.compile("`+")
_PATH_LIKE = re.compile(r"[A-Za-z0-9_.@-]+(?:/[A-Za-z0-9_.@-]+)+\.[A-Za-z0-9]{1,8}")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t](.*)")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*")
_NAMED = re.compile(r"<a\s{1,8}(?:id|name)=[\"']([^\"'<>]{1,200})[\"']", re.IGNORECASE)
_TEXT_OF_LINK = re.compile(r"\[([^\[\]]{0,200})\]\([^()]{0,1000}\)")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_NOT_IN_ANCHOR = re.compile(r"[^\w\- ]")


@dataclass(frozen=True, slots=True)
class Link:
    """A path as it is written (empty: this very file), and a heading's anchor in it (empty: none)."""

    path: str
    anchor: str


def links_in(body: str) -> tuple[Link, ...]:
    """What a body points at within the repository, each once, in order; the first `MOST`."""
    found: dict[Link, None] = {}
    for line in _outside_fences(body):
        for target in _targets(line):
            if not _SCHEME.match(target) and not target.startswith("//") and "*" not in target:
                place, _, anchor = target.partition("#")
                found[Link(unquote(place.partition("?")[0]), unquote(anchor))] = None
                if len(found) == MOST:
                    return tuple(found)
    return tuple(found)


def anchors_in(body: str) -> frozenset[str]:
    """The anchors of a text's headings, as GitHub makes them: lower case, blanks as hyphens, repeats numbered.

    Anchors that the text names itself, `<a id="x">`, are among them.
    """
    counts: dict[str, int] = {}
    found: set[str] = set()
    before = ""
    for line in _outside_fences(body):
        found.update(_NAMED.findall(line))
        heading = _heading(line, before)
        before = line
        if heading is not None:
            anchor = _NOT_IN_ANCHOR.sub("", heading.lower()).replace(" ", "-")
            again = counts.get(anchor, 0)
            counts[anchor] = again + 1
            found.add(f"{anchor}-{again}" if again else anchor)
    return frozenset(found)


def _heading(line: str, before: str) -> str | None:
    """The text of the heading that a line is, or makes of the line before it."""
    match = _HEADING.fullmatch(line)
    if match is not None:
        text = match.group(1).strip().rstrip("#").strip()
    elif before.strip() and _UNDERLINE.fullmatch(line):
        text = before.strip()
    else:
        return None
    return _TEXT_OF_LINK.sub(r"\1", text)


def _targets(line: str) -> Iterator[str]:
    definition = _DEFINITION.fullmatch(line)
    if definition is not None:
        yield definition.group(1)
        return
    spans, rest = _without_spans(line)
    yield from (span for span in spans if len(span) <= _LONGEST and _PATH_LIKE.fullmatch(span))
    yield from _LINK.findall(rest)


def _without_spans(line: str) -> tuple[list[str], str]:
    """The code spans of a line, and the line without them. A span ends at the next run of as many backticks."""
    runs = [match.span() for match in _TICKS.finditer(line)]
    closing: list[int | None] = [None] * len(runs)
    latest: dict[int, int] = {}
    for number in range(len(runs) - 1, -1, -1):
        length = runs[number][1] - runs[number][0]
        closing[number] = latest.get(length)
        latest[length] = number
    spans: list[str] = []
    rest: list[str] = []
    number = at = 0
    while number < len(runs):
        end = closing[number]
        if end is None:
            number += 1
            continue
        rest.append(line[at : runs[number][0]])
        spans.append(line[runs[number][1] : runs[end][0]].strip())
        at, number = runs[end][1], end + 1
    return spans, "".join(rest) + line[at:]


def _outside_fences(body: str) -> Iterator[str]:
    fence = ""
    for line in body.split("\n"):
        match = _FENCE.match(line)
        if match is None or (not fence and match.group(1)[0] == "`" and "`" in line[match.end() :]):
            if not fence:
                yield line.removesuffix("\r")
        elif not fence:
            fence = match.group(1)
        elif match.group(1).startswith(fence) and not line[match.end() :].strip():
            fence = ""
