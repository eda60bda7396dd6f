"""`swarm check`: does this branch hold a live claim that base still supports?"""

from __future__ import annotations

from claims.arbiter import Arbiter
from claims.clock import format_instant
from claims.errors import Conflict, Refused, SwarmError, first_of
from claims.git import Begun
from claims.git_tree import board_at
from claims.ledger import Entry, Ledger, keys_of
from claims.names import TaskId, claim_ref
from claims.operations import overlap
from claims.operations.holding import hashes_here, not_own, not_published
from claims.operations.left import left_to_pull_request, work_before
from claims.operations.result import ClaimResult, remaining, state_of
from claims.operations.support import objections
from claims.operations.worktree import asking_status, uncommitted
from claims.record import Claim
from claims.session import Session


def check(session: Session, arbiter: Arbiter, task: TaskId) -> ClaimResult:
    """The claim of this branch on `task`, with what is left to do. Needs no token and changes no claim.

    Raises every reason why it is none: gone, another's, expired, only in part there, or no longer what base says.
    """
    with asking_status(session) as asked:  # in a large working tree that is what takes longest
        return _check(session, arbiter, task, asked)


def _check(session: Session, arbiter: Arbiter, task: TaskId, asked: Begun | None) -> ClaimResult:
    reading = arbiter.read([task])
    ledger, branch = reading.ledger, session.required_branch()
    entry = ledger.held_on(task)
    if entry is None or entry.claim is None:
        raise not_own(session, ledger, task, arbiter.remote)
    claim = entry.claim
    if claim.branch != branch:
        if hashes_here(session, task) and session.token is None and claim.token_hash not in hashes_here(session, task):
            raise not_own(session, ledger, task, arbiter.remote)
        raise Conflict(
            "not-holder",
            f"{task} is held for {claim.branch} by {claim.agent}, and this is {branch}",
            f"swarm show {task}",
            {"task": task, "agent": claim.agent, "branch": claim.branch},
        )
    if arbiter.remote is not None and not entry.published:
        raise not_published(claim, arbiter.remote)
    board = board_at(session, reading.base)
    reasons = [*_expired(claim, ledger), *_torn(entry, ledger), *objections(board, claim)]
    if reasons:
        raise first_of(reasons)
    return ClaimResult(
        claim,
        claim_ref(task),
        state_of(claim, ledger),
        remaining(claim, ledger),
        notices=(
            *overlap.notices(session, board, task, ledger),
            *work_before(session, ledger, claim, reading.base),
            *uncommitted(session, claim, asked),
        ),
        left=left_to_pull_request(session, claim),
    )


def _expired(claim: Claim, ledger: Ledger) -> list[SwarmError]:
    if not claim.expired(ledger.now):
        return []
    until = format_instant(claim.expires_at)
    message = f"the claim on {claim.task} expired at {until}; nobody has taken it yet"
    return [Refused("claim-expired", message, f"swarm renew {claim.task}", {"task": claim.task, "expiresAt": until})]


def _torn(entry: Entry, ledger: Ledger) -> list[SwarmError]:
    """A claim without one of its locks is only a part of one: something died while it was written."""
    claim = entry.claim
    assert claim is not None
    if ledger.whole(entry):
        return []
    carried = {key.ref for key, _ in ledger.keys_carrying(claim)}
    missing = ", ".join(key.name for key in keys_of(claim) if key.ref not in carried)
    return [
        Conflict("claim-lost", f"the claim on {claim.task} lacks its refs for {missing}", f"swarm renew {claim.task}")
    ]
