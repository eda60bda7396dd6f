"""`swarm reopen`: a finished task may be claimed again; its pull request was closed, or the task went another way."""

from __future__ import annotations

from claims.arbiter import Arbiter, Reading
from claims.errors import Refused
from claims.ledger import carrying
from claims.names import TaskId, claim_ref
from claims.operations.attempt import Done, Step, carry_out
from claims.operations.replacing import log_edits
from claims.operations.result import ClaimResult
from claims.record import Claim, Closed, close
from claims.session import Session
from claims.transaction import Edit, ordered


def reopen(session: Session, arbiter: Arbiter, task: TaskId, reason: str) -> ClaimResult:
    """Delete the completion record and log `reopened`. Raises Refused `nothing-to-reopen`."""
    session.needs_arbiter()
    sent: list[Claim] = []

    def decide(reading: Reading) -> Done[ClaimResult] | Step[ClaimResult]:
        ledger = reading.ledger
        at = ledger.claims.get(task)
        logged = next((one for one in sent if ledger.has_ended(one)), None)
        if at is None or at.claim is None or at.claim.closed is None:
            if logged is not None:
                return Done(_result(logged))
            held = ledger.held_on(task)
            who = f"it is held by {held.claim.agent}" if held is not None and held.claim else "nobody finished it"
            raise Refused("nothing-to-reopen", f"{task} has no completion record: {who}", f"swarm show {task}")
        finished = at.claim
        closed = Closed(
            ledger.next_instant(task), session.agent or "unknown", "reopened", reason, at.claim.closed.commit
        )
        record = close(finished, closed, carrying(ledger.owed(finished)))
        ends = [] if ledger.has_ended(finished) else [record]
        sent.append(record)
        edits = log_edits(arbiter, ledger, [*ledger.owed(finished), finished, *ends])
        edits.append(Edit(claim_ref(task), at.id, None))
        edits += [Edit(entry.ref, entry.id, None) for _, entry in ledger.keys_carrying(finished)]
        return Step(ordered(edits, claim_first=True), _result(record))

    return carry_out(arbiter, [task], decide, session.clock)


def _result(record: Claim) -> ClaimResult:
    return ClaimResult(record, claim_ref(record.task), "reopened", 0)
