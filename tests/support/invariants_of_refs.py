"""What must hold of the refs whatever raced or died: read with git and judged here, without a line of the product.

`docs/protocol.md` says what the refs mean; this reads it anew, so that a mistake in `claims.ledger` does not excuse
itself.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from tests.support.repo import Repo

CLAIMS = "refs/swarm/task-claims/"
LOCKS = "refs/swarm/task-locks/"
SLOTS = "refs/swarm/slots/"
LOG = "refs/swarm/claim-log/"
LIVE = (CLAIMS, LOCKS, SLOTS)

#: Outcomes that end a claim for good; `done` leaves a completion record.
_ENDS = ("released", "stolen", "expired", "reopened")
_REQUIRED = ("task", "agent", "branch", "baseCommit", "claimedAt", "expiresAt", "locks", "planRevision")

#: Which claim it is, as commands tell it: task, agent, branch, claimedAt.
Identity: TypeAlias = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class Record:
    """A blob at a ref."""

    ref: str
    id: str
    members: Mapping[str, Any]
    canonical: bool

    @property
    def task(self) -> str:
        return str(self.members["task"])

    @property
    def identity(self) -> Identity:
        return identity(self.members)

    @property
    def outcome(self) -> str | None:
        """How it ended; None while it is held."""
        closed = self.members.get("closed")
        return None if closed is None else str(closed["outcome"])

    @property
    def key_refs(self) -> dict[str, str]:
        """The lock and slot refs that it lists, with their keys."""
        locks = {lock_ref(key): key for key in self.members["locks"]}
        return locks | {SLOTS + _short_hash(key): key for key in self.members.get("slots", ())}

    def carries(self, other: Record) -> bool:
        """Whether this is the same claim, in whatever version."""
        return self.identity == other.identity and self.members.get("tokenHash") == other.members.get("tokenHash")


@dataclass(frozen=True, slots=True)
class Refs:
    """The refs of one repository below `refs/swarm/`: task to claim, ref to lock or slot, task to log entries."""

    claims: Mapping[str, Record]
    keys: Mapping[str, Record]
    log: Mapping[str, Sequence[Record]]
    #: All refs below `refs/swarm/` and `refs/swarm-fetch/` to their ids.
    ids: Mapping[str, str]

    @property
    def odd(self) -> list[str]:
        """Those that are neither claims, locks, slots nor log entries."""
        return [ref for ref in self.ids if not ref.startswith((*LIVE, LOG))]

    @property
    def live(self) -> dict[str, str]:
        """The claim, lock and slot refs, to their ids."""
        return {ref: value for ref, value in self.ids.items() if ref.startswith(LIVE)}

    def ended(self, claim: Record) -> bool:
        return any(entry.outcome in _ENDS for entry in self.log_of(claim.identity))

    def log_of(self, wanted: Identity) -> list[Record]:
        return [entry for entry in self.log.get(wanted[0], ()) if entry.identity == wanted]

    def held(self) -> list[Record]:
        """Not closed, and no end of it in the log."""
        return [claim for claim in self.claims.values() if claim.outcome is None and not self.ended(claim)]


def identity(members: Mapping[str, Any]) -> Identity:
    """Of a blob's members, or of what a command printed."""
    return members["task"], members["agent"], members["branch"], members["claimedAt"]


def lock_ref(key: str) -> str:
    return LOCKS + _short_hash(key)


def read(repo: Repo) -> Refs:
    """The refs of `repo`, in two git processes. AssertionError where one does not point at a claim in JSON."""
    ids = repo.refs("refs/swarm*/**")
    records = {ref: _record(ref, ids[ref], data) for ref, data in _blobs(repo, ids)}
    log: dict[str, list[Record]] = {}
    for ref, record in records.items():
        if ref.startswith(LOG):
            log.setdefault(ref.split("/")[3], []).append(record)
    return Refs(
        claims={ref[len(CLAIMS) :]: record for ref, record in records.items() if ref.startswith(CLAIMS)},
        keys={ref: record for ref, record in records.items() if ref.startswith((LOCKS, SLOTS))},
        log=log,
        ids=ids,
    )


def check(repo: Repo, told: Iterable[Mapping[str, Any]] = (), *, torn: bool = False) -> Refs:
    """Read the refs of `repo` and assert that they have no `problems`; returns them."""
    refs = read(repo)
    found = problems(refs, told, torn=torn)
    assert not found, "\n".join(found)
    return refs


def problems(refs: Refs, told: Iterable[Mapping[str, Any]] = (), *, torn: bool = False) -> list[str]:
    """What is wrong, a line each.

    `told` are the claims that commands reported as theirs or, with `closed`, as ended, as they printed them. `torn`:
    something has been killed inside a transaction and nothing has cleared up yet, so part of one may be there.
    """
    told = list(told)
    known = [identity(members) for members in told]
    ends = [(identity(members), members["closed"]["outcome"]) for members in told if "closed" in members]
    return [
        *_malformed(refs),
        *_shared(refs),
        *_incomplete(refs, known, torn),
        *([] if torn else [*_debris(refs), *(f"{ref} was left" for ref in refs.odd)]),
        *_logged_twice(refs),
        *_out_of_order(refs),
        *_robbed(refs),
        *_lost(refs, known, torn),
        *_unlogged(refs, ends),
    ]


def live(repo: Repo) -> dict[str, str]:
    """The claim, lock and slot refs of `repo`, to their ids."""
    return read(repo).live


def phantoms(here: Refs, there: Refs, origin: Repo) -> list[str]:
    """Live refs of a clone at a value that its origin never had; one that it had before is only behind the times.

    `here` and `there` are what was read of the clone and of the origin.
    """
    differing = {ref: value for ref, value in here.live.items() if there.ids.get(ref) != value}
    return [f"{ref} at {value}" for ref, value in differing.items() if origin.oid(f"{value}^{{object}}") is None]


def _malformed(refs: Refs) -> Iterator[str]:
    for ref, record in _all(refs):
        missing = [name for name in _REQUIRED if name not in record.members]
        if missing or not record.canonical:
            yield f"{ref}: not canonical JSON, or without {missing}"
            continue
        closed = record.members.get("closed")
        at = None if closed is None else closed["at"]
        in_place = (
            ref == CLAIMS + record.task
            or ref in record.key_refs
            or (at is not None and ref == f"{LOG}{record.task}/{at.replace('-', '').replace(':', '')}")
        )
        if not in_place:
            yield f"{ref} holds a record of {record.task} that does not belong there"


def _shared(refs: Refs) -> Iterator[str]:
    """One holder a lock and a slot: no two held claims list the same key."""
    holders: dict[str, list[str]] = {}
    for claim in refs.held():
        for ref, key in claim.key_refs.items():
            holders.setdefault(f"{ref} ({key})", []).append(claim.task)
    yield from (f"{key} is held by {', '.join(tasks)}" for key, tasks in holders.items() if len(tasks) > 1)


def _incomplete(refs: Refs, told: Sequence[Identity], torn: bool) -> Iterator[str]:
    """A held claim has all its keys, in its own version.

    After a kill one that was told to its holder has them all; but a thief of its task may have taken the first.
    """
    for claim in refs.held():
        if torn and claim.identity not in told:
            continue
        for ref, key in claim.key_refs.items():
            at = refs.keys.get(ref)
            own = at is not None and at.carries(claim) and (torn or at.id == claim.id)
            if not own and not (torn and at is not None and at.task == claim.task):
                yield f"{claim.task} is held by {claim.identity} without {ref} ({key})"


def _debris(refs: Refs) -> Iterator[str]:
    """Where nothing was torn, every lock and slot belongs to a claim, and every claim is held or finished."""
    for ref, record in refs.keys.items():
        claim = refs.claims.get(record.task)
        if claim is None or claim.outcome is not None or not record.carries(claim):
            yield f"{ref} carries a claim on {record.task} that is not there: {record.identity}"
    for claim in refs.claims.values():
        if refs.ended(claim) or claim.outcome not in (None, "done"):
            yield f"{claim.ref} is still there although the claim has ended"


def _logged_twice(refs: Refs) -> Iterator[str]:
    for entries in refs.log.values():
        seen: dict[Identity, list[str]] = {}
        for entry in entries:
            seen.setdefault(entry.identity, []).append(entry.outcome or "held")
        for whose, outcomes in seen.items():
            if sum(outcome in _ENDS for outcome in outcomes) > 1 or outcomes.count("done") > 1 or "held" in outcomes:
                yield f"the log has {whose} as {', '.join(outcomes)}"


def _out_of_order(refs: Refs) -> Iterator[str]:
    """`claimedAt` of a held claim is no earlier than the end of any other in the task's log."""
    for claim in refs.held():
        others = (entry for entry in refs.log.get(claim.task, ()) if entry.identity != claim.identity)
        ends = [entry.members["closed"]["at"] for entry in others]
        if ends and max(ends) > claim.members["claimedAt"]:
            yield f"{claim.task} was claimed at {claim.members['claimedAt']}, before {max(ends)}"


def _robbed(refs: Refs) -> Iterator[str]:
    """Nobody steals or reaps a lease that runs."""
    for entry in (one for entries in refs.log.values() for one in entries):
        until = entry.members["expiresAt"]
        if entry.outcome in ("stolen", "expired") and entry.members["closed"]["at"] < until:
            yield f"{entry.ref}: {entry.outcome} although it ran until {until}"


def _lost(refs: Refs, told: Sequence[Identity], torn: bool) -> Iterator[str]:
    """A claim that was told is at its ref, or in the log with its outcome.

    While a steal is torn its victim's record may be in the thief's blob only, from where the next command logs it.
    """
    for whose in told:
        at = refs.claims.get(whose[0])
        carried = [] if at is None else [identity(members) for members in _chain(at.members)]
        there = whose in carried if torn else whose in carried[:1]
        if not there and not refs.log_of(whose):
            yield f"{whose} was told and is neither held nor in the log"


def _unlogged(refs: Refs, ends: Iterable[tuple[Identity, str]]) -> Iterator[str]:
    """An end that was told is in the log as it was told."""
    for whose, outcome in ends:
        logged = [entry.outcome for entry in refs.log_of(whose)]
        if outcome not in logged:
            yield f"{whose} was told as {outcome}, and the log has {logged}"


def _chain(members: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """A blob's members and those of what it replaced, and so on."""
    following: Mapping[str, Any] | None = members
    while following is not None:
        yield following
        following = following.get("replaced")


def _all(refs: Refs) -> Iterator[tuple[str, Record]]:
    for record in (
        *refs.claims.values(),
        *refs.keys.values(),
        *(one for entries in refs.log.values() for one in entries),
    ):
        yield record.ref, record


def _blobs(repo: Repo, refs: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
    """Ref to content, of the refs that should hold claims."""
    wanted = [ref for ref in refs if ref.startswith((*LIVE, LOG))]
    if not wanted:
        return
    answer = repo.run("cat-file", "--batch", input="".join(f"{refs[ref]}\n" for ref in wanted)).stdout
    for ref in wanted:
        head, _, rest = answer.partition(b"\n")
        object_id, kind, size = head.decode().split()
        assert (object_id, kind) == (refs[ref], "blob"), f"{ref} is a {kind}"
        yield ref, rest[: int(size)]
        answer = rest[int(size) + 1 :]


def _record(ref: str, object_id: str, data: bytes) -> Record:
    members = json.loads(data)
    assert isinstance(members, dict), f"{ref}: {data!r}"
    text = json.dumps(members, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n"
    return Record(ref, object_id, members, canonical=text.encode() == data)


def _short_hash(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:16]
