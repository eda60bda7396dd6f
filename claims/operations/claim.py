"""`swarm claim`: take a task, all its locks and a slot, or nothing."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial

from claims.admission import held_message
from claims.arbiter import Arbiter, Reading
from claims.clock import format_instant
from claims.errors import Conflict, Refused, SwarmError
from claims.git_tree import board_at
from claims.ledger import Entry, Ledger, carrying
from claims.names import claim_ref
from claims.notice import Notice
from claims.operations import overlap
from claims.operations.attempt import Done, Step, carry_out
from claims.operations.left import work_before
from claims.operations.renew import renewal
from claims.operations.replacing import Request, Writer, blob_of, edits_for
from claims.operations.result import ClaimResult, remaining, state_of
from claims.record import Claim, Closed, close
from claims.session import Session
from claims.tokens import is_settled
from claims.values import dataclass, replace


@dataclass(frozen=True, slots=True)
class Held:
    """A claim that this command holds now, and the reading that it was decided on."""

    claim: Claim
    reading: Reading
    already: bool = False


@dataclass(frozen=True, slots=True)
class Taking:
    """What `claim` and `steal` decide with, reading by reading."""

    session: Session
    arbiter: Arbiter
    writer: Writer
    request: Request


def claim(session: Session, arbiter: Arbiter, request: Request) -> ClaimResult:
    """Claim a task. Raises every refusal of admission in one error.

    Asked again by the holder it says so and changes nothing; what a crash left of one's own is made whole.
    """
    return take(session, arbiter, request, decide_claim)


def take(
    session: Session, arbiter: Arbiter, request: Request, decide: Callable[[Taking, Reading], Done[Held] | Step[Held]]
) -> ClaimResult:
    """Carry out `decide`, and keep the token of what came of it; those of attempts that came to nothing are deleted."""
    session.needs_arbiter()
    taking = Taking(session, arbiter, Writer(session, arbiter, request), request)
    try:
        held = carry_out(arbiter, [request.task], partial(decide, taking), session.clock)
    except SwarmError as error:
        taking.writer.give_up(error)
        raise
    taking.writer.settle(held.claim)
    return _result(session, held, request)


def decide_claim(taking: Taking, reading: Reading) -> Done[Held] | Step[Held]:
    """What a reading means for who claims: already theirs, a transaction to try, or (raised) why not."""
    arbiter, writer, request = taking.arbiter, taking.writer, taking.request
    ledger = reading.ledger
    entry = ledger.held_on(request.task)
    unpublished: Claim | None = None
    if entry is not None and entry.claim is not None and entry.claim.token_hash in writer.mine():
        if not entry.published and arbiter.remote is not None:
            _refuse_other(entry, ledger, writer)
            unpublished = entry.claim
        else:
            answer = _again(taking, entry, reading)
            if answer is not None:
                return answer
    admitted = writer.admit(reading, None)
    attempt = writer.compose(admitted, unpublished)
    torn = _end_of_torn(ledger, attempt.claim)
    fresh = attempt.claim if torn is None else replace(attempt.claim, replaced=torn)
    blob = blob_of(arbiter, fresh)
    aside = admitted.situation.aside
    transaction = edits_for(arbiter, admitted, fresh, blob, aside, [] if torn is None else [torn])
    return Step(transaction, Held(fresh, reading), (fresh, blob))


def _again(taking: Taking, entry: Entry, reading: Reading) -> Done[Held] | Step[Held] | None:
    """The answer to a holder who claims again; None where only a part of the claim is there and it starts over."""
    writer, ledger, held = taking.writer, reading.ledger, entry.claim
    assert held is not None
    _refuse_other(entry, ledger, writer)
    if held.expired(ledger.now):
        raise Refused(
            "claim-expired",
            f"your claim on {held.task} expired at {format_instant(held.expires_at)}",
            f"swarm renew {held.task}",
            {"task": held.task, "expiresAt": format_instant(held.expires_at)},
        )
    if not ledger.whole(entry):
        return None
    if is_settled(writer.mine()[held.token_hash or ""]):
        return Done(Held(held, reading, already=True))
    # What was sent with this token last has not been answered and may still land: only a move settles it.
    config = board_at(taking.session, reading.base).config
    longer = max(held.expires_at, ledger.now + timedelta(minutes=config.lease_minutes))
    moved, blob, transaction = renewal(taking.arbiter, ledger, entry, longer)
    return Step(transaction, Held(moved, reading, already=True), (moved, blob), held.expires_at)


def _refuse_other(entry: Entry, ledger: Ledger, writer: Writer) -> None:
    """A token of ours, but claimed on another branch or under another name: that is not this claim."""
    held = entry.claim
    assert held is not None
    applicant = writer.applicant
    if (held.branch, held.agent) == (applicant.branch, applicant.agent):
        return
    from shlex import quote

    held_by = held_message(entry, ledger)
    raise Conflict(
        "claim-held",
        f"{held_by.message}; its token is here, but this is {applicant.agent} on {applicant.branch}",
        f"git switch {quote(held.branch)}, or: swarm release {held.task}",
        held_by.details,
    )


def _end_of_torn(ledger: Ledger, new: Claim) -> Claim | None:
    """The record of one's own torn claim, where a new one takes its place: others may have seen it held."""
    at = ledger.claims.get(new.task)
    if at is None or at.claim is None or at.claim.closed is not None or ledger.has_ended(at.claim):
        return None
    closed = Closed(new.claimed_at, new.agent, "released", "only a part of it was there; claimed again", None)
    return close(at.claim, closed, carrying(ledger.owed(at.claim)))


def _result(session: Session, held: Held, request: Request) -> ClaimResult:
    claim, ledger = held.claim, held.reading.ledger
    now = replace(ledger, now=session.clock())
    if claim.expired(now.now):
        message = f"the lease of {claim.task} ran out while it was being claimed"
        raise Refused("claim-expired", message, f"swarm renew {claim.task}")
    board = board_at(session, held.reading.base)
    notices = [
        *overlap.notices(session, board, claim.task, ledger),
        *([] if held.already else work_before(session, ledger, claim, held.reading.base)),
        *_last_release(ledger, claim),
        *_minutes_ignored(held, request),
        *unpublished_notices(ledger, claim),
    ]
    return ClaimResult(
        claim, claim_ref(claim.task), state_of(claim, now), remaining(claim, now), held.already, tuple(notices)
    )


def unpublished_notices(ledger: Ledger, but: Claim | None) -> list[Notice]:
    """Claims of this clone that the remote does not know: they hold here and nowhere else."""
    claims = [entry.claim for entry in ledger.held() if not entry.published and entry.claim is not None]
    return [
        Notice(
            "unpublished-claim",
            f"{claim.task} was claimed by {claim.agent} without a remote; it counts in this clone only",
            {"task": claim.task, "agent": claim.agent, "branch": claim.branch},
        )
        for claim in claims
        if ledger.local and (but is None or claim.task != but.task)
    ]


def _minutes_ignored(held: Held, request: Request) -> list[Notice]:
    """Claiming again what one holds changes nothing, whatever lease was asked for."""
    if not held.already or request.minutes is None:
        return []
    claim, minutes = held.claim, request.minutes
    message = f"--minutes {minutes} was ignored: {claim.task} was yours already, until "
    message += f"{format_instant(claim.expires_at)}; swarm renew {claim.task} --minutes {minutes} changes that"
    return [Notice("minutes-ignored", message, {"task": claim.task, "minutes": minutes})]


def _last_release(ledger: Ledger, claim: Claim) -> list[Notice]:
    closed = [entry.claim for entry in ledger.logs.get(claim.task, ()) if entry.claim is not None]
    last = closed[-1] if closed else None
    if last is None or last.closed is None or not last.closed.reason or last.same_claim(claim):
        return []
    return [
        Notice(
            "last-release",
            f"{claim.task} was {last.closed.outcome} before by {last.closed.by}: {last.closed.reason}",
            {"outcome": last.closed.outcome, "by": last.closed.by, "reason": last.closed.reason},
        )
    ]
