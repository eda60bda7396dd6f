"""Looking into the working tree, where a command's advice gets better by it. Decisions never rest on it."""

from __future__ import annotations

from pathlib import Path

from claims import git
from claims.board.task import State, task_path
from claims.names import TaskId
from claims.session import Session


def top_level(session: Session) -> Path | None:
    """The root of the working tree; None in a bare repository."""
    if session.repository.bare:
        return None
    return git.top_level(session.git)


def task_in_worktree(session: Session, task: TaskId) -> bool:
    """Whether a file of that task lies in the working tree, in whatever state."""
    top = top_level(session)
    return top is not None and any((top / task_path(task, state)).is_file() for state in State)
