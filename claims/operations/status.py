"""`swarm status`: who holds what, and where one stands. Writes nothing but the mirror."""

from __future__ import annotations

from typing import Any

from claims import clock
from claims.arbiter import Arbiter
from claims.board.board import Board
from claims.board.task import State
from claims.errors import SwarmError
from claims.git_tree import board_at
from claims.ledger import Entry, Ledger
from claims.names import ObjectId, branch_ref
from claims.notice import Notice
from claims.operations import overlap
from claims.operations.result import entry_json
from claims.session import Session
from claims.values import dataclass


@dataclass(frozen=True, slots=True)
class Status:
    """What `status` tells, JSON-ready. `claim` is this branch's; `ahead` and `behind` are commits, None: unknown."""

    agent: str | None
    branch: str | None
    claim: dict[str, Any] | None
    ahead: int | None
    behind: int | None
    base: dict[str, Any]
    plan: dict[str, Any] | None
    claims: list[dict[str, Any]]
    finished: list[dict[str, Any]]
    overlaps: list[dict[str, Any]]
    counts: dict[str, int]
    notices: tuple[Notice, ...] = ()

    def to_json(self) -> dict[str, Any]:
        value = {name: getattr(self, name) for name in self.__slots__ if name != "notices"}
        return {**value, "warnings": [notice.to_json() for notice in self.notices]}


def status(session: Session, arbiter: Arbiter) -> Status:
    """Read everything that is claimed, in one fetch where a remote arbitrates."""
    reading = arbiter.read()
    ledger, board = reading.ledger, board_at(session, reading.base)
    claims = _claims(ledger)
    mine = next((entry for entry in claims if entry.claim is not None and entry.claim.branch == session.branch), None)
    ahead, behind = _distance(session, reading.base)
    notices: list[Notice] = []
    plan = _plan(board, notices)
    shared = overlap.pairs(session, board, ledger)
    return Status(
        agent=session.agent,
        branch=session.branch,
        claim=entry_json(mine, ledger, arbiter.remote) if mine is not None else None,
        ahead=ahead,
        behind=behind,
        base={"branch": session.base, "commit": reading.base, "remote": arbiter.remote},
        plan=plan,
        claims=[entry_json(entry, ledger, arbiter.remote) for entry in claims],
        finished=_finished(ledger, board, arbiter.remote),
        overlaps=[{"task": task, **_without_task(one.notice(task))} for task, one in shared],
        counts={state.value: number for state, number in board.counts().items()},
        notices=(*notices, *_ahead_of_us(ledger), *_unpublished(ledger)),
    )


def _claims(ledger: Ledger) -> list[Entry]:
    """Held claims and those that do not read, in order of task id; locks, slots and odd names that do not come last."""
    malformed = [entry for entry in ledger.claims.values() if entry.claim is None]
    named = sorted([*ledger.held(), *malformed], key=lambda entry: entry.ref)
    keys = sorted((entry for entry in ledger.keys.values() if entry.claim is None), key=lambda entry: entry.ref)
    return [*named, *keys, *ledger.odd]


def _finished(ledger: Ledger, board: Board, remote: str | None) -> list[dict[str, Any]]:
    """The completion records, and of each whether base has the task as done."""
    found = {
        task: entry
        for task, entry in ledger.claims.items()
        if entry.claim is not None and entry.claim.closed is not None
    }
    states = board.states_of(found) if found else {}
    return [
        entry_json(entry, ledger, remote, merged=states[task] is State.DONE) for task, entry in sorted(found.items())
    ]


def _plan(board: Board, notices: list[Notice]) -> dict[str, Any] | None:
    """The plan's revision and status. A board that does not read is told, and does not hide who holds what."""
    try:
        plan = board.plan
    except SwarmError as error:
        notices.append(Notice(error.code, error.message))
        return None
    return None if plan is None else {"revision": plan.revision, "status": plan.status.value}


def _distance(session: Session, base: ObjectId) -> tuple[int | None, int | None]:
    """Commits that the branch has and base lacks, and the other way round."""
    if session.branch is None:
        return None, None
    tip = session.objects.info([branch_ref(session.branch)])[0]
    if tip is None:
        return None, None
    if tip.id == base:
        return 0, 0
    counted = session.git.run("rev-list", "--left-right", "--count", f"{tip.id}...{base}", ok=(0, 128))
    if counted.code != 0:
        return None, None
    ahead, behind = counted.out.split()
    return int(ahead), int(behind)


def _without_task(notice: Notice) -> dict[str, Any]:
    return {name: value for name, value in notice.details.items() if name != "task"}


def _ahead_of_us(ledger: Ledger) -> list[Notice]:
    claims = [entry.claim for entry in ledger.held() if entry.claim is not None]
    return [
        Notice(
            "clock-skew",
            f"{claim.task} was claimed by {claim.agent} at {clock.format_instant(claim.claimed_at)}, "
            "which is ahead of this clock by more than five minutes",
            {"task": claim.task, "claimedAt": clock.format_instant(claim.claimed_at)},
        )
        for claim in claims
        if claim.claimed_at > ledger.now + clock.MAX_SKEW
    ]


def _unpublished(ledger: Ledger) -> list[Notice]:
    from claims.operations.claim import unpublished_notices

    return unpublished_notices(ledger, None)
