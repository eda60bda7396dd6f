"""Wiring: from a command line to a session and an arbiter, and back to an orderly end."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import click

from claims.arbiter.choose import choose_arbiter
from claims.arbiter.peek import Peeked
from claims.cli import options
from claims.git import Git, working_tree
from claims.git_tree import board_at
from claims.names import TaskId
from claims.notice import Notice
from claims.operations.holding import claim_of_branch, tasks_with_tokens
from claims.operations.task_ids import resolve, whole_id
from claims.operations.worktree import tasks_elsewhere
from claims.session import Options, Session, open_session
from claims.values import dataclass

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Work:
    """A session and its arbiter, for one command."""

    session: Session
    arbiter: Peeked

    def task(self, text: str | None) -> TaskId:
        """The task that was typed; without one, that which this branch holds."""
        if text is not None:
            whole = whole_id(text)
            if whole is not None:
                return whole
        reading = self.arbiter.peek(tasks_with_tokens(self.session))
        if text is None:
            return claim_of_branch(self.session, reading.ledger)
        board = board_at(self.session, reading.base)
        return resolve(text, board, reading.ledger, lambda: tasks_elsewhere(self.session))


def in_working_tree(context: click.Context, operate: Callable[[Path], T]) -> T:
    """Operate on the working tree that the command runs in; nothing is asked of base, remote or claims."""
    return operate(working_tree(Git(options.chosen(context).directory, os.environ)))


def eight_digits() -> str:
    """Random hex digits, as task ids end in."""
    return os.urandom(4).hex()


def perform(
    context: click.Context, operate: Callable[[Work], T], task: str | None = None, chosen: Options | None = None
) -> tuple[T, list[Notice]]:
    """Open a session, operate, and bring the clone in line, whatever came of it.

    `task` is the id as it was typed, so that its log is listed on the way. Returns the result and the notices of the
    end.
    """
    whole = whole_id(task) if task is not None else None
    logs: Sequence[TaskId] = [whole] if whole is not None else []
    session = open_session(chosen or options.chosen(context), os.environ, logs=logs)
    try:
        arbiter = Peeked(choose_arbiter(session))
        try:
            value = operate(Work(session, arbiter))
        except Exception:
            arbiter.finish()
            raise
        return value, arbiter.finish()
    finally:
        session.objects.close()
