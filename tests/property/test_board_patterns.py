"""Patterns against the obvious, slow way to match them, and what two have in common against every short path."""

from __future__ import annotations

import re
from itertools import product

from hypothesis import example, given
from hypothesis import strategies as st

from claims.board.authority import Authority, Pattern, parse_pattern

_NO_NAMES = {"", ".", ".."}


def obvious(text: str) -> re.Pattern[str]:
    """The pattern as a regular expression that may backtrack."""
    segments = text.split("/")
    last = segments.pop()
    folders = "".join("(?:[^/]+/)*" if segment == "**" else _segment(segment) + "/" for segment in segments)
    return re.compile(folders + (".+" if last in ("", "**") else _segment(last)), re.DOTALL)


def _segment(segment: str) -> str:
    return "".join({"*": "[^/]*", "?": "[^/]"}.get(character, re.escape(character)) for character in segment)


def read(text: str) -> Pattern | None:
    try:
        return parse_pattern(text)
    except ValueError:
        return None


def is_path(text: str) -> bool:
    return _NO_NAMES.isdisjoint(text.split("/"))


# Few characters, so that patterns and paths meet often.
NAMES = st.text("ab.é", min_size=1, max_size=4).filter(lambda name: name not in _NO_NAMES)
PATHS = st.lists(NAMES, min_size=1, max_size=5).map("/".join)
SEGMENTS = st.one_of(st.just("**"), st.text("ab.é*?", min_size=1, max_size=5))
PATTERNS = st.lists(SEGMENTS, min_size=1, max_size=5).map("/".join).filter(read)


@given(st.lists(PATTERNS, min_size=1, max_size=4), PATHS)
@example(["a/**/b/**/c"], "a/b/b/c/c")
@example(["**/a*b*/?"], "a/ab/b/b")
def test_covers_what_the_obvious_way_does(texts: list[str], path: str) -> None:
    expected = [obvious(text).fullmatch(path) is not None for text in texts]
    assert [parse_pattern(text).covers(path.encode()) for text in texts] == expected
    assert Authority(tuple(map(parse_pattern, texts))).covers(path.encode()) is any(expected)


@given(PATTERNS, st.data())
def test_covers_a_path_made_from_the_pattern(text: str, data: st.DataObject) -> None:
    many, one = st.text("ab.é", max_size=3), st.sampled_from("ab.é")

    def fill(segment: str) -> str:
        if segment == "**":
            return "/".join(data.draw(st.lists(NAMES, min_size=1, max_size=3)))
        return "".join(
            data.draw(many) if character == "*" else data.draw(one) if character == "?" else character
            for character in segment
        )

    path = "/".join(map(fill, text.split("/")))
    assert parse_pattern(text).covers(path.encode()) is is_path(path)


@given(st.binary(max_size=30))
def test_any_bytes_are_matched_or_not(path: bytes) -> None:
    text = path.decode("utf-8", "surrogateescape")
    expected = is_path(text) and obvious("a/**/?*x").fullmatch(text) is not None
    assert parse_pattern("a/**/?*x").covers(path) is expected


def test_what_two_patterns_have_in_common_is_exact() -> None:
    """Every pair of patterns of up to four characters against every path of up to eight.

    Two such patterns fix at most four characters each, so where they have a path in common, a short one is among them.
    """
    paths = [path for length in range(1, 9) for path in map("".join, product("a./", repeat=length)) if is_path(path)]
    texts = ["".join(text) for length in range(1, 5) for text in product("a.*?/", repeat=length)]
    patterns = [pattern for pattern in map(read, texts) if pattern is not None]
    assert len(patterns) > 200
    expressions = [obvious(pattern.text) for pattern in patterns]
    covered = [{path for path in paths if expression.fullmatch(path)} for expression in expressions]
    expected = {
        (left.text, right.text)
        for left, in_left in zip(patterns, covered, strict=True)
        for right, in_right in zip(patterns, covered, strict=True)
        if not in_left.isdisjoint(in_right)
    }
    everything = Authority(tuple(patterns))
    assert {(left.text, right.text) for left, right in everything.can_meet(everything)} == expected


@given(PATTERNS, PATTERNS, PATHS)
def test_what_both_cover_they_meet_in(left: str, right: str, path: str) -> None:
    one, two = parse_pattern(left), parse_pattern(right)
    meet = Authority((one,)).can_meet(Authority((two,))) != []
    assert meet or not (one.covers(path.encode()) and two.covers(path.encode()))
    assert meet == (Authority((two,)).can_meet(Authority((one,))) != [])
