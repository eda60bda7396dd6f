"""`swarm prune`: fold old entries of the log into the archive and delete their refs.

It may be killed at any point and run beside itself. An entry's ref is deleted, at the value that was read, only once
the archive is known to hold that very record; the archive moves only on from the value that was read.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime, timedelta
from typing import Any

from claims import clock
from claims.arbiter import Arbiter, Outcome, Verdict, archive
from claims.arbiter.history import History, Logged
from claims.board.board import Board
from claims.board.task import State, task_path
from claims.errors import Undecided
from claims.git_tree import GitTree
from claims.ledger import Ledger
from claims.names import ARCHIVE, ObjectId, RefName, TaskId
from claims.operations.attempt import TRIES, busy, jitter, rejected
from claims.operations.mentions import mentioned
from claims.record import MAX_LEASE
from claims.session import Session
from claims.transaction import Edit, Transaction
from claims.values import dataclass

#: Refs that are deleted at once. A larger transaction holds git's packed-refs.lock for too long.
_AT_ONCE = 100
#: Entries that are archived by one commit.
_ROUND = 1000
_FINISHED = frozenset({State.DONE, State.FAILED, State.CANCELLED})


@dataclass(frozen=True, slots=True)
class Skipped:
    """An entry whose ref stays, and why."""

    entry: Logged
    reason: str


@dataclass(frozen=True, slots=True)
class Pruned:
    """What was folded (or would be), by task; what stays although it is old; and which task files may go.

    `before` is the moment before which claims must have ended; `archive` the archive's commit.
    """

    before: datetime
    folded: tuple[Logged, ...]
    skipped: tuple[Skipped, ...]
    files: tuple[tuple[TaskId, State], ...]
    archive: ObjectId | None

    def to_json(self) -> dict[str, Any]:
        return {
            "before": clock.format_instant(self.before),
            "folded": [_facts(entry) for entry in self.folded],
            "skipped": [{**_facts(one.entry), "reason": one.reason} for one in self.skipped],
            "files": [{"task": task, "path": task_path(task, state)} for task, state in self.files],
            "archive": self.archive,
        }


def prune(
    session: Session,
    arbiter: Arbiter,
    history: History,
    *,
    dry_run: bool,
    pause: Callable[[float], None] = time.sleep,
) -> Pruned:
    """Fold what is old enough and needed no more. Raises what reading base raises; Conflict `busy`; Undecided."""
    if not dry_run:
        session.needs_arbiter()
    reading = arbiter.read()
    tree = GitTree(session, reading.base)
    board = Board(reading.base, tree)
    # Rule 2 of the protocol needs the ends of claims for as long as a lease could have run.
    before = reading.ledger.now - max(timedelta(days=board.config.retention_days), MAX_LEASE)
    refs = history.list()
    kept = mentioned(tree) | _live(reading.ledger)
    old = [entry for entry in refs.entries if entry.at < before and entry.task not in kept]
    places = board.places_of(entry.task for entry in old)
    foldable = sorted(
        (entry for entry in old if _FINISHED.issuperset(places[entry.task])), key=lambda entry: (entry.task, entry.at)
    )
    folding = _Folding(history, arbiter.remote, reading.ledger.now, refs.archive, pause)
    if dry_run:
        folding.folded += foldable
    else:
        folding.fold(foldable)
    gone = set(folding.folded)
    stays = kept | {entry.task for entry in refs.entries if entry not in gone}
    return Pruned(before, tuple(folding.folded), tuple(folding.skipped), _may_go(board, stays, before), folding.archive)


class _Folding:
    """Folds entries round by round; `folded`, `skipped` and `archive` say how far it got."""

    def __init__(
        self,
        history: History,
        remote: str | None,
        now: datetime,
        before: ObjectId | None,
        pause: Callable[[float], None],
    ) -> None:
        self._history = history
        self._remote = remote
        self._now = now
        self._pause = pause
        self.archive = before
        self.folded: list[Logged] = []
        self.skipped: list[Skipped] = []

    def fold(self, entries: Sequence[Logged]) -> None:
        for some in _slices(entries, _ROUND):
            for few in _slices(self._archived(some), _AT_ONCE):
                self._delete(few)

    def _archived(self, entries: Sequence[Logged]) -> list[Logged]:
        """Have the archive hold the entries; those of them that it holds for certain."""
        refusals = 0
        while True:
            held = self._held(entries)
            missing = self._records([entry for entry in entries if (entry.task, entry.at) not in held])
            if not missing:
                break
            commit = archive.write(self._history.git, self._history.objects, self.archive, missing, self._now)
            outcome = self._history.apply(Transaction((Edit(ARCHIVE, self.archive, commit),)))
            if outcome.verdict is Verdict.APPLIED:
                self.archive = commit
                held.update(((entry.task, entry.at), entry.blob) for entry in missing)
                break
            refusals = self._refused(outcome, refusals)
            self.archive = self._history.list().archive
        return [entry for entry in entries if self._is_in(held, entry)]

    def _held(self, entries: Sequence[Logged]) -> dict[tuple[TaskId, datetime], ObjectId]:
        """What the archive holds of the tasks of these entries."""
        if self.archive is None:
            return {}
        tasks = dict.fromkeys(entry.task for entry in entries)
        found = archive.entries_of(self._history.objects, self.archive, tasks)
        return {(entry.task, entry.at): entry.blob for entry in found}

    def _records(self, entries: Sequence[Logged]) -> list[Logged]:
        """Make the blobs of entries readable; those that are blobs."""
        ids = [entry.blob for entry in entries]
        self._history.bring(ids)
        infos = self._history.objects.info(ids)
        return [entry for entry, info in zip(entries, infos, strict=True) if info is not None and info.type == "blob"]

    def _is_in(self, held: dict[tuple[TaskId, datetime], ObjectId], entry: Logged) -> bool:
        found = held.get((entry.task, entry.at))
        if found == entry.blob:
            return True
        reason = "it is no blob" if found is None else f"the archive has another record in its place: {found}"
        self.skipped.append(Skipped(entry, reason))
        return False

    def _delete(self, entries: Sequence[Logged]) -> None:
        """Delete the refs of archived entries. What another prune deleted meanwhile is gone as well."""
        refusals = 0
        left = list(entries)
        while left:
            outcome = self._history.apply(Transaction(tuple(Edit(entry.ref, entry.blob, None) for entry in left)))
            if outcome.verdict is Verdict.APPLIED:
                self.folded += left
                return
            there = {entry.ref: entry.blob for entry in self._history.list().entries}
            remaining = [entry for entry in left if self._is_left(there, entry)]
            if len(remaining) == len(left):
                refusals = self._refused(outcome, refusals)
            left = remaining

    def _is_left(self, there: dict[RefName, ObjectId], entry: Logged) -> bool:
        found = there.get(entry.ref)
        if found is None:
            self.folded.append(entry)
        elif found != entry.blob:
            self.skipped.append(Skipped(entry, "its ref moved meanwhile"))
        return found == entry.blob

    def _refused(self, outcome: Outcome, refusals: int) -> int:
        """Wait before another try. Raises where there is to be none."""
        if outcome.verdict is Verdict.REJECTED:
            raise rejected(self._remote, outcome)
        if refusals + 1 >= TRIES:
            if outcome.verdict is Verdict.UNKNOWN:
                message = f"{outcome.words}: how far it got is not known; nothing is lost"
                raise Undecided("remote-unreachable", message, "swarm prune   # goes on from there")
            raise busy(self._remote, outcome)
        self._pause(jitter(refusals + 1))
        return refusals + 1


def _live(ledger: Ledger) -> set[TaskId]:
    """The tasks with a claim, lock or slot ref, whatever it says."""
    entries = (*ledger.claims.values(), *ledger.keys.values(), *ledger.local.values())
    return {*ledger.claims, *(entry.claim.task for entry in entries if entry.claim is not None)}


def _may_go(board: Board, stays: frozenset[TaskId], before: datetime) -> tuple[tuple[TaskId, State], ...]:
    """The files of tasks that finished, are older than what is kept, and that nothing names, holds or logs any more."""
    finished = [task for state in _FINISHED for task in board.ids_in(state)]
    old = sorted({task for task in finished if task not in stays and _day_of(task) < before.date()})
    places = board.places_of(old)
    return tuple((task, state) for task in old if _FINISHED.issuperset(places[task]) for state in places[task])


def _day_of(task: TaskId) -> date:
    year, month, day = task[2:6], task[6:8], task[8:10]
    return date(int(year), int(month), int(day))


def _slices(entries: Sequence[Logged], size: int) -> Iterator[Sequence[Logged]]:
    return (entries[start : start + size] for start in range(0, len(entries), size))


def _facts(entry: Logged) -> dict[str, Any]:
    return {"task": entry.task, "at": clock.format_instant(entry.at), "ref": entry.ref}
