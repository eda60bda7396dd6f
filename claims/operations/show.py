"""`swarm show`: one task whole: its file, its claim, and how its last claim ended."""

from __future__ import annotations

from typing import Any

from claims.admission import Situation, readiness
from claims.arbiter import Arbiter, Reading
from claims.board.board import NotAFile
from claims.board.task import State, task_path
from claims.errors import Refused, SwarmError
from claims.git_tree import GitTree, board_at
from claims.ledger import Entry, Ledger
from claims.names import TaskId
from claims.operations.candidate import kinds_of_held, read_candidate
from claims.operations.result import claim_json, entry_json
from claims.record import closed_to_json
from claims.session import Session
from claims.values import dataclass

#: The states of a task whose ended claims are not archived.
_OPEN = (State.BACKLOG, State.QUEUED, State.BLOCKED)
#: Archived entries that are looked at for one that reads.
_LOOKED_AT = 10


@dataclass(frozen=True, slots=True)
class Shown:
    """A task as base has it. `file` is its text; `reasons` say why it cannot be claimed now."""

    task: TaskId
    state: str | None
    path: str | None
    file: str | None
    claim: dict[str, Any] | None
    last: dict[str, Any] | None
    reasons: tuple[SwarmError, ...]

    def to_json(self) -> dict[str, Any]:
        reasons = [{"code": one.code, "message": one.message, "hint": one.hint} for one in self.reasons]
        return {
            "task": self.task,
            "state": self.state,
            "path": self.path,
            "file": self.file,
            "claim": self.claim,
            "last": self.last,
            "ready": not self.reasons,
            "reasons": reasons,
        }


def show(session: Session, arbiter: Arbiter, task: TaskId) -> Shown:
    """Read a task and its claims. Raises Refused `task-unknown` where neither base nor a claim, ever, knows it."""
    reading = arbiter.read([task])
    ledger = reading.ledger
    board = board_at(session, reading.base)
    candidate = read_candidate(board, task)
    entry = ledger.held_on(task) or _standing(ledger, task)
    last = _last_end(session, ledger, task, candidate.state)
    if candidate.state is None and entry is None and last is None:
        raise Refused("task-unknown", f"neither base nor a claim knows {task}", "swarm tasks")
    path = task_path(task, candidate.state) if candidate.state is not None else None
    data = _content(session, reading, path) if path is not None else None
    merged = candidate.state is State.DONE
    situation = Situation(ledger, (), kinds_of_held(board, ledger, candidate.config), arbiter.remote)
    return Shown(
        task=task,
        state=candidate.state.value if candidate.state is not None else None,
        path=path,
        file=data.decode("utf-8", "replace") if data is not None else None,
        claim=entry_json(entry, ledger, arbiter.remote, merged=merged) if entry is not None else None,
        last=last,
        reasons=tuple(readiness(candidate, session.agent, situation, branch=session.branch)),
    )


def _content(session: Session, reading: Reading, path: str) -> bytes | None:
    try:
        return GitTree(session, reading.base).read([path])[0]
    except NotAFile:
        return None  # which is among the reasons


def _standing(ledger: Ledger, task: TaskId) -> Entry | None:
    """What stands at the claim ref: a completion record, or what does not read. Not what is left of an ended claim."""
    entry = ledger.claims.get(task)
    return None if entry is None or (entry.claim is not None and ledger.has_ended(entry.claim)) else entry


def _last_end(session: Session, ledger: Ledger, task: TaskId, state: State | None) -> dict[str, Any] | None:
    """How the last claim ended, of those in the log; else, where one may be expected there, of those in the archive.

    prune archives what is over. To look there costs a fetch where a remote has it, so not for a task to be done.
    """
    ended = [old.claim for old in ledger.logs.get(task, ()) if old.claim is not None and old.claim.closed is not None]
    if ended:
        claim = ended[-1]
        assert claim.closed is not None
        return {**claim_json(claim), "closed": closed_to_json(claim.closed)}
    if session.remote is not None and state in _OPEN:
        return None
    from contextlib import closing

    from claims.arbiter.history import open_history
    from claims.operations.log import log

    with closing(open_history(session)) as history:
        found = log(history, task, _LOOKED_AT, ledger.now)
    return next((entry for entry in found.entries if "closed" in entry), None)
