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
#: What no ref's name has in it; a revision's name, and what is counted from it.
_NO_REF = re.compile(r"[~^:]|@\{")
_REVISION = re.compile(r"(.*?)((?:[~^:]|@\{).*)?", re.DOTALL)
#: Where git looks for a name that is none: gitrevisions(7).
_GUESSED = ("refs/", "refs/tags/", "refs/heads/", "refs/remotes/")
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
    meant = _meaning(session, revision)
    try:
        info = session.objects.info([f"{meant}^{{commit}}"])[0] if meant is not None else None
    except Undecided as fault:
        if fault.code != "git-failed":
            raise
        info = None  # git dies of some, as of `@{upstream}` where there is none
    if info is None or info.type != "commit":
        raise _no_commit(session, meant or revision)
    return info.id


def _meaning(session: Session, revision: str) -> str | None:
    """The revision with the full name of its ref: that of a branch that is there, else it is left to git."""
    match = _REVISION.fullmatch(revision)
    assert match is not None
    name, counted = match[1], match[2] or ""
    if name in ("", "HEAD") or _ID.fullmatch(name):
        return revision
    full = name.startswith("refs/")
    wanted = [name] if full else [f"{_HEADS}{name}", f"refs/remotes/{name}", f"refs/remotes/{name}/HEAD"]
    there = refs_there(session, *wanted)
    if there:
        return f"{there[0]}{counted}"
    return None if full else revision


def refs_there(session: Session, *names: str) -> list[str]:
    """Those of the full names that are refs, in the order given.

    Asked for `refs/heads/main` where that is missing, git takes a tag of that name, `refs/tags/refs/heads/main`. So it
    is asked for whatever it could take as well; where there is such a thing, it lists what there is by full name.
    """
    plain = [name for name in names if _NO_REF.search(name) is None]
    infos = session.objects.info([*plain, *(f"{place}{name}" for name in plain for place in _GUESSED)])
    if not any(infos[len(plain) :]):
        return [name for name, info in zip(plain, infos, strict=False) if info is not None]
    listed = session.git.run("for-each-ref", "--format=%(refname)", *names).out.decode("utf-8", "surrogateescape")
    there = set(listed.split("\n"))
    return [name for name in names if name in there]


def _no_commit(session: Session, revision: str) -> SwarmError:
    """Why a revision cannot be had: a ref may name what is not here, as in a broken or partial clone."""
    named = session.git.run("rev-parse", "--verify", "--quiet", "--end-of-options", revision, ok=ANY_END)
    if named.code == 0 and session.objects.info([named.out.decode("ascii", "replace").strip()])[0] is None:
        message = f"{printable(revision)} names a commit that is not here"
        return Undecided("evidence-incomplete", message, "git fetch, or git fsck")
    return Usage("usage", f"{printable(revision)!r} names no commit here", "git fetch, or git rev-parse REV")


def branch_named_by(session: Session, revision: str) -> Branch | None:
    """The branch that a revision names, for `--head-branch`: a branch's own name, or HEAD where it is on one."""
    if revision == "HEAD":
        head = session.repository.head
        return Branch(head.removeprefix(_HEADS)) if head is not None and head.startswith(_HEADS) else None
    name = revision.removeprefix(_HEADS)
    return Branch(name) if refs_there(session, f"{_HEADS}{name}") else None


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
