"""Carrying out a transaction: decide, apply, and where the answer is no or unknown, read back and decide again.

This is where "no false success" is kept: a value is returned only after the arbiter said that every edit was made, or
after everything that the transaction had to bring about has been read back (rule 3 of `docs/protocol.md`).
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Generic, TypeVar

from claims.arbiter import Arbiter, Outcome, Reading, Verdict
from claims.clock import format_instant
from claims.errors import Conflict, SwarmError, Undecided
from claims.ledger import Ledger, keys_of
from claims.names import ObjectId, TaskId
from claims.record import Claim
from claims.transaction import Transaction
from claims.values import dataclass

T = TypeVar("T")

#: How often a transaction is tried that the arbiter refused although nothing on the board explains why.
TRIES = 8
#: Seconds to wait before the n-th further try, times a random factor from 0 to 1, at most the last.
_PAUSES = (0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.2)
#: How git, here or at the other end, says that a file of somebody's, maybe of a killed process, is in its way.
_LOCK_FILE = re.compile(r"Unable to create '(.+?\.lock)'")


@dataclass(frozen=True, slots=True)
class Done(Generic[T]):
    """Nothing has to change: the reading shows it to be so."""

    value: T


@dataclass(frozen=True, slots=True)
class Step(Generic[T]):
    """A transaction to try and what to return once it is made.

    `acquires` is the claim (and its blob's id) that the transaction brings about or keeps. Where its outcome is not
    known, that whole claim has to read back. Without it, the verb ends claims, and deciding again finds out.

    `sound_until` is when the lease that a renewal extends runs out. From then on a thief may have logged the claim's
    end before it was killed, without having moved its ref: a yes that comes later has to read back too, log included.
    """

    transaction: Transaction
    value: T
    acquires: tuple[Claim, ObjectId] | None = None
    sound_until: datetime | None = None


Decide = Callable[[Reading], Done[T] | Step[T]]


def carry_out(
    arbiter: Arbiter,
    logs: Sequence[TaskId],
    decide: Decide[T],
    clock: Callable[[], datetime],
    pause: Callable[[float], None] = time.sleep,
) -> T:
    """Read, `decide`, apply, until it is done. `decide` is asked anew after every reading and may refuse.

    Raises what `decide` raises; Conflict `busy` where nothing explains the arbiter's refusals; Undecided
    `remote-rejected` and `remote-unreachable`, the latter saying what may still land. Each tells as `unanswered`
    whether any of what was sent was never answered.
    """
    unanswered: list[Outcome] = []
    try:
        return _carry_out(arbiter, logs, decide, clock, pause, unanswered)
    except SwarmError as error:
        error.unanswered = bool(unanswered)
        raise


def _carry_out(
    arbiter: Arbiter,
    logs: Sequence[TaskId],
    decide: Decide[T],
    clock: Callable[[], datetime],
    pause: Callable[[float], None],
    unanswered: list[Outcome],
) -> T:
    """The same; `unanswered` is filled with what was unknown on the way."""
    refusals = 0
    unknown: _Unknown[T] | None = None
    while True:
        try:
            reading = arbiter.read(logs)
        except SwarmError as error:
            raise _may_still_land(error.message, unknown) if unknown else error from None
        if unknown is not None:
            step = unknown.step
            if _reads_back(reading.ledger, step):
                return step.value
            if not _still_as_expected(reading.ledger, step):
                unknown = None
            elif unknown.sent > 1:
                raise _may_still_land(unknown.outcome.words, unknown)
        if unknown is None:
            decided = decide(reading)
            if isinstance(decided, Done):
                return decided.value
            step = decided
        try:
            outcome = arbiter.apply(step.transaction)
        except SwarmError as error:
            raise _may_still_land(error.message, unknown) if unknown else error from None
        late = step.sound_until is not None and clock() >= step.sound_until
        if outcome.verdict is Verdict.APPLIED and unknown is None and not late:
            return step.value
        if outcome.verdict in (Verdict.UNKNOWN, Verdict.APPLIED):
            # A push that was sent twice may be told a success that is the first one's; it has to read back as well.
            unknown = _Unknown(step, outcome, 1 if unknown is None else unknown.sent + 1)
            unanswered.append(outcome)
            if len(unanswered) > TRIES:
                raise _may_still_land(outcome.words, unknown)
            continue
        if outcome.verdict is Verdict.REJECTED:
            raise _may_still_land(outcome.words, unknown) if unknown else rejected(arbiter.remote, outcome)
        unknown = None
        refusals += 1
        if refusals >= TRIES:
            raise busy(arbiter.remote, outcome)
        pause(jitter(refusals))


@dataclass(frozen=True, slots=True)
class _Unknown(Generic[T]):
    """A step whose outcome is not known, and how often it was sent."""

    step: Step[T]
    outcome: Outcome
    sent: int


def _reads_back(ledger: Ledger, step: Step[T]) -> bool:
    """Whether the whole claim that the step acquires is there, this very blob of it, and has not ended."""
    if step.acquires is None:
        return False
    claim, blob = step.acquires
    entry = ledger.claims.get(claim.task)
    return (
        entry is not None
        and entry.id == blob
        and all(ledger.id_at(key.ref) == blob for key in keys_of(claim))
        and not ledger.has_ended(claim)
    )


def _still_as_expected(ledger: Ledger, step: Step[T]) -> bool:
    """Whether every ref that the step changes still has its old value: then the same push may be sent again."""
    now = ledger.ids()
    ended = step.acquires is not None and ledger.has_ended(step.acquires[0])
    return not ended and all(now.get(edit.ref) == edit.old for edit in step.transaction.edits)


def _may_still_land(words: str, unknown: _Unknown[T]) -> SwarmError:
    acquires = unknown.step.acquires
    if acquires is None:
        message = f"{words}: whether it was done is not known, and it may still be"
        return Undecided("remote-unreachable", message, "run the command again: it is safe to")
    claim = acquires[0]
    until = format_instant(claim.expires_at)
    return Undecided(
        "remote-unreachable",
        f"{words}: whether {claim.task} is claimed is not known; it may still be, and would hold until {until}",
        f"swarm claim {claim.task} --agent {claim.agent}",
        {"task": claim.task, "agent": claim.agent, "expiresAt": until},
    )


def jitter(refusals: int) -> float:
    """Seconds to wait after the n-th refusal that nothing on the board explains."""
    import random

    return _PAUSES[min(refusals - 1, len(_PAUSES) - 1)] * random.random()  # noqa: S311 - not a secret


def rejected(remote: str | None, outcome: Outcome) -> SwarmError:
    """`remote-rejected`, with the words of whoever would not take it."""
    from shlex import quote

    name, push = remote or "git", f"git push --no-verify {quote(remote or '.')}"
    return Undecided(
        "remote-rejected",
        f"{name} does not take pushes to refs/swarm/: {outcome.words}",
        # A dry run asks no hook, so this one is for real; and leaves nothing.
        f"{push} HEAD:refs/swarm/probe && {push} :refs/swarm/probe   # shows whether you may push there",
    )


def busy(remote: str | None, outcome: Outcome) -> SwarmError:
    """`busy`, which names the lock file that git named."""
    where = remote or "this repository"
    found = _LOCK_FILE.search(outcome.words)
    if found is None:
        return Conflict("busy", f"{where} refused {TRIES} times: {outcome.words}", "run the command again")
    from shlex import quote

    lock = found.group(1)
    return Conflict(
        "busy",
        f"{where} refused {TRIES} times; git found a lock file in the way: {lock}",
        f"rm {quote(lock)}   # only where no git process is at work there",
        {"file": lock},
    )
