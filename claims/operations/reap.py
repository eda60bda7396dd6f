"""`swarm reap`: clear away expired claims, debris of killed processes, and completion records that base has merged."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from claims.arbiter import Arbiter, Reading, Verdict
from claims.arbiter.choose import arbiter_of_unpublished
from claims.board.task import State
from claims.errors import SwarmError, Undecided
from claims.git_tree import board_at
from claims.ledger import Entry, Key, Ledger, carrying, keys_of
from claims.names import LOG, LockKey, RefName, TaskId, claim_ref, task_and_stamp_of_log_ref
from claims.notice import Notice
from claims.operations.attempt import TRIES, busy, jitter, rejected
from claims.operations.replacing import log_edits, too_large
from claims.operations.result import claim_json
from claims.record import Claim, Closed, close
from claims.session import Session
from claims.transaction import Edit, Transaction, ordered
from claims.values import dataclass, field


@dataclass(slots=True)
class Reaped:
    """What was archived as expired, what was deleted because it was over before, what stays and for what reason."""

    reaped: list[dict[str, object]] = field(default_factory=list)
    deleted: list[dict[str, object]] = field(default_factory=list)
    skipped: list[dict[str, object]] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Item:
    """One thing to clear away: how to tell of it, where, and the transaction (built when its turn comes).

    `fault` says why it cannot be.
    """

    kind: str
    facts: dict[str, object]
    build: Callable[[], Transaction]
    fault: SwarmError | None = None


def reap(session: Session, arbiter: Arbiter, reason: str | None, *, dry_run: bool) -> Reaped:
    """Clear away, a transaction each; whatever moved meanwhile is skipped, and anyone may."""
    if not dry_run:
        session.needs_arbiter()
    result = Reaped()
    reading = _with_logs(arbiter)
    _clear(arbiter, _items(session, arbiter, reading, reason), result, dry_run)
    if arbiter.remote is not None and any(entry.claim for entry in reading.ledger.local.values()):
        own = arbiter_of_unpublished(session)
        local = _with_logs(own)
        unpublished = {entry.claim.identity for entry in reading.ledger.local.values() if entry.claim is not None}
        items = [item for item in _items(session, own, local, reason) if item.facts.get("identity") in unpublished]
        _clear(own, items, result, dry_run)
    return result


def _with_logs(arbiter: Arbiter) -> Reading:
    """Read twice: which tasks have refs, then those refs again with the tasks' logs, which tell what has ended."""
    first = arbiter.read()
    entries = (*first.ledger.keys.values(), *first.ledger.local.values())
    tasks = sorted({*first.ledger.claims, *(entry.claim.task for entry in entries if entry.claim is not None)})
    if not tasks:
        return first
    reading = arbiter.read(tasks)
    # Debris is judged by claim refs that were read after the lock refs.
    return arbiter.read_claims_again(reading) if reading.ledger.keys else reading


def _clear(arbiter: Arbiter, items: Iterable[_Item], result: Reaped, dry_run: bool) -> None:
    for item in items:
        told = {name: value for name, value in item.facts.items() if name != "identity"}
        if item.fault is not None:
            result.skipped.append({"kind": item.kind, **told, "reason": item.fault.message})
            result.notices.append(_notice(item.fault))
        elif dry_run or _made(arbiter, item.build()):
            (result.reaped if item.kind == "expired" else result.deleted).append({"kind": item.kind, **told})
        else:
            result.skipped.append({"kind": item.kind, **told, "reason": "it moved meanwhile"})


def _notice(fault: SwarmError) -> Notice:
    message = f"{fault.message}; hint: {fault.hint}" if fault.hint else fault.message
    return Notice(fault.code, message, {**fault.details, "hint": fault.hint})


def _made(arbiter: Arbiter, transaction: Transaction, pause: Callable[[float], None] = time.sleep) -> bool:
    """Make it; False where it moved meanwhile. Raises `remote-rejected`, `remote-unreachable` or `busy` else."""
    logs = {task_and_stamp_of_log_ref(edit.ref)[0] for edit in transaction.edits if edit.ref.startswith(LOG)}
    for tried in range(1, TRIES + 1):
        outcome = arbiter.apply(transaction)
        if outcome.verdict is Verdict.APPLIED:
            return True
        if outcome.verdict is Verdict.REJECTED:
            raise rejected(arbiter.remote, outcome)
        now = arbiter.read(sorted(logs)).ledger.ids()
        if all(now.get(edit.ref) == edit.new for edit in transaction.edits):
            return True
        if any(now.get(edit.ref) != edit.old for edit in transaction.edits):
            return False
        pause(jitter(tried))
    if outcome.verdict is Verdict.UNKNOWN:
        message = f"{outcome.words}: whether it was done is not known, and it may still be"
        raise Undecided("remote-unreachable", message, "swarm reap   # again: it is safe to")
    raise busy(arbiter.remote, outcome)


def _items(session: Session, arbiter: Arbiter, reading: Reading, reason: str | None) -> list[_Item]:
    ledger = reading.ledger
    finished = [
        task for task, entry in ledger.claims.items() if entry.claim is not None and entry.claim.closed is not None
    ]
    states = board_at(session, reading.base).states_of(finished) if finished else {}
    items: list[_Item] = []
    going: set[RefName] = set()
    for _, entry in sorted(ledger.claims.items()):
        kind = _kind_of(entry, ledger, states)
        if kind is not None and entry.claim is not None:
            items.append(_claim_item(session, arbiter, ledger, entry, kind, reason))
            going.update(at.ref for _, at in ledger.keys_carrying(entry.claim))
    return items + _debris(ledger, going)


def _kind_of(entry: Entry, ledger: Ledger, states: dict[TaskId, State | None]) -> str | None:
    claim = entry.claim
    if claim is None:
        return None
    if ledger.has_ended(claim):
        return "ended"
    if claim.closed is not None:
        return "merged" if states.get(claim.task) in (State.DONE, None) else None
    return "expired" if claim.expired(ledger.now) else None


def _claim_item(
    session: Session, arbiter: Arbiter, ledger: Ledger, entry: Entry, kind: str, reason: str | None
) -> _Item:
    claim = entry.claim
    assert claim is not None

    owed = ledger.owed(claim)
    ends: list[Claim] = [claim] if claim.closed is not None else []
    if kind == "expired":
        closed = Closed(ledger.next_instant(claim.task), session.agent or "unknown", "expired", reason, None)
        ends = [close(claim, closed, carrying(owed))]
    records = [*owed, *ends]

    def build() -> Transaction:
        edits = log_edits(arbiter, ledger, records)
        edits.append(Edit(claim_ref(claim.task), entry.id, None))
        edits += [Edit(at_key.ref, at_key.id, None) for _, at_key in ledger.keys_carrying(claim)]
        return ordered(edits, claim_first=True)

    fault = next(filter(None, (too_large(arbiter, ledger, one) for one in records)), None)
    return _Item(kind, {**claim_json(claim), "ref": entry.ref, "identity": claim.identity}, build, fault)


def _debris(ledger: Ledger, going: set[RefName]) -> list[_Item]:
    """Lock and slot refs that no claim takes, except those that go with their claim."""
    items: list[_Item] = []
    for ref, entry in sorted(ledger.keys.items()):
        if entry.claim is None or ref in going or ledger.taker(_key_of(entry.claim, ref)) is not None:
            continue
        facts: dict[str, object] = {
            "ref": ref,
            "task": entry.claim.task,
            "agent": entry.claim.agent,
            "identity": entry.claim.identity,
        }
        items.append(_Item("debris", facts, _deletion(ref, entry)))
    return items


def _deletion(ref: RefName, entry: Entry) -> Callable[[], Transaction]:
    return lambda: ordered([Edit(ref, entry.id, None)])


def _key_of(claim: Claim, ref: RefName) -> Key:
    """The key that a ref stands for, as the claim at it lists it."""
    return next((key for key in keys_of(claim) if key.ref == ref), Key(LockKey(""), ref))
