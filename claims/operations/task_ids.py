"""From what was typed to a task id: whole, or a unique prefix of it or of its hex digits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from claims.board.board import Board
from claims.board.task import State
from claims.errors import Refused, Usage
from claims.git import printable
from claims.ledger import Ledger
from claims.names import TaskId, parse_task_id

_SHORTEST = 4
#: The start of an id, or of its hex digits.
_SHORTENED = re.compile(r"T-[0-9]{1,8}|T-[0-9]{8}-[0-9a-f]{0,7}|[0-9a-f]{1,8}")
_NAMED = 20


def whole_id(text: str) -> TaskId | None:
    """`text` as a task id where it is one; None where it may be a shortened one. Raises Usage where it cannot be."""
    try:
        return parse_task_id(text)
    except ValueError as error:
        if len(text) < _SHORTEST or _SHORTENED.fullmatch(text) is None:
            raise Usage(
                "usage", f"{error}, or {_SHORTEST} or more characters from the start of it or its hex"
            ) from None
        return None


def resolve(text: str, board: Board, ledger: Ledger, elsewhere: Callable[[], Iterable[TaskId]] = lambda: ()) -> TaskId:
    """The one task on base or under claim that `text` shortens; only where there is none, one of those `elsewhere`.

    Raises `ambiguous-id` and `task-unknown`.
    """
    known = {task for state in State for task in board.ids_in(state)} | set(ledger.claims)
    found = the_one(text, known) or the_one(text, elsewhere())
    if found is None:
        raise Refused("task-unknown", f"no task on base or under claim begins with {printable(text)!r}", "swarm tasks")
    return found


def the_one(text: str, known: Iterable[TaskId]) -> TaskId | None:
    """The one of some tasks that `text` shortens; None where it shortens none. Raises `ambiguous-id`."""
    found = sorted(task for task in known if task.startswith(text) or task.rpartition("-")[2].startswith(text))
    if len(found) > 1:
        names = ", ".join(found[:_NAMED]) + (f" and {len(found) - _NAMED} more" if len(found) > _NAMED else "")
        raise Usage("ambiguous-id", f"{printable(text)!r} may be {names}", "write more of it", {"candidates": found})
    return found[0] if found else None
