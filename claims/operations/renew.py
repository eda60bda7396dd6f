"""`swarm renew`: make the lease of one's claim longer, or end it now."""

from __future__ import annotations

from datetime import datetime, timedelta

from claims import tokens
from claims.admission import Situation, lock_held
from claims.arbiter import Arbiter, Reading
from claims.errors import Refused, first_of
from claims.git_tree import board_at
from claims.ledger import Entry, Ledger, carrying, keys_of
from claims.names import ObjectId, TaskId, claim_ref
from claims.operations import overlap
from claims.operations.attempt import Done, Step, carry_out
from claims.operations.holding import not_published, own_entry
from claims.operations.replacing import blob_of, log_edits
from claims.operations.result import ClaimResult, remaining, state_of
from claims.operations.support import objections
from claims.record import Claim
from claims.session import Session
from claims.transaction import Edit, Transaction, ordered
from claims.values import dataclass, replace


@dataclass(frozen=True, slots=True)
class _Renewed:
    claim: Claim
    reading: Reading
    already: bool = False


def renew(session: Session, arbiter: Arbiter, task: TaskId, minutes: int | None, *, at_least: int = 0) -> ClaimResult:
    """Move `expiresAt` to now and `minutes` (None: as configured, but `at_least`), never before `claimedAt`.

    Raises `plan-moved`, `task-changed`, `task-not-queued` where base no longer supports the claim, `lock-held` where
    one of its locks has become another's, and the four answers of `own_entry`.
    """
    session.needs_arbiter()

    def decide(reading: Reading) -> Done[_Renewed] | Step[_Renewed]:
        ledger = reading.ledger
        entry = own_entry(session, ledger, task, arbiter.remote)
        held = entry.claim
        assert held is not None
        if arbiter.remote is not None and not entry.published:
            raise not_published(held, arbiter.remote)
        board = board_at(session, reading.base)
        reasons = objections(board, held)
        if reasons:
            raise first_of(reasons)
        lease = minutes if minutes is not None else max(board.config.lease_minutes, at_least)
        until = max(ledger.now + timedelta(minutes=lease), held.claimed_at)
        if until == held.expires_at and ledger.whole(entry):
            return Done(_Renewed(held, reading, already=True))
        moved, blob, transaction = renewal(arbiter, ledger, entry, until)
        for token in session.tokens_for(task):
            if token.hash == held.token_hash:
                tokens.unsettle(token)
        return Step(transaction, _Renewed(moved, reading), (moved, blob), held.expires_at)

    # What ends in an error leaves the token as it is: something of it, or of an earlier command, may not be answered.
    done = carry_out(arbiter, [task], decide, session.clock)
    for token in session.tokens_for(task):
        if token.hash == done.claim.token_hash and not done.already:
            tokens.settle(token)
    now = replace(done.reading.ledger, now=session.clock())
    if minutes != 0 and done.claim.expired(now.now):
        message = f"the lease of {task} ran out again while it was being renewed"
        raise Refused("claim-expired", message, f"swarm renew {task}")
    notices = overlap.notices(session, board_at(session, done.reading.base), task, done.reading.ledger)
    return ClaimResult(
        done.claim, claim_ref(task), state_of(done.claim, now), remaining(done.claim, now), done.already, tuple(notices)
    )


def renewal(arbiter: Arbiter, ledger: Ledger, entry: Entry, until: datetime) -> tuple[Claim, ObjectId, Transaction]:
    """The claim with another end of its lease, its blob, and the compare-and-swap over all its refs.

    A lock that is missing is created, absence expected; one that has become another's refuses (rule 6).
    """
    held = entry.claim
    assert held is not None
    owed = ledger.owed(held)
    moved = replace(held, expires_at=_unlike(until, ledger, entry), replaced=carrying(owed))
    blob = blob_of(arbiter, moved)
    edits = log_edits(arbiter, ledger, owed)
    for key in keys_of(held):
        at = ledger.entry_at(key.ref)
        if at is not None and (at.claim is None or not at.claim.same_claim(held)):
            raise lock_held(key, at, Situation(ledger, (held,), {}, arbiter.remote))
        edits.append(Edit(key.ref, at.id if at is not None else None, blob))
    edits.append(Edit(claim_ref(held.task), entry.id, blob))
    return moved, blob, ordered(edits)


def _unlike(until: datetime, ledger: Ledger, entry: Entry) -> datetime:
    """`until`, or a little later where a ref has a blob that ends then: what is there already would not be swapped."""
    assert entry.claim is not None
    there = {entry.claim.expires_at}
    there.update(at.claim.expires_at for _, at in ledger.keys_carrying(entry.claim) if at.claim is not None)
    while until in there:
        until += timedelta(milliseconds=1)
    return until
