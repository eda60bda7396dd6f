"""The ledger: the claim, lock, slot and log refs as they were read, and what counts among them.

The rules here are those of `docs/protocol.md`, *What counts when a transaction was torn*. They are needed because a
process killed inside git can leave part of a transaction, and because a push that seemed lost can land late. Nothing
here reads a ref: a `Ledger` is a value that an arbiter built.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta

from claims import clock
from claims.names import LockKey, ObjectId, RefName, SlotKey, TaskId, claim_ref, lock_ref, slot_ref
from claims.record import Claim
from claims.values import dataclass, field, replace

#: Outcomes after which a claim is over even while its ref is still there (rule 2). `done` is not one of them: its
#: ref has to stay, as the completion record, until `reopened`.
ENDS = ("released", "stolen", "expired", "reopened")


@dataclass(frozen=True, slots=True)
class Entry:
    """One ref and what it points at: a claim, or the reason why it could not be read as one."""

    ref: RefName
    id: ObjectId
    claim: Claim | None
    fault: str = ""
    #: Whether a remote holds it. A claim made without one stays in this clone until it is published.
    published: bool = True


@dataclass(frozen=True, slots=True)
class Key:
    """A lock or slot key and the ref that stands for it."""

    name: LockKey | SlotKey
    ref: RefName


@dataclass(frozen=True, slots=True)
class Ledger:
    """Everything a command knows about claims, read at `now`.

    `logs` holds the tasks whose log was read, each with its entries in order of their stamps; a task that is not a
    key there has a log that nobody asked for. `local` holds the live refs of claims made without the remote that
    arbitrates now.
    """

    now: datetime
    claims: Mapping[TaskId, Entry]
    keys: Mapping[RefName, Entry]
    logs: Mapping[TaskId, tuple[Entry, ...]] = field(default_factory=dict)
    local: Mapping[RefName, Entry] = field(default_factory=dict)
    #: Refs whose names are no task's, lock's or slot's.
    odd: tuple[Entry, ...] = ()

    def held(self) -> Iterator[Entry]:
        """The entries of every claim that is held: not closed, and no end of it in a log that was read."""
        local = (entry for entry in self.local.values() if entry.claim and entry.ref == claim_ref(entry.claim.task))
        for entry in (*self.claims.values(), *local):
            if entry.claim is not None and entry.claim.closed is None and not self.has_ended(entry.claim):
                yield entry

    def held_on(self, task: TaskId) -> Entry | None:
        """The held claim on `task`, the published one first."""
        return next((entry for entry in self.held() if entry.claim and entry.claim.task == task), None)

    def ids(self) -> dict[RefName, ObjectId]:
        """What every ref that was read points at."""
        logs = {entry.ref: entry.id for entries in self.logs.values() for entry in entries}
        claims = {entry.ref: entry.id for entry in self.claims.values()}
        return {**logs, **claims, **{ref: entry.id for ref, entry in self.keys.items()}}

    def finished_on(self, task: TaskId) -> Entry | None:
        """The completion record of `task`."""
        entry = self.claims.get(task)
        if entry is None or entry.claim is None or entry.claim.closed is None:
            return None
        return None if self.has_ended(entry.claim) else entry

    def log_of(self, claim: Claim) -> Iterator[Entry]:
        """The log entries of this very claim."""
        for entry in self.logs.get(claim.task, ()):
            if entry.claim is not None and entry.claim.same_claim(claim):
                yield entry

    def has_ended(self, claim: Claim) -> bool:
        """Rule 2: the log shows how this claim ended, so it is over, whatever its ref says."""
        return any(
            entry.claim is not None and entry.claim.closed is not None and entry.claim.closed.outcome in ENDS
            for entry in self.log_of(claim)
        )

    def entry_at(self, ref: RefName) -> Entry | None:
        """A lock or slot ref of the arbiter."""
        return self.keys.get(ref)

    def id_at(self, ref: RefName) -> ObjectId | None:
        """The value to expect of a lock or slot ref; None where it is absent."""
        entry = self.keys.get(ref)
        return None if entry is None else entry.id

    def taker(self, key: Key, aside: Iterable[Claim] = ()) -> Entry | None:
        """Rule 1: who takes this key: a held claim that lists it, or an unexpired (or unreadable) blob at its ref.

        Claims in `aside` do not count. None: the key is free, or its ref is debris that may be taken at its value.
        """
        out = {claim.identity for claim in aside}
        for entry in self.held():
            assert entry.claim is not None
            listed = key.name in entry.claim.locks or key.name in entry.claim.slots
            if listed and entry.claim.identity not in out:
                return entry
        for entry in filter(None, (self.keys.get(key.ref), self.local.get(key.ref), self.below(key.ref))):
            if entry.claim is None:
                return entry
            live = entry.claim.closed is None and not entry.claim.expired(self.now)
            if live and entry.claim.identity not in out and not self.has_ended(entry.claim):
                return entry
        return None

    def below(self, ref: RefName) -> Entry | None:
        """A ref below `ref`, as if that were a folder: git can create neither beside the other."""
        return next((entry for entry in self.odd if entry.ref.startswith(f"{ref}/")), None)

    def whole(self, entry: Entry) -> bool:
        """Rule 3: whether the whole set of a claim reads back: its ref and every lock and slot that it lists."""
        claim = entry.claim
        assert claim is not None
        where = self.local if self.local.get(entry.ref) is entry else self.keys
        found = (where.get(key.ref) for key in keys_of(claim))
        return all(at is not None and at.claim is not None and at.claim.same_claim(claim) for at in found)

    def keys_carrying(self, claim: Claim) -> Iterator[tuple[Key, Entry]]:
        """The lock and slot refs that carry this claim, of those that it lists (rule 6: it touches no others)."""
        for key in keys_of(claim):
            entry = self.keys.get(key.ref)
            if entry is not None and entry.claim is not None and entry.claim.same_claim(claim):
                yield key, entry

    def latest_record(self, task: TaskId) -> datetime | None:
        """The latest moment that any record of `task` names, for a new one to be later than.

        Records dated further ahead of our clock than clocks differ are ignored: they would drag us along.
        """
        moments: list[datetime] = []
        entries = [*self.logs.get(task, ()), *filter(None, [self.claims.get(task), self.local.get(claim_ref(task))])]
        for entry in entries:
            if entry.claim is not None:
                moments += _moments(entry.claim)
        sound = [moment for moment in moments if moment <= self.now + clock.MAX_SKEW]
        return max(sound, default=None)

    def next_instant(self, task: TaskId) -> datetime:
        """Now, or a millisecond after the latest record of `task` where that is later."""
        latest = self.latest_record(task)
        return self.now if latest is None or latest < self.now else latest + timedelta(milliseconds=1)

    def owed(self, claim: Claim) -> tuple[Claim, ...]:
        """Rule 5: the records that steals took along in `replaced` and that the log lacks, the oldest first.

        A push writes log entries last. One that is killed before it does leaves the end of the stolen claim nowhere
        but here, so whoever next moves or ends `claim` writes it, and carries it on until the log has it.
        """
        found: list[Claim] = []
        carried = claim.replaced
        while carried is not None:
            if not self.has_ended(carried):
                found.append(carried)
            carried = carried.replaced
        return tuple(reversed(found))


def carrying(owed: Iterable[Claim]) -> Claim | None:
    """Owed records, the oldest first, as the one value that a blob's `replaced` holds."""
    carried: Claim | None = None
    for claim in owed:
        carried = replace(claim, replaced=carried)
    return carried


def _moments(claim: Claim) -> list[datetime]:
    moments = [claim.claimed_at]
    if claim.closed is not None:
        moments.append(claim.closed.at)
    if claim.replaced is not None:
        moments += _moments(claim.replaced)
    return moments


def keys_of(claim: Claim) -> tuple[Key, ...]:
    """The lock and slot keys that a claim lists, with their refs, in the order in which refs are locked."""
    keys = [*(Key(name, lock_ref(name)) for name in claim.locks), *(Key(name, slot_ref(name)) for name in claim.slots)]
    return tuple(sorted(keys, key=lambda key: key.ref))
