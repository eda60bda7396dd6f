"""Whose claim is it: the four neighbours of an answer that is not "yours"."""

from __future__ import annotations

from collections.abc import Sequence

from claims.admission import finished_by, malformed_message
from claims.clock import format_instant
from claims.errors import Conflict, Refused, SwarmError
from claims.ledger import Entry, Ledger
from claims.names import Branch, TaskId
from claims.record import Claim
from claims.session import Session


def own_entry(session: Session, ledger: Ledger, task: TaskId, remote: str | None) -> Entry:
    """The held claim on `task` whose token is here. Raises why there is none (see `not_own`)."""
    entry = ledger.held_on(task)
    if entry is None or entry.claim is None or entry.claim.token_hash not in hashes_here(session, task):
        raise not_own(session, ledger, task, remote)
    if session.agent is not None and session.agent != entry.claim.agent:
        raise Conflict(
            "not-holder",
            f"{task} is held by {entry.claim.agent}, and you are {session.agent}",
            f"SWARM_AGENT={entry.claim.agent} swarm status   # or what you meant to run, if that is you",
            _facts(entry.claim),
        )
    return entry


def hashes_here(session: Session, task: TaskId) -> set[str]:
    """The hashes of the tokens that may prove a claim on `task`."""
    return {token.hash for token in session.tokens_for(task)}


def not_own(session: Session, ledger: Ledger, task: TaskId, remote: str | None) -> SwarmError:
    """Why no claim on `task` is the caller's.

    `claim-not-found`: no claim, and no token for one. `claim-lost`: a token is here, but its claim is gone or was
    replaced. `stale-token`: the token that was given fits no claim. `not-holder`: somebody else's claim.
    """
    at = ledger.claims.get(task)
    if at is not None and at.claim is None:
        return malformed_message(at, task, remote)
    entry = ledger.held_on(task)
    hashes = hashes_here(session, task)
    end = end_of_own(ledger, task, hashes)
    now = _who_has_it(entry, ledger, task)
    if end is not None and end.closed is not None:
        message = f"your claim on {task} is over: {end.closed.outcome} by {end.closed.by}"
        message += f" at {format_instant(end.closed.at)}; {now}"
        return Conflict("claim-lost", message, f"swarm show {task}", {"task": task, "outcome": end.closed.outcome})
    if session.token is not None:
        return Conflict("stale-token", f"the token that was given fits no claim on {task}; {now}", f"swarm show {task}")
    if hashes:
        return Conflict("claim-lost", f"a token for {task} is here, but its claim is gone; {now}", f"swarm show {task}")
    if entry is not None and entry.claim is not None:
        message = (
            f"{task} is held by {entry.claim.agent} on {entry.claim.branch}, and its token is not in this worktree"
        )
        return Conflict("not-holder", message, f"swarm show {task}", _facts(entry.claim))
    finished = ledger.finished_on(task)
    if finished is not None and finished.claim is not None and finished_by(finished.claim, session.branch):
        return _finished_here(session, finished.claim)
    hint = f"swarm claim {task} --agent {session.agent or 'NAME'}"
    return Refused("claim-not-found", f"there is no claim on {task}", hint, {"task": task})


def _finished_here(session: Session, claim: Claim) -> SwarmError:
    """`claim-not-found`, but for a good reason: this branch has ended its claim as done."""
    from claims.operations.left import left_to_pull_request

    assert claim.closed is not None
    message = f"{claim.task} is finished: {claim.agent} ended the claim of this branch, {claim.branch}, as done at "
    message += f"{format_instant(claim.closed.at)}. What is left is to hand it in; swarm reopen takes it back"
    hint = " && ".join(left_to_pull_request(session, claim).to_json())
    return Refused("claim-not-found", message, hint, _facts(claim))


def not_published(claim: Claim, remote: str) -> SwarmError:
    """`claim-not-found`: a claim that was made without the remote that arbitrates now, and how to publish it."""
    message = f"{remote} does not know the claim on {claim.task}: {claim.agent} made it without a remote"
    return Refused("claim-not-found", message, f"swarm claim {claim.task} --agent {claim.agent}", _facts(claim))


def end_of_own(ledger: Ledger, task: TaskId, hashes: set[str]) -> Claim | None:
    """The latest closed record of a claim on `task` that one of the tokens made."""
    closed = [entry.claim for entry in ledger.logs.get(task, ()) if entry.claim and entry.claim.token_hash in hashes]
    return closed[-1] if closed else None


def claim_of_branch(session: Session, ledger: Ledger) -> TaskId:
    """The task that this branch holds, for commands that leave it out. Raises `claim-not-found`, `detached-head`.

    Where it holds none, but the token of one lost claim is here, or it has finished one task: that one, so that the
    answer says so.
    """
    branch = session.required_branch()
    tasks = [entry.claim.task for entry in ledger.held() if entry.claim is not None and entry.claim.branch == branch]
    lost = [] if tasks else [task for task in tasks_with_tokens(session) if not _is_mine(session, ledger, task)]
    if tasks or len(lost) == 1:
        return sorted(tasks or lost)[0]
    finished = [task for task in ledger.claims if _is_finished_by(ledger, task, branch)]
    if len(finished) == 1:
        return finished[0]
    message = f"{branch} holds no claim"
    hint = f"swarm claim ID --agent {session.agent or 'NAME'}"
    raise Refused("claim-not-found", message, hint, {"branch": branch})


def _is_finished_by(ledger: Ledger, task: TaskId, branch: Branch) -> bool:
    entry = ledger.finished_on(task)
    return entry is not None and entry.claim is not None and finished_by(entry.claim, branch)


def _is_mine(session: Session, ledger: Ledger, task: TaskId) -> bool:
    entry = ledger.held_on(task)
    return entry is not None and entry.claim is not None and entry.claim.token_hash in hashes_here(session, task)


def tasks_with_tokens(session: Session) -> Sequence[TaskId]:
    """The tasks of which this worktree has tokens: those that a command without an id is likely about."""
    from claims import tokens

    found = (token.task for token in tokens.held_here(session.repository.private_dir))
    return list(dict.fromkeys(task for task in found if task is not None))


def _who_has_it(entry: Entry | None, ledger: Ledger, task: TaskId) -> str:
    if entry is not None and entry.claim is not None:
        return f"{entry.claim.agent} holds it on {entry.claim.branch}"
    finished = ledger.finished_on(task)
    if finished is not None and finished.claim is not None:
        return f"{finished.claim.agent} finished it on {finished.claim.branch}"
    return "nobody holds it"


def _facts(claim: Claim) -> dict[str, str]:
    return {"task": claim.task, "agent": claim.agent, "branch": claim.branch}
