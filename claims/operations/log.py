"""`swarm log`: the closed claims, newest first, the archived ones too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from claims import clock
from claims.arbiter import archive
from claims.arbiter.history import History, Logged, LogRefs
from claims.arbiter.reading import read_entries
from claims.ledger import Entry
from claims.names import ARCHIVE, RefName, TaskId
from claims.notice import Notice
from claims.operations.result import claim_json
from claims.record import closed_to_json
from claims.values import dataclass

_NAMED = 10


@dataclass(frozen=True, slots=True)
class Log:
    """Entries as JSON-ready facts, newest first, and what is to be told besides.

    `both`: of a remote and of this clone.
    """

    entries: tuple[dict[str, Any], ...]
    notices: tuple[Notice, ...]
    both: bool = False

    def to_json(self) -> dict[str, Any]:
        return {"entries": list(self.entries), "warnings": [notice.to_json() for notice in self.notices]}


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an entry is: whose log or archive."""

    history: History
    archived: bool


def log(history: History, task: TaskId | None, limit: int, now: datetime, local: History | None = None) -> Log:
    """The latest `limit` entries, of `task` or of all. Names are listed; only the records that are shown are read.

    `local` is the log of this clone where a remote has another: of claims that were made without it.
    """
    places: dict[Logged, _Place] = {}
    odd: list[RefName] = []
    histories = [history] if local is None else [local, history]
    for one in histories:
        refs = one.list(task)
        odd += refs.odd
        # An entry may be in both: a prune that was killed, or is still at it.
        places |= dict.fromkeys(_archived(one, refs, task), _Place(one, True))
        places |= dict.fromkeys(refs.entries, _Place(one, False))
    shown = sorted(places, key=lambda entry: (-entry.at.timestamp(), entry.task))[:limit]
    found: dict[Logged, Entry] = {}
    for one in histories:
        one.bring([entry.blob for entry in shown if places[entry].history is one])
        for archived in (True, False):
            found |= _read(one, [entry for entry in shown if places[entry] == _Place(one, archived)], now)
    entries = [_entry_json(entry, found.get(entry), archived=places[entry].archived) for entry in shown]
    return Log(tuple(entries), (*_odd(odd), *_ahead(shown, now)), local is not None)


def _archived(history: History, refs: LogRefs, task: TaskId | None) -> tuple[Logged, ...]:
    if refs.archive is None:
        return ()
    if task is None:
        return archive.all_entries(history.objects, refs.archive)
    return archive.entries_of(history.objects, refs.archive, [task])


def _read(history: History, logged: Sequence[Logged], now: datetime) -> dict[Logged, Entry]:
    """The records of entries whose places differ, in one batch; those whose blob is gone are left out."""
    infos = history.objects.info([entry.blob for entry in logged])
    there = {entry.ref: (entry, info) for entry, info in zip(logged, infos, strict=True) if info is not None}
    read = read_entries(history.objects, {ref: info for ref, (_, info) in there.items()}, now)
    return {entry: read[ref] for ref, (entry, _) in there.items()}


def _entry_json(logged: Logged, entry: Entry | None, *, archived: bool) -> dict[str, Any]:
    place = {"ref": ARCHIVE, "path": archive.path_of(logged)} if archived else {"ref": logged.ref}
    if entry is None or entry.claim is None or entry.claim.closed is None:
        fault = "its blob is gone" if entry is None else entry.fault
        return {"task": logged.task, "state": "malformed", "id": logged.blob, "fault": fault, **place}
    claim = entry.claim
    assert claim.closed is not None
    return {**claim_json(claim), "closed": closed_to_json(claim.closed), **place}


def _odd(odd: Sequence[RefName]) -> Iterable[Notice]:
    if odd:
        names = ", ".join(odd[:_NAMED])
        more = f" and {len(odd) - _NAMED} more" if len(odd) > _NAMED else ""
        yield Notice("odd-log-ref", f"the name of no log entry: {names}{more}", {"refs": list(odd)})


def _ahead(shown: Iterable[Logged], now: datetime) -> Iterable[Notice]:
    for entry in shown:
        if entry.at > now + clock.MAX_SKEW:
            at = clock.format_instant(entry.at)
            message = f"{entry.ref} is dated {at}, which is ahead of this clock by more than five minutes"
            yield Notice("clock-skew", message, {"task": entry.task, "at": at})
