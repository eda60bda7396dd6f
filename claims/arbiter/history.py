"""The log of ended claims and its archive, where they are kept: names first, then what is wanted and no more.

The log is not mirrored. What is read of a remote's goes into a repository of its own, below this worktree's private
git directory, and that goes when the command ends: the clone is left with no ref, object, shallow or promisor entry.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import Protocol

from claims.arbiter import Outcome
from claims.arbiter.local import update_refs
from claims.arbiter.remote import push
from claims.errors import SwarmError, Undecided
from claims.git import ANY_END, FETCH, Git, Objects, ProcessTimedOut, top_level
from claims.names import ARCHIVE, LOG, ObjectId, RefName, TaskId, log_prefix, log_ref, task_and_stamp_of_log_ref
from claims.session import Session
from claims.transaction import Transaction
from claims.values import dataclass, replace

#: Below the private git directory. The name goes on with the unix seconds of its making.
_SCRATCH = "scratch-"
#: Seconds after which what a killed command left behind is cleared away.
_LEFTOVER_AGE = 3600

#: The archive comes without the records in it: those that are wanted are asked for by id.
_NAMES_ONLY = "--filter=blob:none"


@dataclass(frozen=True, slots=True)
class Logged:
    """An ended claim's place in the log: when it ended, its task, and the blob that tells the rest."""

    at: datetime
    task: TaskId
    blob: ObjectId

    @property
    def ref(self) -> RefName:
        """The log ref that holds it, or held it before it was archived."""
        return log_ref(self.task, self.at)

    @property
    def order(self) -> tuple[datetime, TaskId, ObjectId]:
        """To sort by: the oldest first."""
        return self.at, self.task, self.blob


@dataclass(frozen=True, slots=True)
class LogRefs:
    """The log as its refs tell it. `odd` are refs below the log's prefix whose names are no entry's."""

    entries: tuple[Logged, ...]
    archive: ObjectId | None
    odd: tuple[RefName, ...] = ()


class History(Protocol):
    """Reads and changes the log and its archive. `git` and `objects` are where both are found."""

    git: Git
    objects: Objects

    def list(self, task: TaskId | None = None) -> LogRefs:
        """The log's refs, of one task or all, and the archive's commit with its trees. Raises Undecided."""

    def bring(self, blobs: Sequence[ObjectId]) -> None:
        """Make blobs readable that `list`, or the archive's trees, named. Raises Undecided."""

    def apply(self, transaction: Transaction) -> Outcome:
        """Make all edits or none."""

    def close(self) -> None:
        """Leave nothing behind."""


class LocalHistory:
    """The log in the shared git directory."""

    def __init__(self, session: Session) -> None:
        self.git = session.git
        self.objects = session.objects
        self._zero = session.repository.zero

    def list(self, task: TaskId | None = None) -> LogRefs:
        return _sorted(_ids(self.git, (log_prefix(task) if task is not None else LOG, ARCHIVE)))

    def bring(self, blobs: Sequence[ObjectId]) -> None:
        """They are here."""

    def apply(self, transaction: Transaction) -> Outcome:
        return update_refs(self.git, self._zero, transaction.edits, durable=True)

    def close(self) -> None:
        """There is nothing to leave behind."""


class RemoteHistory:
    """The log of a remote."""

    def __init__(self, session: Session, remote: str) -> None:
        self._name = remote
        self._deadline = session.network_deadline
        self._scratch = _make_scratch(session)
        # To git, a relative URL is relative to the root of the working tree.
        self.git = Git(top_level(session.git) or session.git.directory, session.git.environ, self._scratch)
        self.objects = self.git.objects()

    def list(self, task: TaskId | None = None) -> LogRefs:
        if task is not None:
            return _sorted(self._fetch_below(log_prefix(task), ARCHIVE))
        log = _sorted(self._list_all())
        if log.archive is None:
            return log
        fetched = dict(self._fetch_below(ARCHIVE))
        return replace(log, archive=fetched.get(ARCHIVE, log.archive))

    def bring(self, blobs: Sequence[ObjectId]) -> None:
        if blobs:
            self._fetch(names=sorted(set(blobs)))

    def apply(self, transaction: Transaction) -> Outcome:
        return push(self.git, self._name, transaction, self._deadline)

    def close(self) -> None:
        self.objects.close()
        shutil.rmtree(self._scratch, ignore_errors=True)

    def _fetch_below(self, *prefixes: str) -> Iterator[tuple[RefName, ObjectId]]:
        """Fetch the refs below prefixes. Globs, because an exact name that is not there would fail the fetch."""
        self._fetch(_NAMES_ONLY, names=[f"+{prefix}*:{prefix}*" for prefix in prefixes])
        return _ids(self.git, prefixes)

    def _list_all(self) -> Iterator[tuple[RefName, ObjectId]]:
        """The names and ids of every log ref. Costs the names of all the remote's refs (git sends no prefix here)."""
        out = self._run("ls-remote", "--refs", self._name, f"{LOG}*", ARCHIVE)
        for line in BytesIO(out):
            object_id, _, ref = line.decode("utf-8", "surrogateescape").removesuffix("\n").partition("\t")
            # git takes a pattern for the end of a name as well: refs/heads/refs/swarm/… would do.
            if ref.startswith(LOG) or ref == ARCHIVE:
                yield RefName(ref), ObjectId(object_id)

    def _fetch(self, *options: str, names: Iterable[str]) -> None:
        self._run(*FETCH, *options, "--stdin", self._name, stdin="".join(f"{name}\n" for name in names))
        # Objects that came while it ran may be unknown to a reader that looked for them before.
        self.objects.close()

    def _run(self, *args: str, stdin: str = "") -> bytes:
        try:
            done = self.git.run(*args, stdin=stdin.encode("ascii"), ok=ANY_END, deadline=self._deadline, network=True)
        except ProcessTimedOut as error:
            raise self._unreachable(error.message) from None
        if done.code != 0:
            raise self._unreachable(done.words)
        return done.out

    def _unreachable(self, words: str) -> SwarmError:
        return Undecided("remote-unreachable", f"{self._name}: {words}", f"git ls-remote {self._name}")


def _ids(git: Git, prefixes: Sequence[str]) -> Iterator[tuple[RefName, ObjectId]]:
    """The refs below the prefixes, their objects unread; one at a time, for there may be tens of thousands."""
    patterns = [prefix.rstrip("/") for prefix in prefixes]
    out = git.run("for-each-ref", "--format=%(objectname)%00%(refname)", *patterns).out
    for line in BytesIO(out):
        object_id, _, ref = line.decode("utf-8", "surrogateescape").removesuffix("\n").partition("\0")
        yield RefName(ref), ObjectId(object_id)


def _sorted(refs: Iterable[tuple[RefName, ObjectId]]) -> LogRefs:
    archive: ObjectId | None = None
    entries: list[Logged] = []
    odd: list[RefName] = []
    tasks: dict[TaskId, TaskId] = {}  # a task of many entries is one string
    for ref, object_id in refs:
        if ref == ARCHIVE:
            archive = object_id
            continue
        try:
            task, at = task_and_stamp_of_log_ref(ref)
        except ValueError:
            odd.append(ref)
        else:
            entries.append(Logged(at, tasks.setdefault(task, task), object_id))
    entries.sort(key=lambda entry: entry.order)
    return LogRefs(tuple(entries), archive, tuple(sorted(odd)))


def _make_scratch(session: Session) -> Path:
    """An empty repository that reaches the remote as the clone does: it includes the clone's configuration.

    It lies within the clone's git directory, so that configuration which is conditional on the place holds for it too.
    """
    folder = session.repository.private_dir
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _clear_leftovers(folder)
    scratch = folder / f"{_SCRATCH}{int(time.time())}-{os.urandom(4).hex()}"
    kind = f"--object-format={session.repository.object_format}"
    session.git.run("init", "--quiet", "--bare", "--template=", kind, str(scratch))
    for path in filter(Path.exists, (session.repository.common_dir / "config", folder.parent / "config.worktree")):
        session.git.run("config", "--file", str(scratch / "config"), "--add", "include.path", str(path))
    return scratch


def _clear_leftovers(folder: Path) -> None:
    for path in folder.glob(f"{_SCRATCH}*"):
        started = path.name[len(_SCRATCH) :].partition("-")[0]
        if not started.isdigit() or int(started) < time.time() - _LEFTOVER_AGE:
            shutil.rmtree(path, ignore_errors=True)


def open_history(session: Session) -> History:
    """The log of whoever arbitrates in this session. Close it."""
    return LocalHistory(session) if session.remote is None else RemoteHistory(session, session.remote)
