"""From refs to a ledger: read what they point at, a batch at a time, and never anything large."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from claims import record
from claims.errors import Undecided
from claims.git import Git, ObjectInfo, Objects, printable
from claims.ledger import Entry, Ledger
from claims.names import CLAIMS, LOCKS, LOG, SLOTS, ObjectId, RefName, TaskId, task_and_stamp_of_log_ref
from claims.names import task_of_claim_ref as task_of
from claims.record import Claim

_FORMAT = "%(refname)%00%(objectname)%00%(objecttype)%00%(objectsize)"


def list_refs(git: Git, prefixes: Sequence[str]) -> dict[RefName, ObjectInfo]:
    """Every ref below the prefixes, with the id, type and size of what it points at."""
    out = git.run("for-each-ref", f"--format={_FORMAT}", *(prefix.rstrip("/") for prefix in prefixes)).out
    refs: dict[RefName, ObjectInfo] = {}
    for line in out.decode("utf-8", "surrogateescape").split("\n")[:-1]:
        name, object_id, kind, size = line.split("\0")
        refs[RefName(name)] = ObjectInfo(ObjectId(object_id), kind, int(size))
    return refs


def resolve_refs(objects: Objects, names: Sequence[RefName]) -> dict[RefName, ObjectInfo]:
    """The same for refs whose names are known; those that are gone by now are left out."""
    infos = objects.info(names)
    return {name: info for name, info in zip(names, infos, strict=True) if info is not None}


def read_entries(objects: Objects, refs: Mapping[RefName, ObjectInfo], now: datetime) -> dict[RefName, Entry]:
    """Read the claim that each ref points at; an entry has its fault where there is none."""
    small = sorted({info.id for info in refs.values() if info.type == "blob" and info.size <= record.MAX_BYTES})
    blobs = dict(zip(small, objects.contents(small, type="blob", limit=record.MAX_BYTES), strict=True))
    return {ref: _entry(ref, info, blobs.get(info.id), now) for ref, info in refs.items()}


def build_ledger(
    entries: Mapping[RefName, Entry],
    now: datetime,
    logs: Iterable[TaskId],
    local: Mapping[RefName, Entry] | None = None,
) -> Ledger:
    """Sort entries by what their refs are. `logs` says which tasks' logs were read."""
    claims: dict[TaskId, Entry] = {}
    odd: list[Entry] = []
    by_log: dict[TaskId, list[Entry]] = {task: [] for task in logs}
    for ref, entry in sorted(entries.items()):
        if ref.startswith(CLAIMS):
            try:
                claims[task_of(ref)] = entry
            except ValueError:
                odd.append(entry)
        elif _is_below_key(ref):
            odd.append(entry)
        elif ref.startswith(LOG):
            task = TaskId(ref[len(LOG) :].partition("/")[0])
            if task in by_log:
                by_log[task].append(entry)
    keys = {ref: entry for ref, entry in entries.items() if ref.startswith((LOCKS, SLOTS)) and not _is_below_key(ref)}
    ordered = {task: tuple(found) for task, found in by_log.items()}
    return Ledger(now, claims, keys, ordered, local or {}, tuple(odd))


def resolve_base(base: str, info: ObjectInfo | None, branches: Iterable[str], where: str) -> ObjectId:
    """The commit of the base branch. Raises Undecided `base-not-found`, which names the branches that there are."""
    if info is not None and info.type == "commit":
        return info.id
    from shlex import quote

    names = sorted(map(printable, branches))
    listed = ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
    raise Undecided(
        "base-not-found",
        f"{where} has no branch {printable(base)!r} to take as base; its branches: {listed or 'none'}",
        f"--base {quote(names[0])}, or: git config swarm.base {quote(names[0])}"
        if names
        else "commit and push a first branch",
        {"base": base, "branches": names},
    )


def _entry(ref: RefName, info: ObjectInfo, data: bytes | None, now: datetime) -> Entry:
    if info.type != "blob":
        return Entry(ref, info.id, None, f"it is a {info.type}, not a blob")
    if data is None:
        return Entry(ref, info.id, None, f"{info.size} bytes; {record.MAX_BYTES} are read")
    try:
        claim = record.decode(data, now)
        _check_place(ref, claim)
    except ValueError as error:
        return Entry(ref, info.id, None, printable(str(error), 200))
    return Entry(ref, info.id, claim, published=not claim.local)


def _check_place(ref: RefName, claim: Claim) -> None:
    """A claim and a log entry stand at the ref that their contents name, a lock at no folder's. Raises ValueError."""
    if ref.startswith(CLAIMS) and claim.task != ref[len(CLAIMS) :]:
        raise ValueError(f"it is a claim on {claim.task}")
    if ref.startswith(LOG):
        task, stamp = task_and_stamp_of_log_ref(ref)
        if claim.closed is None or (claim.task, claim.closed.at) != (task, stamp):
            raise ValueError("it is not the closed record that its name says")
    if _is_below_key(ref):
        raise ValueError("its name is no lock's or slot's")


def _is_below_key(ref: str) -> bool:
    return ref.startswith((LOCKS, SLOTS)) and ref.count("/") > LOCKS.count("/")
