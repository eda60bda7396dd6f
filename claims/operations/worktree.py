"""Looking into the working tree, where a command's advice gets better by it. Decisions never rest on it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from claims import git
from claims.admission import Only
from claims.board.board import Board
from claims.board.task import State, task_path
from claims.board.worktree import WorkTree
from claims.git_tree import board_at
from claims.names import TaskId, branch_ref
from claims.notice import Notice
from claims.record import Claim
from claims.session import Session

#: Without a monitor that the configuration names, and without reading files to find what was renamed.
_ASK_STATUS = (
    *("-c", "core.fsmonitor=false"),
    *("status", "--porcelain", "-z", "--untracked-files=normal", "--ignore-submodules=all", "--no-renames"),
)
#: Seconds after which the working tree is too large to be looked at.
_STATUS_DEADLINE = 10.0
#: Names that are told.
_SHOWN = 10


def top_level(session: Session) -> Path | None:
    """The root of the working tree; None in a bare repository."""
    if session.repository.bare:
        return None
    return git.top_level(session.git)


def task_elsewhere(session: Session, task: TaskId) -> Only | None:
    """Where a task lies, in whatever state, that base as it counts does not have; None: nowhere here."""
    paths = [task_path(task, state) for state in State]
    if session.remote is not None and _has_one(session, branch_ref(session.base), paths):
        push = f"git push {shlex.quote(session.remote)} {shlex.quote(session.base)}"
        return Only(f"on the {session.base} of this clone, not on that of {session.remote}", push)
    if _has_one(session, "HEAD", paths):
        return Only("on the branch that is checked out", "swarm tasks --ready   # first have it merged to base")
    top = top_level(session)
    if top is not None and any((top / path).is_file() for path in paths):
        commit = f"git add :/.agents && git commit -m 'Add {task}'"
        return Only("in your working tree", f"{commit}   # then have it merged to base")
    return None


def tasks_elsewhere(session: Session) -> set[TaskId]:
    """The tasks in the places where `task_elsewhere` looks, by the names of their files."""
    tips = session.objects.info([branch_ref(session.base), "HEAD"])
    boards = [board_at(session, tip.id) for tip in tips if tip is not None]
    top = top_level(session)
    if top is not None:
        boards.append(Board(None, WorkTree(os.fspath(top))))
    return {task for board in boards for state in State for task in board.ids_in(state)}


def _has_one(session: Session, revision: str, paths: Sequence[str]) -> bool:
    return any(found is not None for found in session.objects.info([f"{revision}:{path}" for path in paths]))


@contextmanager
def asking_status(session: Session) -> Iterator[git.Begun | None]:
    """Have git look at the working tree while the caller does something else; `uncommitted` takes what it says.

    None in a bare repository. What nobody asked for in the end is stopped.
    """
    if session.repository.bare:
        yield None
        return
    begun = session.git.begin(*_ASK_STATUS)
    try:
        yield begun
    finally:
        begun.stop()


def uncommitted(session: Session, claim: Claim, asked: git.Begun | None) -> list[Notice]:
    """That the working tree has what no commit of the claim's branch has, and would not land, as git was `asked`.

    Nothing is said where another branch is checked out, where there is no working tree, and where git does not answer.
    """
    if asked is None or session.repository.head != branch_ref(claim.branch):
        return []
    try:
        told = asked.end(ok=git.ANY_END, deadline=_STATUS_DEADLINE)
    except git.ProcessTimedOut:
        return []
    if told.code != 0:
        return []
    lines = [line for line in told.out.decode("utf-8", "surrogateescape").split("\0") if line]
    untracked = [line[3:] for line in lines if line.startswith("??")]
    changed = [line[3:] for line in lines if not line.startswith("??")]
    if not lines:
        return []
    counts = [f"{len(found)} {what}" for found, what in ((changed, "changed"), (untracked, "untracked")) if found]
    names = ", ".join(map(git.printable, [*changed, *untracked][:_SHOWN]))
    more = f" and {len(lines) - _SHOWN} more" if len(lines) > _SHOWN else ""
    message = f"not committed on {claim.branch}, so it would not land: {' and '.join(counts)}: {names}{more}"
    details = {"branch": claim.branch, "changed": changed[:_SHOWN], "untracked": untracked[:_SHOWN]}
    return [Notice("uncommitted", message, details)]
