"""The claims on record for a task, as the arbiter has them: its claim ref, its log, and what was archived of it."""

from __future__ import annotations

from claims.arbiter import Arbiter, archive
from claims.arbiter.history import History, LocalHistory, open_history
from claims.arbiter.reading import read_entries
from claims.errors import Undecided
from claims.ledger import Entry
from claims.names import TaskId, claim_ref
from claims.session import Session
from gate.evidence import Facts, Records
from gate.on_record import claims_on_record, is_heads

#: Records of one task that are looked at.
MAX_RECORDS = 1_000


def read_records(session: Session, arbiter: Arbiter, task: TaskId, facts: Facts) -> Records:
    """The claims on record for a task.

    What is archived ended before everything that is not, so it can make a claim serve and never overtake one: where a
    claim of the head branch serves without, a remote is not asked for its archive. Raises Undecided, also
    `limits-exceeded` for more than 1,000 records.
    """
    ledger = arbiter.read([task]).ledger
    at = ledger.claims.get(task)
    found = Records(at if at is not None else ledger.local.get(claim_ref(task)), ledger.logs.get(task, ()))
    check_count(task, len(found.log))
    if arbiter.remote is not None and any(is_heads(one.claim, facts) for one in claims_on_record(found, facts.now)):
        return found
    history = open_history(session) if arbiter.remote is not None else LocalHistory(session)
    try:
        return Records(found.at, found.log, _archived(history, task, facts, len(found.log)))
    finally:
        history.close()


def check_count(task: TaskId, count: int) -> None:
    """Raise Undecided `limits-exceeded` for more records of a task than are looked at."""
    if count > MAX_RECORDS:
        message = f"{task} has more than {MAX_RECORDS} claims on record"
        raise Undecided("limits-exceeded", message, "the operator deletes what never was a claim from its log")


def _archived(history: History, task: TaskId, facts: Facts, known: int) -> tuple[Entry, ...]:
    refs = history.list(task)
    if refs.archive is None:
        return ()
    logged = archive.entries_of(history.objects, refs.archive, [task])
    check_count(task, known + len(logged))
    history.bring([entry.blob for entry in logged])
    infos = history.objects.info([entry.blob for entry in logged])
    there = {entry.ref: info for entry, info in zip(logged, infos, strict=True) if info is not None}
    if len(there) != len(logged):
        raise Undecided("evidence-incomplete", f"records of {task} in the archive are not here", "git fetch")
    return tuple(read_entries(history.objects, there, facts.now).values())
