"""What `doctor` looks at without GitHub: the claims where they are decided, this clone's copy of them, its lock files.

It changes nothing: what a fetch brought is let go of, and the mirror stays as it is.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from shlex import quote

from claims.admission import deletion_command
from claims.arbiter import Arbiter, Reading
from claims.arbiter.remote import RemoteArbiter
from claims.board.task import State
from claims.clock import format_instant
from claims.git import printable
from claims.git_tree import board_at
from claims.ledger import Key, Ledger, keys_of
from claims.names import LockKey, ObjectId, RefName, TaskId
from claims.record import Claim
from claims.session import Session
from claims.values import dataclass
from gate.github.finding import Check, Finding, once

#: Seconds after which nobody is taken to be at work behind a lock file: git holds one for moments, or, while somebody
#: writes a commit message, for minutes.
LOCK_AGE = 600


@dataclass(frozen=True, slots=True)
class Claims:
    """The claims as they were read, with where base has their tasks."""

    ledger: Ledger
    states: Mapping[TaskId, State | None]
    base: str
    remote: str | None


def checks(session: Session, arbiter: Arbiter) -> list[Check]:
    """The checks of the claims and of the clone. The claims are read once, for all of them."""
    claims = once(lambda: _read(session, arbiter))

    def moved() -> Iterable[Finding]:
        there = claims().remote
        return drift(arbiter.differences(), there) if isinstance(arbiter, RemoteArbiter) and there else ()

    return [
        Check("claim-malformed", lambda: malformed(claims())),
        Check("claim-torn", lambda: torn(claims())),
        Check("lock-stray", lambda: stray(claims())),
        Check("claim-expired", lambda: expired(claims())),
        Check("claim-not-queued", lambda: not_queued(claims())),
        Check("claim-unpublished", lambda: unpublished(claims())),
        Check("mirror-drift", moved),
        Check("lock-file", lambda: lock_files(session.repository.common_dir, session.clock())),
    ]


def _read(session: Session, arbiter: Arbiter) -> Claims:
    """Read twice, as `reap` does: which tasks have refs, then those with the logs that tell what has ended."""
    first = arbiter.read()
    entries = (*first.ledger.keys.values(), *first.ledger.local.values())
    tasks = sorted({*first.ledger.claims, *(entry.claim.task for entry in entries if entry.claim is not None)})
    reading = first if not tasks else _settled(arbiter, arbiter.read(tasks))
    held = [entry.claim.task for entry in reading.ledger.held() if entry.claim is not None]
    states = board_at(session, reading.base).states_of(held) if held else {}
    return Claims(reading.ledger, states, session.base, arbiter.remote)


def _settled(arbiter: Arbiter, reading: Reading) -> Reading:
    """A fetch is no snapshot: whether a lock has a claim is told by claims that were read after it."""
    return arbiter.read_claims_again(reading) if reading.ledger.keys else reading


def malformed(claims: Claims) -> Iterator[Finding]:
    """Refs below `refs/swarm/` that do not read as what their place says."""
    unread = [entry for entry in (*claims.ledger.claims.values(), *claims.ledger.keys.values()) if entry.claim is None]
    for entry in sorted((*unread, *claims.ledger.odd), key=lambda entry: entry.ref):
        yield Finding(
            "claim-malformed",
            f"{printable(entry.ref)} does not read: {printable(entry.fault or 'its name is no claim, lock or slot')}",
            "a claim, as `swarm` writes it",
            f"{deletion_command([entry], claims.remote)}   # blocks its task and locks until then",
        )


def torn(claims: Claims) -> Iterator[Finding]:
    """Claims of which only a part is there: something was killed while it wrote them."""
    ledger = claims.ledger
    for _, entry in sorted(ledger.claims.items()):
        claim = entry.claim
        if claim is None:
            continue
        if ledger.has_ended(claim):
            found = f"the claim of {claim.agent} on {claim.task} has ended, and its ref is still there"
            yield Finding("claim-torn", found, "no ref of a claim whose end is in the log", "swarm reap")
        elif claim.closed is None and not ledger.whole(entry):
            yield _lacking(claim, ledger)


def _lacking(claim: Claim, ledger: Ledger) -> Finding:
    carried = {key.ref for key, _ in ledger.keys_carrying(claim)}
    missing = ", ".join(key.name for key in keys_of(claim) if key.ref not in carried)
    return Finding(
        "claim-torn",
        f"the claim of {claim.agent} on {claim.task} lacks its refs for {missing}",
        "a claim with all its locks and slots",
        f"swarm renew {claim.task}   # by its holder, on {quote(claim.branch)}; once it has run out: swarm reap",
    )


def stray(claims: Claims) -> Iterator[Finding]:
    """Locks and slots that no claim stands behind."""
    ledger = claims.ledger
    for ref, entry in sorted(ledger.keys.items()):
        claim = entry.claim
        if claim is None or _stands(claim, ledger):
            continue
        found = f"{ref} is {claim.agent}'s for {claim.task}, and that claim is not there"
        free = ledger.taker(_key_of(claim, ref)) is None
        until = format_instant(claim.expires_at)
        fix = "swarm reap" if free else f"swarm reap   # from {until} on; it keeps others off until then"
        yield Finding("lock-stray", found, "a claim that lists it", fix)


def _stands(claim: Claim, ledger: Ledger) -> bool:
    there = ledger.claims.get(claim.task)
    return there is not None and there.claim is not None and there.claim.same_claim(claim)


def _key_of(claim: Claim, ref: RefName) -> Key:
    """The key that a ref stands for, as the claim at it lists it."""
    return next((key for key in keys_of(claim) if key.ref == ref), Key(LockKey(""), ref))


def expired(claims: Claims) -> Iterator[Finding]:
    """Claims whose lease ran out: they keep their task and locks from everybody."""
    for claim in _held(claims):
        if claim.expired(claims.ledger.now):
            until = format_instant(claim.expires_at)
            yield Finding(
                "claim-expired",
                f"the claim of {claim.agent} on {claim.task} ran out at {until}",
                "a lease that is renewed, or a claim that is released",
                "swarm reap",
            )


def not_queued(claims: Claims) -> Iterator[Finding]:
    """Held claims of tasks that base does not queue: nothing can land under them."""
    for claim in _held(claims):
        state = claims.states.get(claim.task)
        if state is State.QUEUED:
            continue
        where = "nowhere on" if state is None else f"in {state.value} on"
        yield Finding(
            "claim-not-queued",
            f"{claim.agent} holds {claim.task}, which is {where} {claims.base}",
            f"a task that {claims.base} queues",
            f"swarm release {claim.task}   # by its holder; once it has run out: swarm reap",
        )


def unpublished(claims: Claims) -> Iterator[Finding]:
    """Claims that this clone made without the remote that decides: nobody else sees them."""
    for claim in _held(claims):
        if claims.remote is not None and claim.local:
            yield Finding(
                "claim-unpublished",
                f"{claim.agent} holds {claim.task} in this clone alone",
                f"a claim that {claims.remote} has",
                f"swarm claim {claim.task}   # by its holder, to publish it; or swarm release {claim.task}",
            )


def drift(differences: Mapping[RefName, tuple[ObjectId | None, ObjectId | None]], remote: str) -> Iterator[Finding]:
    """Refs of this clone that show what the remote does not have (any more): by ref, what is here and what is there.

    What the remote has and this clone lacks is none: a clone learns of a claim with its next command.
    """
    wrong = sorted(ref for ref, (here, _) in differences.items() if here is not None)
    if not wrong:
        return
    shown = ", ".join(map(printable, wrong[:3])) + (f" and {len(wrong) - 3} more" if len(wrong) > 3 else "")
    yield Finding(
        "mirror-drift",
        f"{len(wrong)} refs of this clone are not what {remote} has: {shown}",
        f"a copy of what {remote} has",
        "swarm status   # brings it in line",
    )


def lock_files(common_dir: Path, now: datetime) -> Iterator[Finding]:
    """Lock files that a killed git left: they make claims, releases and fetches fail until they are gone."""
    for path in sorted(_locks_below(common_dir)):
        try:
            age = now.timestamp() - path.lstat().st_mtime
        except FileNotFoundError:
            continue  # its owner was only slow
        if age >= LOCK_AGE:
            yield Finding(
                "lock-file",
                f"{printable(str(path))} is {int(age) // 60} minutes old",
                "lock files that git deletes when it is done",
                f"rm {quote(str(path))}   # make sure first that no git is at work in this repository",
            )


def _locks_below(common_dir: Path) -> Iterator[Path]:
    """Those of refs, of the configuration and of the index, linked worktrees' too. Objects are none of our business."""
    places = [common_dir, *sorted((common_dir / "worktrees").glob("*"))]
    for place in places:
        yield from place.glob("*.lock")
    for top in (common_dir / "refs", common_dir / "reftable"):
        for folder, _, names in os.walk(top):
            yield from (Path(folder, name) for name in names if name.endswith(".lock"))


def _held(claims: Claims) -> Sequence[Claim]:
    found = [entry.claim for entry in claims.ledger.held() if entry.claim is not None]
    return sorted(found, key=lambda claim: claim.task)
