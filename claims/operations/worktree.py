"""Looking into the working tree, where a command's advice gets better by it. Decisions never rest on it."""

from __future__ import annotations

from pathlib import Path

from claims.board.task import State, task_path
from claims.names import TaskId
from claims.session import Session


def top_level(session: Session) -> Path | None:
    """The root of the working tree; None in a bare repository."""
    if session.repository.bare:
        return None
    answer = session.git.run("rev-parse", "--path-format=absolute", "--show-toplevel", ok=(0, 128))
    path = answer.out.decode("utf-8", "surrogateescape").removesuffix("\n")
    return Path(path) if answer.code == 0 and path.startswith("/") else None


def task_in_worktree(session: Session, task: TaskId) -> bool:
    """Whether a file of that task lies in the working tree, in whatever state."""
    top = top_level(session)
    return top is not None and any((top / task_path(task, state)).is_file() for state in State)
