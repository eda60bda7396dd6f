"""Decision records: what was decided, and what was rejected for it. board.md, "Decision"."""

from __future__ import annotations

import re
from datetime import date
from enum import Enum

from claims import clock
from claims.board import fields
from claims.board.node import Malformed, Node
from claims.board.strict_yaml import split_front_matter
from claims.names import parse_slug
from claims.values import dataclass

FOLDER = ".agents/decisions"
CODE = "malformed-task"

_KEYS = ("id", "title", "status", "date", "rejected")
_NAME = re.compile(r"([0-9]{4})-(.+)\.md")


class DecisionStatus(str, Enum):
    PROPOSED = "proposed"
    ACCEPTED = "accepted"
    SUPERSEDED = "superseded"


@dataclass(frozen=True, slots=True)
class Rejected:
    """An alternative that was not taken, and why."""

    alternative: str
    why: str


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision as its file says it; `number` is the one in the file's name. At least one thing was rejected."""

    number: int
    id: str
    title: str
    status: DecisionStatus
    date: date
    rejected: tuple[Rejected, ...]


def number_of(name: str) -> int:
    """The number of a decision by its file's name, `<nnnn>-<slug>.md`. Raises ValueError for another name."""
    match = _NAME.fullmatch(name)
    if match is None:
        raise ValueError(f"{name!r} is not named <nnnn>-<slug>.md")
    parse_slug(match.group(2))
    return int(match.group(1))


def parse_decision(data: bytes, path: str) -> Decision:
    """Read a decision; `path` ends in its name. Raises Undecided("malformed-task") with `path:line: …`."""
    name = path.rpartition("/")[2]
    front = split_front_matter(data, path, CODE)
    try:
        known = fields.Fields(front.root, 1, "a decision", _KEYS)
        decision = Decision(
            number=_number(name),
            id=known.required("id", _id),
            title=known.required("title", fields.line_of_text),
            status=known.required("status", fields.one_of(DecisionStatus)),
            date=known.required("date", fields.parsed(clock.parse_date)),
            rejected=known.required("rejected", fields.list_of(_rejected)),
        )
        if not decision.rejected:
            raise Malformed(known.line("rejected"), "`rejected` is empty: what rejected nothing decided nothing")
        if decision.id not in _ids_of(name):
            raise Malformed(known.line("id"), f"`id`: {decision.id!r}, but the file is named {name}")
        return decision
    except Malformed as wrong:
        raise wrong.at(path, CODE) from None


def _number(name: str) -> int:
    try:
        return number_of(name)
    except ValueError as error:
        raise Malformed(1, str(error)) from None


def _id(node: Node) -> str:
    """The number or the name; a number without quotes is read as one, so that its zeros are gone."""
    text = fields.scalar(node)
    if text is None:
        raise fields.wrong_type(node, "the number or the name of the file")
    return text


def _ids_of(name: str) -> tuple[str, ...]:
    stem = name.removesuffix(".md")
    digits = stem[:4]
    return stem, digits, str(int(digits)), f"D-{digits}"


def _rejected(node: Node) -> Rejected:
    known = fields.mapping(node, "a rejected alternative", ("alternative", "why"))
    return Rejected(known.required("alternative", fields.text), known.required("why", fields.text))
