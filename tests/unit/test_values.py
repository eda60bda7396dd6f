"""`claims.values` against the standard library: the same classes, defined with either, behave alike."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import pytest

from claims import values
from claims.ledger import Ledger
from claims.record import Claim

T = TypeVar("T")

#: How to make a dataclass and a field: the standard library's way, and ours.
STANDARD = (dataclasses.dataclass, dataclasses.field, dataclasses.replace)
OURS = (values.dataclass, values.field, values.replace)


class Made:
    """Classes with one of each that a field can have."""

    def __init__(self, ways: Any) -> None:
        dataclass, field, self.replace = ways

        @dataclass(frozen=True, slots=True)
        class Point:
            """A point."""

            x: int
            y: int = 2
            tags: list[str] = field(default_factory=list)
            note: str = field(default="", repr=False, compare=False)

            def moved(self) -> int:
                return self.x + 1

        @dataclass(frozen=True, slots=True)
        class Cached:
            size: int
            seen: list[int] = field(default_factory=list, init=False, repr=False, compare=False)

        @dataclass(frozen=True, slots=True)
        class Checked:
            low: int
            high: int

            def __post_init__(self) -> None:
                assert self.low <= self.high, "upside down"

        @dataclass(slots=True)
        class Loose:
            count: int = 0

        @dataclass(frozen=True, slots=True)
        class Empty:
            pass

        @dataclass(frozen=True, slots=True)
        class Box(Generic[T]):
            value: T

        self.Point: Any = Point
        self.Cached: Any = Cached
        self.Checked: Any = Checked
        self.Loose: Any = Loose
        self.Empty: Any = Empty
        self.Box: Any = Box


SAME: list[Callable[[Made], Any]] = [
    lambda made: made.Point(1).y,
    lambda made: made.Point(1, 3, ["a"], "n").tags,
    lambda made: made.Point(y=5, x=1).y,
    lambda made: made.Point(1).moved(),
    lambda made: made.Point(1).tags is not made.Point(1).tags,
    lambda made: made.Point(1) == made.Point(1, 2),
    lambda made: made.Point(1) == made.Point(2),
    lambda made: made.Point(1, note="a") == made.Point(1, note="b"),
    lambda made: made.Point(1) == made.Cached(1),
    lambda made: made.Cached(1) == made.Cached(1),
    lambda made: hash(made.Checked(1, 2)) == hash(made.Checked(1, 2)),
    lambda made: len({made.Box(1), made.Box(1), made.Box(2)}),
    lambda made: made.Loose.__hash__,
    lambda made: repr(made.Point(1, note="kept out")),
    lambda made: repr(made.Empty()),
    lambda made: made.Empty() == made.Empty(),
    lambda made: made.Box(3).value,
    lambda made: made.replace(made.Point(1), y=9).y,
    lambda made: made.replace(made.Cached(1), size=2).size,
    lambda made: dataclasses.replace(made.Point(1), y=9).y,
    lambda made: dataclasses.is_dataclass(made.Point),
    lambda made: dataclasses.asdict(made.Point(1)),
    lambda made: [(one.name, one.init, one.repr, one.compare) for one in dataclasses.fields(made.Point)],
    lambda made: [one.name for one in dataclasses.fields(made.Cached) if one.init],
    lambda made: made.Point.__slots__,
    lambda made: made.Point.__match_args__,
    lambda made: made.Cached.__match_args__,
    lambda made: made.Point.__doc__,
    lambda made: made.Point.__qualname__,
    lambda made: made.Point.__module__,
    lambda made: hasattr(made.Point(1), "__dict__"),
]

WRONG: list[Callable[[Made], Any]] = [
    lambda made: made.Point(),
    lambda made: made.Point(1, 2, [], "", 5),
    lambda made: made.Point(1, x=1),
    lambda made: made.Point(1, z=1),
    lambda made: made.Cached(1, []),
    lambda made: made.Cached(1, seen=[]),
    lambda made: made.Checked(2, 1),
    lambda made: hash(made.Point(1)),
    lambda made: hash(made.Loose()),
    lambda made: made.replace(made.Point(1), z=1),
    lambda made: setattr(made.Point(1), "x", 3),
    lambda made: setattr(made.Point(1), "z", 3),
    lambda made: delattr(made.Point(1), "x"),
    lambda made: setattr(made.Loose(), "z", 3),
]


def _words(ask: Callable[[Made], Any]) -> str:
    return inspect.getsource(ask).strip() if ask.__code__.co_name == "<lambda>" else ask.__name__


@pytest.mark.parametrize("ask", SAME, ids=range(len(SAME)))
def test_it_answers_as_the_standard_library_does(ask: Callable[[Made], Any]) -> None:
    assert ask(Made(OURS)) == ask(Made(STANDARD)), _words(ask)


@pytest.mark.parametrize("ask", WRONG, ids=range(len(WRONG)))
def test_it_refuses_what_the_standard_library_refuses(ask: Callable[[Made], Any]) -> None:
    # Of a name that is no field the standard library says AttributeError or TypeError, as its version has it.
    for made in (Made(STANDARD), Made(OURS)):
        with pytest.raises((TypeError, AttributeError, AssertionError)):
            ask(made)


def test_a_class_that_may_change_does() -> None:
    for made in (Made(STANDARD), Made(OURS)):
        loose = made.Loose()
        loose.count = 3
        assert loose == made.Loose(3)


def test_the_values_of_claims_are_made_with_it() -> None:
    # Else every command would compile some two hundred methods before it begins.
    for one in (Claim, Ledger):
        assert one.__init__.__module__ == "claims.values"
        assert dataclasses.is_dataclass(one)
