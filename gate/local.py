"""Judging from a clone: base and head are revisions of a repository on this machine, claims come from its arbiter."""

from __future__ import annotations

import re
from collections.abc import Mapping

from claims.arbiter import Arbiter
from claims.errors import Conflict, SwarmError, Undecided, Usage
from claims.git import ANY_END, printable
from claims.names import Branch, ObjectId, TaskId
from claims.session import Session
from claims.values import dataclass
from gate.evidence import Facts, Records
from gate.gather import gather
from gate.judge import judge, judge_nothing
from gate.landing import Commit, NoLanding
from gate.records import read_records
from gate.repository import GateRepository, borrowing
from gate.verdict import Verdict

_HEADS = "refs/heads/"
_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
#: How often a base that moves while it is judged is judged anew.
_TRIES = 3


@dataclass(frozen=True, slots=True)
class Request:
    """What `swarm-gate pr` was asked to judge. `merge` is a revision of GitHub's test merge."""

    base: str
    head: str
    merge: str | None = None
    facts: Facts | None = None


def judge_locally(
    session: Session, arbiter: Arbiter, request: Request, facts: Facts, environ: Mapping[str, str]
) -> Verdict:
    """Judge; where base moved meanwhile, again, at most three times.

    Raises Conflict `moved` where head moved or base does not stand still, and Undecided where something is missing.
    """
    objects = session.repository.common_dir / "objects"
    with borrowing(objects, session.repository.object_format, environ) as repository:
        for _ in range(_TRIES):
            base, head = resolve(session, request.base), resolve(session, request.head)
            merge = _merge_ref(session, repository, request.merge)
            verdict = _judge_once(session, arbiter, repository, facts, (base, head), merge)
            if resolve(session, request.head) != head:
                raise Conflict("moved", f"{printable(request.head)} moved while it was judged", "run the command again")
            if resolve(session, request.base) == base:
                return verdict
    raise Conflict(
        "moved", f"{printable(request.base)} moved {_TRIES} times while it was judged", "run the command again"
    )


def resolve(session: Session, revision: str) -> ObjectId:
    """The commit that a revision names. Raises Usage for one that names none.

    A branch goes before a tag: git has it the other way round, a fetch brings tags along, and whoever may push could
    name one `main`.
    """
    if revision.startswith("-") or not revision.isprintable():
        raise Usage("usage", f"{revision!r} is not a revision", "git rev-parse REV")
    names = [revision] if _is_full(revision) else [f"{_HEADS}{revision}", f"refs/remotes/{revision}", revision]
    for info in session.objects.info([f"{name}^{{commit}}" for name in names]):
        if info is not None and info.type == "commit":
            return info.id
    raise _no_commit(session, revision)


def _no_commit(session: Session, revision: str) -> SwarmError:
    """Why a revision cannot be had: a ref may name what is not here, as in a broken or partial clone."""
    named = session.git.run("rev-parse", "--verify", "--quiet", "--end-of-options", revision, ok=ANY_END)
    if named.code == 0 and session.objects.info([named.out.decode("ascii", "replace").strip()])[0] is None:
        message = f"{printable(revision)} names a commit that is not here"
        return Undecided("evidence-incomplete", message, "git fetch, or git fsck")
    return Usage("usage", f"{printable(revision)!r} names no commit here", "git fetch, or git rev-parse REV")


def _is_full(revision: str) -> bool:
    """Whether a revision can mean one thing only: an id, a full name, HEAD and what is counted from it."""
    return revision.startswith(("refs/", "HEAD")) or _ID.fullmatch(revision) is not None


def branch_named_by(session: Session, revision: str) -> Branch | None:
    """The branch that a revision names, for `--head-branch`: a branch's own name, or HEAD where it is on one."""
    if revision == "HEAD":
        head = session.repository.head
        return Branch(head.removeprefix(_HEADS)) if head is not None and head.startswith(_HEADS) else None
    name = revision.removeprefix(_HEADS)
    info = session.objects.info([f"{_HEADS}{name}"])[0]
    return Branch(name) if info is not None else None


def _judge_once(
    session: Session,
    arbiter: Arbiter,
    repository: GateRepository,
    facts: Facts,
    commits: tuple[ObjectId, ObjectId],
    merge: Commit | None,
) -> Verdict:
    base, head = commits

    def records_of(task: TaskId) -> Records:
        return read_records(session, arbiter, task, facts)

    try:
        evidence = gather(repository, facts, base, head, records_of, merge)
    except NoLanding as reason:
        return judge_nothing(facts, base, head, reason)
    return judge(evidence)


def _merge_ref(session: Session, repository: GateRepository, revision: str | None) -> Commit | None:
    if revision is None:
        return None
    return repository.commit(resolve(session, revision))
