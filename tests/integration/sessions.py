"""Sessions and arbiters in this process, over real repositories."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from claims import clock
from claims.arbiter import Arbiter, Outcome, Reading
from claims.arbiter.choose import choose_arbiter
from claims.names import ObjectId, TaskId
from claims.notice import Notice
from claims.session import Options, Session, open_session
from claims.transaction import Transaction
from tests.support.repo import Repo


@contextmanager
def opened(
    repo: Repo | Path,
    *,
    logs: Sequence[TaskId] = (),
    now: Callable[[], datetime] = clock.now,
    env: dict[str, str] | None = None,
    **said: Any,
) -> Iterator[Session]:
    """A session in `repo`; `said` are further `Options`, `env` further environment."""
    directory = repo.path if isinstance(repo, Repo) else repo
    session = open_session(Options(directory=directory, **said), {**os.environ, **(env or {})}, logs=logs, now=now)
    try:
        yield session
    finally:
        session.objects.close()


@contextmanager
def arbitrated(repo: Repo, **said: Any) -> Iterator[tuple[Session, Arbiter]]:
    """The same with its arbiter, whose mirror is brought in line at the end."""
    with opened(repo, **said) as session:
        arbiter = choose_arbiter(session)
        yield session, arbiter
        arbiter.finish()


class Around:
    """An arbiter with something done around its calls: override what is to differ."""

    def __init__(self, arbiter: Arbiter) -> None:
        self.inner = arbiter
        self.remote = arbiter.remote

    def read(self, logs: Sequence[TaskId] = ()) -> Reading:
        return self.inner.read(logs)

    def read_claims_again(self, reading: Reading) -> Reading:
        return self.inner.read_claims_again(reading)

    def write(self, data: bytes) -> ObjectId:
        return self.inner.write(data)

    def apply(self, transaction: Transaction) -> Outcome:
        return self.inner.apply(transaction)

    def finish(self) -> list[Notice]:
        return self.inner.finish()
