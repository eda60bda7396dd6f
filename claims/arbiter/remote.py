"""A remote as arbiter: one fetch to read, one atomic push to write, and the mirror kept in line."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

from claims.arbiter import Outcome, Reading, Verdict, mirror, porcelain
from claims.arbiter.local import current_ids, update_refs, write_blob
from claims.arbiter.reading import build_ledger, list_refs, read_entries, resolve_base, resolve_refs
from claims.errors import SwarmError, Undecided
from claims.git import ANY_END, FETCH, Completed, Git, ObjectInfo, ProcessTimedOut
from claims.ledger import Entry, Ledger
from claims.names import CLAIMS, FETCHES, LIVE, ObjectId, RefName, TaskId, branch_ref, log_prefix
from claims.notice import Notice
from claims.session import Session
from claims.transaction import Edit, Transaction
from claims.values import replace

#: Seconds after which what a killed fetch left behind is cleared away.
_LEFTOVER_AGE = 3600

_PUSH_CONFIG = ("push.gpgSign=false", "push.followTags=false", "push.pushOption=", "push.negotiate=false")
_PUSH = ("push", "--atomic", "--porcelain", "--no-verify", "--no-recurse-submodules")


class RemoteArbiter:
    """Reads and writes the refs of a remote; the local live refs are a mirror of them."""

    def __init__(self, session: Session, remote: str) -> None:
        self._session = session
        self.remote: str | None = remote
        self._name = remote
        self._tracking = RefName(f"refs/remotes/{remote}/{session.base}")
        #: The local live refs and the tracking base as they were before the first fetch.
        self._before: dict[RefName, ObjectId] | None = None
        #: The same as the remote has them, kept up with what was applied. None until it was read.
        self._latest: dict[RefName, ObjectId] | None = None
        self._own: set[RefName] = set()
        self._keep: dict[RefName, Entry] = {}
        self._to_delete: dict[RefName, ObjectId] = {}

    def read(self, logs: Sequence[TaskId] = ()) -> Reading:
        session = self._session
        if self._before is None:
            self._look_before_fetching()
        base_ref = branch_ref(session.base)
        refs = self._fetch([str(base_ref)], (*LIVE, *map(log_prefix, logs)))
        now = session.clock()
        base = resolve_base(session.base, refs.pop(base_ref, None), (), self._name)
        ledger = build_ledger(read_entries(session.objects, refs, now), now, logs)
        self._latest = {ref: info.id for ref, info in refs.items() if ref.startswith(LIVE)}
        self._latest[self._tracking] = base
        return Reading(base, self._with_unpublished(ledger))

    def read_claims_again(self, reading: Reading) -> Reading:
        refs = self._fetch([], [CLAIMS])
        again = build_ledger(read_entries(self._session.objects, refs, reading.ledger.now), reading.ledger.now, ())
        return replace(reading, ledger=replace(reading.ledger, claims=again.claims))

    def write(self, data: bytes) -> ObjectId:
        return write_blob(self._session.git, data)

    def apply(self, transaction: Transaction) -> Outcome:
        """One atomic push. Raises Undecided `remote-not-atomic`: several pushes would be no transaction."""
        outcome = push(self._session.git, self._name, transaction, self._session.network_deadline)
        if outcome.verdict is Verdict.APPLIED:
            self._note_applied(transaction)
        return outcome

    def finish(self) -> list[Notice]:
        """Move the mirror, the tracking base and nothing else, and delete what the fetches were kept under."""
        if self._before is None:
            return []
        clean_up = [Edit(ref, object_id, None) for ref, object_id in self._to_delete.items()]
        wanted = self._before if self._latest is None else self._latest
        moves = mirror.edits(self._before, wanted, set(self._keep) - self._own)
        try:
            return self._bring_in_line(moves, clean_up)
        except SwarmError as error:
            return [Notice("mirror-behind", f"this clone's copy of the claims is behind: {error.message}")]

    def differences(self) -> dict[RefName, tuple[ObjectId | None, ObjectId | None]]:
        """The live refs that were not here as the remote had them: what was here, what is there; None: no such ref.

        Claims that were made without the remote are none of them. Nothing where nothing was read.
        """
        if self._before is None or self._latest is None:
            return {}
        names = {name for name in (*self._before, *self._latest) if name.startswith(LIVE)} - set(self._keep)
        pairs = {name: (self._before.get(name), self._latest.get(name)) for name in names}
        return {name: (here, there) for name, (here, there) in pairs.items() if here != there}

    def let_go(self) -> None:
        """In place of `finish`: delete what the fetches were kept under, and leave the mirror as it is."""
        if self._to_delete:
            clean_up = [Edit(ref, object_id, None) for ref, object_id in self._to_delete.items()]
            update_refs(self._session.git, self._session.repository.zero, clean_up, durable=False)

    def _bring_in_line(self, moves: Sequence[Edit], clean_up: Sequence[Edit]) -> list[Notice]:
        git, zero = self._session.git, self._session.repository.zero
        # All at once where nobody else moves the mirror meanwhile; else at least what this command changed.
        own = [edit for edit in moves if edit.ref in self._own]
        tries = [[*moves, *clean_up], [*own, *clean_up], [*clean_up]]
        words = ""
        for number, edits in enumerate(tries):
            if number and edits == tries[number - 1]:
                continue
            outcome = update_refs(git, zero, edits, durable=False) if edits else Outcome(Verdict.APPLIED)
            if outcome.verdict is Verdict.APPLIED:
                break
            words = outcome.words
        else:
            return [Notice("mirror-behind", f"this clone's copy of the claims is behind: {words}")]
        return (
            []
            if not words or self._moved_by_others()
            else [Notice("mirror-behind", f"this clone's copy of the claims is behind: {words}")]
        )

    def _moved_by_others(self) -> bool:
        """Whether a failed update of the mirror is explained by another process that was at it too."""
        assert self._before is not None
        names = sorted({*self._before, *(self._latest or {})})
        now = current_ids(resolve_refs(self._session.objects, names))
        return any(now.get(name) != self._before.get(name) for name in names)

    def _look_before_fetching(self) -> None:
        """Note the mirror's expected values: read later, they could put an older state over a newer one."""
        session = self._session
        names = [name for name in session.repository.names if name.startswith(LIVE)]
        refs = resolve_refs(session.objects, [*names, self._tracking])
        self._before = current_ids(refs)
        refs.pop(self._tracking, None)
        self._local_refs = refs

    def _with_unpublished(self, ledger: Ledger) -> Ledger:
        assert self._latest is not None
        differing = {ref: info for ref, info in self._local_refs.items() if self._latest.get(ref) != info.id}
        entries = read_entries(self._session.objects, differing, ledger.now) if differing else {}
        self._keep = mirror.unpublished(entries, ledger)
        return replace(ledger, local=self._keep)

    def _fetch(self, refs: Sequence[str], prefixes: Sequence[str]) -> dict[RefName, ObjectInfo]:
        """Fetch refs and prefixes under names of this process's own, read what came, and give it its own names.

        Linked worktrees share refs: fetching onto shared names would make concurrent commands fail each other.
        """
        git = self._session.git
        place = f"{FETCHES}{int(time.time())}-{os.urandom(4).hex()}/"
        specs = [f"+{ref}:{_below(place, ref)}" for ref in refs]
        specs += [f"+{prefix}*:{_below(place, prefix)}*" for prefix in prefixes]
        try:
            done = git.run(
                *FETCH,
                self._name,
                *specs,
                ok=(0, 1, 128),
                deadline=self._session.network_deadline,
                network=True,
            )
        except ProcessTimedOut as error:
            raise self._unreachable(error.message) from None
        if done.code != 0:
            raise self._fetch_failure(done)
        found = list_refs(git, [FETCHES])
        mine = {ref: info for ref, info in found.items() if ref.startswith(place)}
        stale = {ref: info for ref, info in found.items() if _is_leftover(ref)}
        self._to_delete.update(current_ids({**mine, **stale}))
        return {RefName("refs/" + ref[len(place) :]): info for ref, info in mine.items()}

    def _fetch_failure(self, done: Completed) -> SwarmError:
        if "couldn't find remote ref" in done.err:
            try:
                listing = self._session.git.run(
                    "ls-remote", "--heads", self._name, deadline=self._session.network_deadline, network=True
                )
                lines = listing.out.decode("utf-8", "replace").splitlines()
                branches = [line.partition("\t")[2].removeprefix("refs/heads/") for line in lines]
                if self._session.base not in branches:
                    resolve_base(self._session.base, None, branches, self._name)
            except SwarmError as error:
                return error
        return self._unreachable(done.words)

    def _unreachable(self, words: str) -> SwarmError:
        return Undecided("remote-unreachable", f"{self._name}: {words}", f"git ls-remote {self._name}")

    def _note_applied(self, transaction: Transaction) -> None:
        assert self._latest is not None
        live = Transaction(tuple(edit for edit in transaction.edits if edit.ref.startswith(LIVE)))
        self._latest = live.after(self._latest)
        self._own.update(edit.ref for edit in live.edits)


def push(git: Git, remote: str, transaction: Transaction, deadline: float) -> Outcome:
    """One atomic push with an expected value for every ref. Raises Undecided `remote-not-atomic`."""
    assert transaction.edits, "told of no ref, git pushes what push.default says"
    config = [*_PUSH_CONFIG, f"remote.{remote}.mirror=false"]
    leases = [f"--force-with-lease={edit.ref}:{edit.old or ''}" for edit in transaction.edits]
    specs = [f"{edit.new or ''}:{edit.ref}" for edit in transaction.edits]
    settings = [part for item in config for part in ("-c", item)]
    try:
        pushed = git.run(*settings, *_PUSH, *leases, remote, *specs, ok=ANY_END, deadline=deadline, network=True)
    except ProcessTimedOut as error:
        return Outcome(Verdict.UNKNOWN, error.message)
    if porcelain.is_not_atomic(pushed):
        message = f"{remote} does not support atomic pushes, without which claims cannot exclude each other"
        raise Undecided("remote-not-atomic", message, f"git config receive.advertiseAtomic true   # on {remote}")
    return porcelain.judge_push(pushed, transaction)


def _below(place: str, ref: str) -> str:
    return place + ref.removeprefix("refs/")


def _is_leftover(ref: str) -> bool:
    started = ref[len(FETCHES) :].partition("-")[0]
    return not started.isdigit() or int(started) < time.time() - _LEFTOVER_AGE
