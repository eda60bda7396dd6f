"""Judging without a clone: base, head and claims are fetched from the base repository, by exact names.

Commits and trees come first, without a single file; then the few files that are read, in one batch. So the cost grows
neither with the size of files nor with the number of claims.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from claims.arbiter import archive
from claims.arbiter.history import Logged
from claims.arbiter.reading import build_ledger, list_refs, read_entries
from claims.errors import Conflict, Undecided
from claims.git import FETCH, Git, ObjectInfo, ProcessTimedOut
from claims.ledger import Entry
from claims.names import ARCHIVE, ObjectId, RefName, TaskId, claim_ref, log_prefix
from claims.values import dataclass
from gate import bounds
from gate.evidence import Facts, Records
from gate.gather import Verify, gather
from gate.judge import judge, judge_nothing
from gate.landing import Commit, NoLanding
from gate.records import check_count
from gate.repository import DEADLINE, GateRepository, borrowed_git, sealed
from gate.verdict import Verdict

#: How often a base that moves while it is judged is judged anew.
_TRIES = 3
_REMOTE = "base"
_NO_BLOBS = "--filter=blob:none"
_BASE, _HEAD, _MERGE = RefName("refs/gate/base"), RefName("refs/gate/head"), RefName("refs/gate/merge")
#: Where the refs of claims are put: `refs/swarm/…` below it.
_CLAIMS = "refs/gate/"


@dataclass(frozen=True, slots=True)
class Source:
    """What to fetch: a URL, the refs of base, head and (where there may be one) of GitHub's test merge.

    `commit` is the one that head has to be at, where that is known: the one on which the verdict will be put. `config`
    are settings for git that reach the URL, such as a header with a token.
    """

    url: str
    base: RefName
    head: RefName
    merge: RefName | None = None
    object_format: str = "sha1"
    config: Mapping[str, str] | None = None
    commit: ObjectId | None = None


def judge_fetched(source: Source, facts: Facts, environ: Mapping[str, str], verify: Verify | None = None) -> Verdict:
    """Judge; where base moved meanwhile, again, at most three times.

    `verify` tells whether commits are verified as the author's; without it, that stays as the facts have it.

    Raises Conflict `moved` where head moved or base does not stand still; Undecided `remote-unreachable`, `timed-out`,
    `limits-exceeded` and whatever judging raises.
    """
    with fetching(source, environ) as repository:
        for _ in range(_TRIES):
            base, head, merge = repository.fetch_sides()
            if source.commit not in (None, head):
                raise _head_moved(source)
            verdict = judge_once(repository, facts, base, head, merge, verify)
            base_now, head_now = repository.look_again()
            if head_now != head:
                raise _head_moved(source)
            if base_now == base:
                return verdict
    raise Conflict("moved", f"{source.base} moved {_TRIES} times while it was judged", "run the job again")


def _head_moved(source: Source) -> Conflict:
    return Conflict("moved", f"{source.head} moved while it was judged", "the run of the new head judges it")


def judge_once(
    repository: FetchedRepository,
    facts: Facts,
    base: ObjectId,
    head: ObjectId,
    merge: Commit | None,
    verify: Verify | None,
) -> Verdict:
    """Judge these two commits, which are here. Raises Undecided."""

    def records_of(task: TaskId) -> Records:
        return repository.fetch_records(task, facts)

    try:
        return judge(gather(repository, facts, base, head, records_of, merge, verify))
    except NoLanding as reason:
        return judge_nothing(facts, base, head, reason)


class FetchedRepository(GateRepository):
    """A gate repository that borrows the objects of a `store`, which fetches them from one URL.

    Two, because git tries to fetch whatever it misses wherever a repository was fetched without its files. In the
    store that is a merge's to do: it alone knows which files it needs. Here nothing is fetched behind anybody's back.
    """

    def __init__(self, git: Git, store: Git, source: Source) -> None:
        super().__init__(git)
        self._store = store
        self._source = source

    @property
    def merging(self) -> Git:
        return self._store

    def merges(
        self, ours: ObjectId, theirs: ObjectId, directory_renames: Sequence[bool]
    ) -> list[tuple[ObjectId, bool]]:
        with bounds.at_most(bounds.MERGED):
            return super().merges(ours, theirs, directory_renames)

    def fetch_sides(self) -> tuple[ObjectId, ObjectId, Commit | None]:
        """Fetch base, then head with its objects checked; their commits, and the test merge where there is one."""
        source = self._source
        self._fetch(bounds.HISTORY, f"+{source.base}:{_BASE}", fsck=False)
        heads = [f"+{source.head}:{_HEAD}"]
        if source.merge is not None:
            heads.append(f"+{source.merge}*:{_MERGE}*")
        self._fetch(bounds.HISTORY, *heads)
        found = self._fetched()
        merge = found.get(_MERGE)
        test_merge = self.commit(merge.id) if merge is not None and merge.type == "commit" else None
        return _commit(found, _BASE), _commit(found, _HEAD), test_merge

    def fetch_refs(self, *refspecs: str, below: str) -> dict[RefName, ObjectId]:
        """Fetch what the refspecs name; the commits that are at or below a ref here afterwards."""
        self._fetch(bounds.HISTORY, *refspecs)
        listed = list_refs(self._store, [below])
        return {ref: info.id for ref, info in listed.items() if info.type == "commit"}

    def look_again(self) -> tuple[ObjectId, ObjectId]:
        """Base and head as they are by now."""
        source = self._source
        self._fetch(bounds.HISTORY, f"+{source.base}:{_BASE}-now", f"+{source.head}:{_HEAD}-now", fsck=False)
        found = self._fetched()
        return _commit(found, RefName(f"{_BASE}-now")), _commit(found, RefName(f"{_HEAD}-now"))

    def _fetched(self) -> dict[RefName, ObjectInfo]:
        return list_refs(self._store, [_CLAIMS])

    def fetch_records(self, task: TaskId, facts: Facts) -> Records:
        """The claims on record for a task: its claim ref, its log, and what was archived of it."""
        prefixes = (claim_ref(task), log_prefix(task), ARCHIVE)
        # Globs, because an exact name that is not there would fail the fetch; what else they match is left alone.
        self._fetch(bounds.CLAIMS, *(f"+{prefix}*:{_CLAIMS}{prefix.removeprefix('refs/')}*" for prefix in prefixes))
        listed = {RefName("refs/" + ref.removeprefix(_CLAIMS)): info for ref, info in self._fetched().items()}
        kept = {ref: info for ref, info in listed.items() if ref == claim_ref(task) or ref.startswith(log_prefix(task))}
        check_count(task, len(kept))
        entries = read_entries(self.objects, kept, facts.now)
        ledger = build_ledger(entries, facts.now, [task])
        archived = listed.get(ARCHIVE)
        old = archive.entries_of(self.objects, archived.id, [task]) if archived is not None else ()
        check_count(task, len(kept) + len(old))
        return Records(ledger.claims.get(task), ledger.logs.get(task, ()), self._read_archived(old, facts))

    def _read_archived(self, logged: Sequence[Logged], facts: Facts) -> tuple[Entry, ...]:
        self.bring([entry.blob for entry in logged])
        infos = self.objects.info([entry.blob for entry in logged])
        there = {entry.ref: info for entry, info in zip(logged, infos, strict=True) if info is not None}
        if len(there) != len(logged):
            raise Undecided("evidence-incomplete", "a record in the archive could not be fetched")
        return tuple(read_entries(self.objects, there, facts.now).values())

    def bring(self, blobs: Sequence[ObjectId]) -> None:
        missing = [blob for blob, info in zip(blobs, self.objects.info(blobs), strict=True) if info is None]
        if missing:
            self._fetch(bounds.FILES, *dict.fromkeys(missing))

    def _fetch(self, most: int, *names: str, fsck: bool = True) -> None:
        """Fetch at most so many bytes.

        Raises Undecided `remote-unreachable`, `timed-out`, `limits-exceeded`, and `evidence-incomplete` where git
        does not take an object for sound.
        """
        try:
            with bounds.at_most(most):
                self._store.run(
                    *("-c", f"fetch.fsckObjects={'true' if fsck else 'false'}", *FETCH, _NO_BLOBS, "--stdin", _REMOTE),
                    stdin="".join(f"{name}\n" for name in names).encode("utf-8"),
                    deadline=DEADLINE,
                    network=True,
                )
        except ProcessTimedOut:
            raise
        except Undecided as error:
            if error.code != "git-failed":
                raise
            if "fsck error" in error.message:
                raise Undecided("evidence-incomplete", error.message, "make the commits anew with git") from None
            raise Undecided("remote-unreachable", error.message, f"git ls-remote {self._source.url}") from None
        # Objects that came while it ran may be unknown to a reader that looked for them before.
        self.objects.close()


def _commit(found: Mapping[RefName, ObjectInfo], ref: RefName) -> ObjectId:
    info = found.get(ref)
    if info is None or info.type != "commit":
        raise Undecided("evidence-incomplete", f"{ref}: what was fetched is no commit")
    return info.id


@contextmanager
def fetching(source: Source, environ: Mapping[str, str]) -> Iterator[FetchedRepository]:
    """A gate repository that fetches from `source`, gone at the end."""
    with tempfile.TemporaryDirectory(prefix="swarm-gate-store-") as folder:
        store = sealed(Path(folder), source.object_format, environ)
        del store.environ["GIT_ALLOW_PROTOCOL"]
        settings = {
            f"remote.{_REMOTE}.url": source.url,
            f"remote.{_REMOTE}.promisor": "true",
            f"remote.{_REMOTE}.partialclonefilter": "blob:none",
            **(source.config or {}),
        }
        # Not by `git config`: others on the machine can read a process's arguments, and a token may be among these.
        store.environ["GIT_CONFIG_COUNT"] = str(len(settings))
        for number, (name, value) in enumerate(settings.items()):
            store.environ[f"GIT_CONFIG_KEY_{number}"], store.environ[f"GIT_CONFIG_VALUE_{number}"] = name, value
        with borrowed_git(store.directory / "objects", source.object_format, environ) as git:
            repository = FetchedRepository(git, store, source)
            try:
                yield repository
            finally:
                repository.objects.close()
