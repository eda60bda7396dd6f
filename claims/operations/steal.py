"""`swarm steal`: take a task over from a claim whose lease has run out."""

from __future__ import annotations

from dataclasses import replace

from claims.admission import deletion_command, finished_elsewhere, held_message, malformed_message
from claims.arbiter import Arbiter, Reading
from claims.clock import format_instant
from claims.errors import Conflict, Refused, SwarmError
from claims.ledger import Entry, Ledger, carrying
from claims.names import TaskId, branch_ref
from claims.operations.attempt import Step, carry_out
from claims.operations.claim import Held, result_of
from claims.operations.replacing import Request, Writer, blob_of, edits_for
from claims.operations.result import ClaimResult
from claims.record import Claim, Closed, close
from claims.session import Session


def steal(session: Session, arbiter: Arbiter, request: Request) -> ClaimResult:
    """Replace an expired claim by one's own: full admission, the old one logged as `stolen`, in one transaction.

    Raises `claim-live` for a lease that runs, `claim-not-found` where nobody holds the task, and every refusal.
    """
    session.needs_arbiter()
    writer = Writer(session, arbiter, request)

    def decide(reading: Reading) -> Step[Held]:
        old = _expired_claim(reading.ledger, request.task, arbiter)
        admitted = writer.admit(reading, old)
        attempt = writer.compose(admitted)
        ledger = admitted.situation.ledger
        tip = session.objects.info([branch_ref(old.branch)])[0]
        closed = Closed(
            attempt.claim.claimed_at, attempt.claim.agent, "stolen", None, tip.id if tip is not None else None
        )
        record = close(old, closed, carrying(ledger.owed(old)))
        claim = replace(attempt.claim, replaced=record)
        blob = blob_of(arbiter, claim)
        aside = admitted.situation.aside
        return Step(edits_for(arbiter, admitted, claim, blob, aside, [record]), Held(claim, reading), (claim, blob))

    try:
        held = carry_out(arbiter, [request.task], decide, session.clock)
    except SwarmError as error:
        writer.give_up(error)
        raise
    writer.settle(held.claim)
    return result_of(session, held.claim, held.reading)


def _expired_claim(ledger: Ledger, task: TaskId, arbiter: Arbiter) -> Claim:
    at = ledger.claims.get(task)
    if at is not None and at.claim is None:
        raise malformed_message(at, task, arbiter.remote)
    finished = finished_elsewhere(ledger, task)
    if finished is not None:
        raise finished
    entry = ledger.held_on(task)
    if entry is None or entry.claim is None:
        raise Refused(
            "claim-not-found", f"nobody holds {task}: there is nothing to steal", f"swarm claim {task} --agent NAME"
        )
    if arbiter.remote is not None and not entry.published:
        held = held_message(entry, ledger)
        raise Conflict(held.code, held.message, "swarm reap", held.details)
    if not entry.claim.expired(ledger.now):
        raise _live(entry, ledger, arbiter)
    return entry.claim


def _live(entry: Entry, ledger: Ledger, arbiter: Arbiter) -> SwarmError:
    claim = entry.claim
    assert claim is not None
    entries = [entry, *(at for _, at in ledger.keys_carrying(claim))]
    until = format_instant(claim.expires_at)
    return Conflict(
        "claim-live",
        f"{claim.task} is held by {claim.agent} on {claim.branch} until {until}: only an operator may end it",
        deletion_command(entries, arbiter.remote),
        {"task": claim.task, "agent": claim.agent, "branch": claim.branch, "expiresAt": until},
    )
