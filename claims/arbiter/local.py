"""The shared git directory as arbiter: one `git update-ref --stdin` transaction, synced to disk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from claims.arbiter import Outcome, Reading, Verdict
from claims.arbiter.reading import build_ledger, list_refs, read_entries, resolve_base, resolve_refs
from claims.git import DURABLE, SIGNALLED, Completed, Git, ObjectInfo, ProcessTimedOut
from claims.names import CLAIMS, LIVE, LOG, ObjectId, RefName, TaskId, branch_ref, log_prefix
from claims.notice import Notice
from claims.session import Session
from claims.transaction import Edit, Transaction
from claims.values import replace


class LocalArbiter:
    """Reads and writes the refs that all linked worktrees of a clone share.

    `base_ref` is where base is found, by default the local branch; where a remote arbitrates other claims, its
    remote-tracking branch serves for those that were made without it.
    """

    remote: str | None = None

    def __init__(self, session: Session, base_ref: RefName | None = None) -> None:
        self._session = session
        self._base_ref = base_ref or branch_ref(session.base)
        self._names_are_fresh = True

    def read(self, logs: Sequence[TaskId] = ()) -> Reading:
        session = self._session
        now = session.clock()
        base_ref = self._base_ref
        prefixes = (*LIVE, *map(log_prefix, logs))
        refs = self._resolve(prefixes, base_ref)
        base = refs.pop(base_ref, None)
        branches = [] if base else [ref.removeprefix("refs/heads/") for ref in list_refs(session.git, ["refs/heads/"])]
        commit = resolve_base(session.base, base, branches, "this repository")
        return Reading(commit, build_ledger(read_entries(session.objects, refs, now), now, logs))

    def _resolve(self, prefixes: Sequence[str], base_ref: RefName) -> dict[RefName, ObjectInfo]:
        """The refs below the prefixes, and base. The names that the session was opened with serve once."""
        session = self._session
        if self._names_are_fresh:
            self._names_are_fresh = False
            names = session.repository.names
            listed = {prefix for prefix in prefixes if prefix.startswith(LOG)} - set(session.logs_listed)
            if not listed:
                return resolve_refs(session.objects, [*names, base_ref])
        refs = list_refs(session.git, prefixes)
        return {**refs, **resolve_refs(session.objects, [base_ref])}

    def read_claims_again(self, reading: Reading) -> Reading:
        entries = read_entries(self._session.objects, list_refs(self._session.git, [CLAIMS]), reading.ledger.now)
        again = build_ledger(entries, reading.ledger.now, ())
        return replace(reading, ledger=replace(reading.ledger, claims=again.claims))

    def write(self, data: bytes) -> ObjectId:
        return write_blob(self._session.git, data)

    def apply(self, transaction: Transaction) -> Outcome:
        return update_refs(self._session.git, self._session.repository.zero, transaction.edits, durable=True)

    def finish(self) -> list[Notice]:
        return []


def write_blob(git: Git, data: bytes) -> ObjectId:
    """Store a blob, synced to disk, and return its id."""
    return ObjectId(git.run(*DURABLE, "hash-object", "-w", "--stdin", stdin=data).out.decode("ascii").strip())


def update_refs(git: Git, zero: ObjectId, edits: Iterable[Edit], *, durable: bool) -> Outcome:
    """Make all edits in one local transaction. git exits 128 whatever stands in the way; only its words differ."""
    stdin = b"".join(_instruction(edit, zero) for edit in edits)
    try:
        settings = DURABLE if durable else ()
        done = git.run(*settings, "update-ref", "--stdin", "-z", stdin=stdin, ok=(0, 1, 128, *SIGNALLED))
    except ProcessTimedOut as error:
        return Outcome(Verdict.UNKNOWN, error.message)
    return _outcome(done)


def current_ids(refs: Mapping[RefName, ObjectInfo]) -> dict[RefName, ObjectId]:
    """Only the ids, as expected values want them."""
    return {ref: info.id for ref, info in refs.items()}


def _instruction(edit: Edit, zero: ObjectId) -> bytes:
    """An expected value is always stated: to git an empty one means "do not check"."""
    if edit.new is None:
        return f"delete {edit.ref}\0{edit.old}\0".encode("utf-8", "surrogateescape")
    return f"update {edit.ref}\0{edit.new}\0{edit.old or zero}\0".encode("utf-8", "surrogateescape")


def _outcome(done: Completed) -> Outcome:
    if done.code in SIGNALLED:
        return Outcome(Verdict.UNKNOWN, f"git update-ref was ended by a signal ({done.code})")
    return Outcome(Verdict.APPLIED if done.code == 0 else Verdict.REFUSED, done.words)
