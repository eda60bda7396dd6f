"""`swarm steal`: take a task over from a claim whose lease has run out."""

from __future__ import annotations

from claims.admission import deletion_command, finished_elsewhere, held_message, malformed_message
from claims.arbiter import Arbiter, Reading
from claims.clock import format_instant
from claims.errors import Conflict, Refused, SwarmError
from claims.git_tree import board_at
from claims.ledger import Entry, Ledger, carrying
from claims.names import TaskId, branch_ref
from claims.operations.attempt import Done, Step
from claims.operations.claim import Held, Taking, decide_claim, take
from claims.operations.replacing import Request, blob_of, edits_for, refuse_too_large
from claims.operations.result import ClaimResult
from claims.record import Claim, Closed, close
from claims.session import Session
from claims.values import replace


def steal(session: Session, arbiter: Arbiter, request: Request) -> ClaimResult:
    """Replace an expired claim by one's own: full admission, the old one logged as `stolen`, in one transaction.

    Raises `claim-live` for a lease that runs, `claim-not-found` where nobody holds the task, and every refusal.
    """
    return take(session, arbiter, request, _decide)


def _decide(taking: Taking, reading: Reading) -> Done[Held] | Step[Held]:
    session, arbiter, writer, task = taking.session, taking.arbiter, taking.writer, taking.request.task
    if _is_own_and_live(taking, reading.ledger) or _is_over(reading.ledger, task):
        # Stolen before, by an attempt whose answer was lost or of which only a part is there: the same as for claim.
        return decide_claim(taking, reading)
    old = _expired_claim(taking, reading)
    admitted = writer.admit(reading, old)
    attempt = writer.compose(admitted)
    ledger = admitted.situation.ledger
    tip = session.objects.info([branch_ref(old.branch)])[0]
    closed = Closed(attempt.claim.claimed_at, attempt.claim.agent, "stolen", None, tip.id if tip is not None else None)
    record = close(old, closed, carrying(ledger.owed(old)))
    refuse_too_large(taking.arbiter, ledger, record)
    claim = replace(attempt.claim, replaced=record)
    blob = blob_of(arbiter, claim)
    aside = admitted.situation.aside
    return Step(edits_for(arbiter, admitted, claim, blob, aside, [record]), Held(claim, reading), (claim, blob))


def _is_own_and_live(taking: Taking, ledger: Ledger) -> bool:
    entry = ledger.held_on(taking.request.task)
    if entry is None or entry.claim is None or (taking.arbiter.remote is not None and not entry.published):
        return False
    return entry.claim.token_hash in taking.writer.mine() and not entry.claim.expired(ledger.now)


def _is_over(ledger: Ledger, task: TaskId) -> bool:
    """Whether the log shows how the claim ended whose ref is still there."""
    at = ledger.claims.get(task)
    return at is not None and at.claim is not None and ledger.has_ended(at.claim)


def _expired_claim(taking: Taking, reading: Reading) -> Claim:
    session, arbiter, task, ledger = taking.session, taking.arbiter, taking.request.task, reading.ledger
    at = ledger.claims.get(task)
    if at is not None and at.claim is None:
        raise malformed_message(at, task, arbiter.remote)
    if ledger.finished_on(task) is not None:
        state = board_at(session, reading.base).states_of([task])[task]
        finished = finished_elsewhere(ledger, task, state, session.branch, arbiter.remote)
        assert finished is not None
        raise finished
    entry = ledger.held_on(task)
    if entry is None or entry.claim is None:
        hint = f"swarm claim {task} --agent {taking.writer.applicant.agent}"
        raise Refused("claim-not-found", f"nobody holds {task}: there is nothing to steal", hint)
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
        "swarm tasks --ready",
        {
            "task": claim.task,
            "agent": claim.agent,
            "branch": claim.branch,
            "expiresAt": until,
            "operator": deletion_command(entries, arbiter.remote),
        },
    )
