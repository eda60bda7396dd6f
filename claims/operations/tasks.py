"""`swarm tasks`: the queued tasks on base, each claimable or why not, by priority."""

from __future__ import annotations

from typing import Any

from claims.admission import Candidate, Situation, readiness
from claims.arbiter import Arbiter
from claims.board.task import State, Task
from claims.errors import SwarmError
from claims.git_tree import board_at
from claims.names import TaskId
from claims.operations.candidate import candidate_of, kinds_of_held
from claims.session import Session
from claims.values import dataclass


@dataclass(frozen=True, slots=True)
class Queued:
    """A queued task; `title` and `priority` are None where its file does not read."""

    task: TaskId
    title: str | None
    priority: str | None
    reasons: tuple[SwarmError, ...]

    @property
    def ready(self) -> bool:
        return not self.reasons

    def to_json(self) -> dict[str, Any]:
        reasons = [{"code": one.code, "message": one.message, "hint": one.hint} for one in self.reasons]
        return {
            "task": self.task,
            "title": self.title,
            "priority": self.priority,
            "ready": self.ready,
            "reasons": reasons,
        }


def tasks(session: Session, arbiter: Arbiter, *, ready: bool) -> list[Queued]:
    """Every queued task with the reasons why `session.agent` (or nobody in particular) cannot claim it now."""
    reading = arbiter.read()
    board = board_at(session, reading.base)
    ids = board.ids_in(State.QUEUED)
    board.prefetch()
    files = board.tasks(dict.fromkeys(ids, State.QUEUED))
    needed = [other for task in files.values() if isinstance(task, Task) for other in task.depends_on]
    # In one batch; whoever asks for a single place from now on is answered from it.
    board.places_of([*ids, *needed])
    config = board.config
    situation = Situation(reading.ledger, (), kinds_of_held(board, reading.ledger, config), arbiter.remote)
    found = [_queued(session, candidate_of(board, task), files[task], situation) for task in ids]
    shown = [one for one in found if one.ready or not ready]
    return sorted(shown, key=lambda one: (one.priority or "p9", one.task))


def _queued(session: Session, candidate: Candidate, file: Task | SwarmError, situation: Situation) -> Queued:
    reasons = tuple(readiness(candidate, session.agent, situation, branch=session.branch))
    if isinstance(file, Task):
        return Queued(file.id, file.title, file.priority.value, reasons)
    return Queued(candidate.id, None, None, reasons)
