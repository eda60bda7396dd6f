"""Reading a mapping whose keys are known: every value has a type, and every key that nobody knows is refused.

A *reading* turns a node into a value or raises Malformed with the node's line. Readings are put together from the
ones here: `list_of(parsed(parse_task_id))`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from enum import Enum
from typing import TypeAlias, TypeVar

from claims.board.node import Malformed, Node, describe, find_unprintable

T = TypeVar("T")
E = TypeVar("E", bound=Enum)
Reading: TypeAlias = Callable[[Node], T]


class Fields:
    """A mapping's keys, asked for one by one. `what` names the mapping in messages, as in `the task`."""

    __slots__ = ("_entries", "_line", "_what")

    def __init__(self, entries: dict[str, Node], line: int, what: str, known: Collection[str]) -> None:
        self._entries = entries
        self._line = line
        self._what = what
        for key, node in entries.items():
            if key not in known and not key.startswith("x-"):
                raise Malformed(node.line, f"{what} has no key `{key}`", _suggest(key, known))

    def required(self, key: str, reading: Reading[T]) -> T:
        """The value of `key`. Raises Malformed where it is missing or of the wrong type."""
        if key not in self._entries:
            raise Malformed(self._line, f"{self._what} lacks `{key}`", f"add a line `{key}: …`")
        return self._read(key, reading)

    def optional(self, key: str, reading: Reading[T], default: T) -> T:
        """The value of `key`, or `default` where it is missing. Raises Malformed where it is of the wrong type."""
        return self._read(key, reading) if key in self._entries else default

    def line(self, key: str) -> int:
        """The line of `key`, or where it is missing of the mapping."""
        return self._entries[key].line if key in self._entries else self._line

    def _read(self, key: str, reading: Reading[T]) -> T:
        try:
            return reading(self._entries[key])
        except Malformed as wrong:
            raise Malformed(wrong.line, f"`{key}`: {wrong.message}", wrong.hint) from None


def mapping(node: Node, what: str, known: Collection[str]) -> Fields:
    """The node as a mapping with the `known` keys."""
    if not isinstance(node.value, dict):
        raise wrong_type(node, "a mapping")
    return Fields(node.value, node.line, what, known)


def line_of_text(node: Node) -> str:
    """Text on one line that is not blank, without control characters."""
    value = text(node)
    if not value.strip() or "\n" in value or "\t" in value:
        raise Malformed(node.line, f"expected text on one line, found {value!r}")
    return value


def text(node: Node) -> str:
    """Text, possibly of several lines, without control characters."""
    if not isinstance(node.value, str):
        hint = "put it in quotes" if isinstance(node.value, (bool, int, float, dict)) else None
        raise wrong_type(node, "text", hint)
    found = find_unprintable(node.value)
    if found is not None:
        raise Malformed(node.line, f"the character U+{ord(found.group()):04X} in text")
    return node.value


def scalar(node: Node) -> str | None:
    """Whatever is neither list nor mapping, as text; numbers and truth values as YAML writes them."""
    if isinstance(node.value, (list, dict)):
        raise wrong_type(node, "a single value")
    if node.value is None or isinstance(node.value, str):
        return None if node.value is None else text(node)
    return str(node.value).lower()


def boolean(node: Node) -> bool:
    if not isinstance(node.value, bool):
        raise wrong_type(node, "true or false")
    return node.value


def integer(lowest: int, highest: int) -> Reading[int]:
    """A whole number from `lowest` to `highest`."""

    def read(node: Node) -> int:
        if not isinstance(node.value, int) or isinstance(node.value, bool):
            raise wrong_type(node, "a whole number")
        if not lowest <= node.value <= highest:
            raise Malformed(node.line, f"expected {lowest} to {highest}, found {node.value}")
        return node.value

    return read


def parsed(parse: Callable[[str], T]) -> Reading[T]:
    """Text that `parse` turns into a value or refuses with ValueError."""

    def read(node: Node) -> T:
        try:
            return parse(text(node))
        except Malformed:
            raise
        except ValueError as refused:
            raise Malformed(node.line, str(refused)) from None

    return read


def one_of(choices: type[E]) -> Reading[E]:
    """One of an enumeration's values."""
    by_value = {choice.value: choice for choice in choices}

    def read(node: Node) -> E:
        value = text(node)
        if value not in by_value:
            raise Malformed(node.line, f"expected one of {', '.join(by_value)}, found {value!r}")
        return by_value[value]

    return read


def list_of(reading: Reading[T]) -> Reading[tuple[T, ...]]:
    """A list, each item of which `reading` reads."""

    def read(node: Node) -> tuple[T, ...]:
        if not isinstance(node.value, list):
            raise wrong_type(node, "a list")
        return tuple(reading(item) for item in node.value)

    return read


def distinct(reading: Reading[T]) -> Reading[tuple[T, ...]]:
    """A list in which what comes twice counts once."""
    read_all = list_of(reading)
    return lambda node: tuple(dict.fromkeys(read_all(node)))


def wrong_type(node: Node, expected: str, hint: str | None = None) -> Malformed:
    found = describe(node.value)
    if isinstance(node.value, str):
        found += f" ({node.value[:40]!r})"
    return Malformed(node.line, f"expected {expected}, found {found}", hint)


def _suggest(key: str, known: Collection[str]) -> str:
    # Imported here: it is slow to load, and this is the way out.
    import difflib

    close = difflib.get_close_matches(key, known, 1)
    return f"did you mean `{close[0]}`?" if close else f"it may have: {', '.join(known)}; your own keys begin with x-"
