"""What is left to a claim's holder before the pull request, and what would be forgotten."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from claims.board.task import State, task_path
from claims.ledger import Ledger
from claims.names import ObjectId, TaskId, branch_ref
from claims.notice import Notice
from claims.operations.result import Left
from claims.record import Claim
from claims.session import Session


def left_to_pull_request(session: Session, claim: Claim) -> Left:
    """The commands that are left before the pull request.

    The move of the task file and its status line, unless the branch has them here; the gate, the release, the push.
    """
    task, remote = claim.task, session.remote
    handing_in = (
        f"swarm-gate pr --base {shlex.quote(_base_name(session))} --head HEAD",
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


def work_before(session: Session, ledger: Ledger, claim: Claim, base: ObjectId) -> list[Notice]:
    """That the branch had work when it first claimed the task: the gate takes that for unclaimed. And the way out."""
    tip = _first_of(ledger, claim).branch_commit
    if tip is None or tip in (base, claim.base_commit):
        return []
    counted = session.git.run("rev-list", "--count", tip, f"^{base}", ok=(0, 128))
    count = int(counted.out or b"0")
    if counted.code != 0 or count == 0:
        return []
    task, branch = claim.task, shlex.quote(claim.branch)
    hint = (
        f"git switch -c {shlex.quote(f'{claim.branch}-2')} {shlex.quote(_base_name(session))} && "
        f"swarm release {task} --reason 'work before the claim' && swarm claim {task} --agent {claim.agent} && "
        f"git merge --squash {branch} && git commit --no-edit"
    )
    message = f"{claim.branch} had {count} commit{'s' if count > 1 else ''} that {session.base} lacks when it claimed "
    message += f"{task}: the gate takes work that precedes its claim as unclaimed; claim afresh: {hint}"
    return [Notice("work-before-claim", message, {"branch": claim.branch, "commits": count, "hint": hint})]


def _first_of(ledger: Ledger, claim: Claim) -> Claim:
    """The first of the claims of this branch on the task in an unbroken row that leads up to `claim`."""
    ended = (entry.claim for entry in ledger.logs.get(claim.task, ()) if entry.claim is not None)
    earlier = sorted((one for one in ended if one.claimed_at < claim.claimed_at), key=lambda one: one.claimed_at)
    first = claim
    for one in reversed(earlier):
        if (one.branch, one.repository) != (claim.branch, claim.repository):
            break
        first = one
    return first


def _base_name(session: Session) -> str:
    return f"{session.remote}/{session.base}" if session.remote else session.base


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
