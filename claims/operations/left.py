"""What is left to a claim's holder before the pull request, and what would be forgotten."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from claims.board.task import State, task_path
from claims.names import TaskId, branch_ref
from claims.notice import Notice
from claims.operations.result import Left
from claims.record import Claim
from claims.session import Session


def left_to_pull_request(session: Session, claim: Claim) -> Left:
    """The commands that are left before the pull request.

    The move of the task file and its status line, unless the branch has them here; the gate, the release, the push.
    """
    task, remote = claim.task, session.remote
    base = f"{remote}/{session.base}" if remote else session.base
    handing_in = (
        f"swarm-gate pr --base {shlex.quote(base)} --head HEAD",
        *(() if claim.closed is not None else (f"swarm release {task} --done",)),
        *((f"git push {shlex.quote(remote)} {shlex.quote(claim.branch)}",) if remote else ()),
    )
    return Left(_there(session, claim), () if is_moved(session, claim) else _moving(task), handing_in)


def is_moved(session: Session, claim: Claim) -> bool:
    """Whether the tip of the claim's branch, as this clone has it, has the task's file in done/."""
    return session.objects.info([f"{branch_ref(claim.branch)}:{task_path(claim.task, State.DONE)}"])[0] is not None


def not_moved(session: Session, claim: Claim) -> list[Notice]:
    """That a claim ends as done whose branch does not have the task in done/: the pull request would fail."""
    if is_moved(session, claim):
        return []
    done = task_path(claim.task, State.DONE)
    message = f"{claim.branch} does not have {done}: nothing can land as done yet; what is left moves the file there"
    return [Notice("task-not-done", message, {"task": claim.task, "branch": claim.branch, "path": done})]


def _there(session: Session, claim: Claim) -> tuple[str, ...]:
    """How a shell gets to the root of the working tree, and that to the branch. Nothing where it is there."""
    folder = session.git.directory
    said = "" if folder == Path() else shlex.quote(os.fspath(folder))
    steps: list[str] = []
    if not os.path.lexists(folder / ".git"):  # a folder, or in a linked worktree a file
        steps.append(f'cd "$(git {f"-C {said} " if said else ""}rev-parse --show-toplevel)"')
    elif said:
        steps.append(f"cd {said}")
    if session.repository.head != branch_ref(claim.branch):
        steps.append(f"git switch {shlex.quote(claim.branch)}")
    return tuple(steps)


def _moving(task: TaskId) -> tuple[str, ...]:
    queued, done = task_path(task, State.QUEUED), task_path(task, State.DONE)
    return (
        # -k: where it was moved and not committed, the rest goes on.
        f"git mv -k {queued} {done}",
        # Not every sed edits in place without a suffix.
        f"sed -i.bak 's/^status: queued$/status: done/' {done}",
        f"rm {done}.bak",
        f"git commit -am 'Finish {task}'",
    )
