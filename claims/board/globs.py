"""Many patterns at once, bit by bit: which of them match a path, and which have a path in common with another.

A pattern is a chain of tokens; a position stands between two tokens and is one bit of an integer. All patterns lie
side by side in one integer, so that a symbol moves all of them on with a few operations, and no pattern, however
hostile, makes matching take longer than the patterns' length times the path's. The same machine works twice: on a
segment's characters, and on a path's segments.

What a symbol can be decides what two patterns have in common. A segment of a path is never empty, `.` or `..`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import TypeAlias

#: A pattern's segments; `**` among them is any number of folders, at the end anything below.
Segments: TypeAlias = tuple[str, ...]

NO_SEGMENTS = frozenset({"", ".", ".."})
# More directories than this are forgotten again, so that a hostile tree does not fill the memory.
_REMEMBERED = 20_000


class _Chains:
    """The positions of chains that lie side by side: where they start, loop, move on and end."""

    __slots__ = ("_end", "_ends", "_loop", "_size", "moving", "start")

    def __init__(self) -> None:
        self.start = 0
        #: The positions with a token after them, which consumes one symbol.
        self.moving = 0
        self._loop = 0
        self._end = 0
        self._ends: dict[int, int] = {}
        self._size = 0

    def begin(self) -> None:
        self.start |= 1 << self._size

    def add(self) -> int:
        """Add a token that consumes one symbol; return its bit."""
        bit = 1 << self._size
        self.moving |= bit
        self._size += 1
        return bit

    def loop_here(self) -> None:
        """Let the current position take any number of symbols."""
        self._loop |= 1 << self._size

    def finish(self, number: int) -> None:
        bit = 1 << self._size
        self._end |= bit
        self._ends[bit] = number
        self._size += 1

    def step(self, states: int, consuming: int) -> int:
        """One symbol, which the tokens in `consuming` take."""
        return ((states & consuming) << 1) | (states & self._loop)

    def flood(self, states: int) -> int:
        """Any number of any symbols: from each position to the end of its chain. The carry runs through the chain."""
        moving = self.moving
        return states | (((states & moving) + moving) ^ moving)

    def finished(self, states: int) -> list[int]:
        """The numbers of the chains that are at their end."""
        numbers = []
        at_end = states & self._end
        while at_end:
            bit = at_end & -at_end
            numbers.append(self._ends[bit])
            at_end ^= bit
        return numbers

    def any_finished(self, states: int) -> bool:
        return states & self._end != 0


class _SegmentSet:
    """Segments of patterns, numbered as given, with characters as symbols."""

    __slots__ = ("_chains", "_short", "_takes", "_takes_all")

    def __init__(self, segments: Sequence[str]) -> None:
        self._chains = _Chains()
        self._takes_all = 0
        self._takes: dict[str, int] = {}
        #: Those whose common text with another such segment might be nothing but `.` or `..`.
        self._short = frozenset(number for number, segment in enumerate(segments) if _may_be_dots(segment))
        for number, segment in enumerate(segments):
            self._add(segment, number)
        for character in self._takes:
            self._takes[character] |= self._takes_all

    def _add(self, segment: str, number: int) -> None:
        chains = self._chains
        chains.begin()
        for character in segment:
            if character == "*":
                chains.loop_here()
            elif character == "?":
                self._takes_all |= chains.add()
            else:
                self._takes[character] = self._takes.get(character, 0) | chains.add()
        chains.finish(number)

    def matching(self, name: str) -> list[int]:
        """The segments that match `name`, a segment of a path."""
        chains, states = self._chains, self._chains.start
        for character in name:
            states = chains.step(states, self._takes.get(character, self._takes_all))
            if not states:
                return []
        return chains.finished(states)

    def meeting(self, segment: str) -> set[int]:
        """The segments that match some name that `segment` matches too."""
        chains, states = self._chains, self._chains.start
        for character in segment:
            if character == "*":
                states = chains.flood(states)
            elif character == "?":
                states = chains.step(states, chains.moving)
            else:
                states = chains.step(states, self._takes.get(character, self._takes_all))
        found = set(chains.finished(states))
        return found - self._meeting_in_dots(segment) if _may_be_dots(segment) else found

    def _meeting_in_dots(self, segment: str) -> frozenset[int]:
        """Those of the short ones that share no name with `segment` which a path could have.

        Two short segments that share a name share one of at most four characters, dots and others: each pins down
        two characters at most, and what only asterisks take can be left out, or be an `x`.
        """
        one = _SegmentSet([segment])
        names = ("".join(name) for length in range(1, 5) for name in product(".x", repeat=length))
        sharing = {
            number for name in names if name not in NO_SEGMENTS and one.matching(name) for number in self.matching(name)
        }
        return self._short - sharing


class PathSet:
    """Patterns, numbered as given, with a path's segments as symbols.

    Paths are text; bytes that are not UTF-8 are escaped as surrogates, which no pattern contains.
    """

    __slots__ = ("_chains", "_globs", "_masks", "_matching", "_meeting", "_meeting_masks", "_takes", "_takes_all")

    def __init__(self, patterns: Iterable[Segments]) -> None:
        self._chains = _Chains()
        self._takes_all = 0
        self._takes: dict[str, int] = {}
        for number, pattern in enumerate(patterns):
            self._add(pattern, number)
        self._globs = [segment for segment in self._takes if is_glob(segment)]
        self._masks: dict[str, int] = {}
        self._matching: _SegmentSet | None = None
        self._meeting: _SegmentSet | None = None
        self._meeting_masks: dict[str, int] = {}

    def _add(self, pattern: Segments, number: int) -> None:
        chains = self._chains
        chains.begin()
        for segment in pattern[:-1]:
            if segment == "**":
                chains.loop_here()
            else:
                self._takes[segment] = self._takes.get(segment, 0) | chains.add()
        if pattern[-1] == "**":
            self._takes_all |= chains.add()
            chains.loop_here()
        else:
            self._takes[pattern[-1]] = self._takes.get(pattern[-1], 0) | chains.add()
        chains.finish(number)

    def match(self, path: str) -> bool:
        """Does a pattern cover `path`? None covers what cannot be a path in a tree: empty segments, `.`, `..`."""
        chains, states = self._chains, self._chains.start
        names = path.split("/")
        for name in names:
            states = chains.step(states, self._mask_of(name))
            if not states:
                return False
        return chains.any_finished(states) and NO_SEGMENTS.isdisjoint(names)

    def meeting(self, pattern: Segments) -> list[int]:
        """The patterns that share a path with `pattern`, in order."""
        chains, states = self._chains, self._chains.start
        for segment in pattern[:-1]:
            states = chains.flood(states) if segment == "**" else chains.step(states, self._meeting_mask(segment))
        if pattern[-1] == "**":
            states = chains.flood(chains.step(states, chains.moving))
        else:
            states = chains.step(states, self._meeting_mask(pattern[-1]))
        return sorted(chains.finished(states))

    def _mask_of(self, name: str) -> int:
        """The tokens that take the segment `name` of a path."""
        mask = self._masks.get(name)
        if mask is None:
            mask = self._takes_all | (0 if is_glob(name) else self._takes.get(name, 0))
            if self._globs:
                if self._matching is None:
                    self._matching = _SegmentSet(self._globs)
                for number in self._matching.matching(name):
                    mask |= self._takes[self._globs[number]]
            if len(self._masks) >= _REMEMBERED:
                self._masks.clear()
            self._masks[name] = mask
        return mask

    def _meeting_mask(self, segment: str) -> int:
        """The tokens that take a name which `segment` of a pattern takes too."""
        if not is_glob(segment):
            return self._mask_of(segment)
        mask = self._meeting_masks.get(segment)
        if mask is None:
            segments = list(self._takes)
            if self._meeting is None:
                self._meeting = _SegmentSet(segments)
            mask = self._takes_all
            for number in self._meeting.meeting(segment):
                mask |= self._takes[segments[number]]
            self._meeting_masks[segment] = mask
        return mask


def is_glob(segment: str) -> bool:
    return "*" in segment or "?" in segment


def _may_be_dots(segment: str) -> bool:
    """Can it match `.` or `..`? Then it has no other characters, and at most two that are not asterisks."""
    return not segment.strip(".?*") and len(segment) - segment.count("*") <= 2
