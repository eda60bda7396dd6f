"""What a task may touch: patterns over paths, as bytes; and the paths that are protected or reserved.

board.md, "authority". Paths are git's: bytes, with `/` between segments, from the root of the repository.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from claims.board.globs import PathSet, Segments
from claims.values import dataclass, field

#: A task may name this many patterns.
MAX_PATTERNS = 200

#: Protected in every repository; configuration adds to these and takes none away.
PROTECTED = (".github/", "CODEOWNERS", "docs/CODEOWNERS", ".gitmodules", "**/.gitattributes")
_RESERVED = ".agents"

_ASCII_CONTROL = re.compile("[\x00-\x1f\x7f]")
_UNPRINTED = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


@dataclass(frozen=True, slots=True)
class Pattern:
    """One pattern as it was written, and its segments. `src/` and `src/**` have the same segments."""

    text: str
    segments: Segments

    def covers(self, path: bytes) -> bool:
        """Does the pattern match `path`? Says nothing about protected and reserved paths."""
        return _path_set((self.segments,)).match(_text(path))


@dataclass(frozen=True, slots=True)
class Authority:
    """A task's patterns. What is in none of them, it may not touch."""

    patterns: tuple[Pattern, ...]
    # Built when the first path is asked about: most tasks are read for other reasons.
    _built: list[PathSet] = field(default_factory=list, init=False, repr=False, compare=False)

    def covers(self, path: bytes) -> bool:
        """Does a pattern match `path`? Says nothing about protected and reserved paths: see `grants`."""
        return self._paths().match(_text(path))

    def names_exactly(self, path: bytes) -> bool:
        """Does a pattern equal `path` byte for byte? Protected paths, links and submodules need that."""
        return any(pattern.text.encode() == path for pattern in self.patterns)

    def grants(self, path: bytes, protected: Sequence[Pattern] = ()) -> bool:
        """May the task touch `path`: never what is reserved, and what is protected only where it is named exactly.

        `protected` is `gate.protected` of the configuration. Links and submodules are for the caller to judge.
        """
        if is_reserved(path):
            return False
        return self.names_exactly(path) if is_protected(path, protected) else self.covers(path)

    def can_meet(self, other: Authority) -> list[tuple[Pattern, Pattern]]:
        """The pairs, one pattern of each side, that some path matches both of. Exact, not a guess."""
        theirs = other._paths()
        return [(mine, other.patterns[number]) for mine in self.patterns for number in theirs.meeting(mine.segments)]

    def _paths(self) -> PathSet:
        if not self._built:
            self._built.append(PathSet(pattern.segments for pattern in self.patterns))
        return self._built[0]


def parse_pattern(text: str) -> Pattern:
    """Read one pattern. Raises ValueError with what is wrong with it."""
    reason = _refuse(text)
    if reason is not None:
        raise ValueError(f"the pattern {text!r} {reason}")
    return Pattern(text, _segments(text))


def is_reserved(path: bytes) -> bool:
    """Is `path` `.agents` or below it, in whatever case? No authority grants it."""
    folded = _text(path).casefold()
    return folded == _RESERVED or folded.startswith(_RESERVED + "/")


def is_protected(path: bytes, extra: Sequence[Pattern] = ()) -> bool:
    """Is `path` one of the defaults or of `extra`, in whatever case?

    A protected folder's own path counts too: a link or a file could take the folder's place.
    """
    paths = _protected_set(tuple(pattern.text for pattern in extra))
    text = _text(path)
    # Beyond ASCII folding can make one character two, which `?` would then miss.
    return paths.match(text.casefold()) or (not text.isascii() and paths.match(text))


def _refuse(text: str) -> str | None:
    """Why `text` is no pattern, or None where it is one."""
    if not text.strip("*?/."):
        return "has no character besides * ? / ."
    if text[0] in "/!":
        return f"starts with {text[0]}; patterns are anchored at the root, and there is no negation"
    if "\\" in text:
        return "has a backslash; folders are separated by /"
    reason = _refuse_characters(text)
    if reason is not None:
        return reason
    for segment in text.removesuffix("/").split("/"):
        if segment in ("", ".", ".."):
            return f"has a segment {segment!r}"
        if "**" in segment and segment != "**":
            return "has ** within a segment; it stands for folders, and only alone"
        if segment != segment.strip():
            return "has a blank at an end of a segment"
        if segment.endswith("."):
            return "has a segment that ends with a dot"
    return None


def _refuse_characters(text: str) -> str | None:
    if _ASCII_CONTROL.search(text):
        return "has a control character"
    if text.isascii():
        return None
    # Imported here: nearly all patterns are ASCII.
    import unicodedata

    if any(unicodedata.category(character) in _UNPRINTED for character in text):
        return "has a control or format character"
    return None if unicodedata.is_normalized("NFC", text) else "is not NFC"


def _segments(text: str) -> Segments:
    segments = text.split("/")
    return (*segments[:-1], segments[-1] or "**")


def _text(path: bytes) -> str:
    """The path as text. Bytes that are not UTF-8 become surrogates, which no pattern has: equal text is equal bytes."""
    return path.decode("utf-8", "surrogateescape")


@lru_cache(maxsize=512)
def _path_set(patterns: tuple[Segments, ...]) -> PathSet:
    return PathSet(patterns)


@lru_cache(maxsize=8)
def _protected_set(extra: tuple[str, ...]) -> PathSet:
    texts = dict.fromkeys(form for text in (*PROTECTED, *extra) for form in (text, text.casefold()))
    return PathSet(_with_folders(map(_segments, texts)))


def _with_folders(patterns: Iterable[Segments]) -> Iterable[Segments]:
    for pattern in patterns:
        yield pattern
        folder = pattern
        while len(folder) > 1 and folder[-1] == "**":
            folder = folder[:-1]
        yield folder
