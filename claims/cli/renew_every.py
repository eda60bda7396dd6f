"""`swarm renew --every`: the loop in the foreground, its signals, and when it ends."""

from __future__ import annotations

import os
import select
import signal
import time
from datetime import datetime
from types import FrameType

import click

from claims import clock, tokens
from claims.arbiter import Arbiter
from claims.cli import options, render
from claims.cli.claim_output import claim_lines, print_claim
from claims.cli.wire import Work, perform
from claims.clock import format_instant
from claims.errors import EXIT_OK, SwarmError, Undecided
from claims.names import TaskId
from claims.operations.holding import end_of_own
from claims.operations.renew import renew
from claims.operations.result import ClaimResult
from claims.session import Options, Session
from claims.tokens import Token
from claims.values import dataclass, replace

#: Seconds until a renewal that failed for the network is tried again.
_RETRY = 5.0
#: Answers that say nothing about the claim: the next try may work.
_PASSING = ("remote-unreachable", "timed-out", "busy", "git-failed")


@dataclass(slots=True)
class _Kept:
    """What is read once: the task and the proof that it is ours; and until when the lease is known to run."""

    task: TaskId
    token: Token
    until: datetime


def renew_every(context: click.Context, task: str | None, minutes: int | None, every: int) -> int:
    """Renew now and every `every` minutes. Returns the exit status: 0 stopped or released, 2 lost, 3 ran out unseen."""
    stop = _Stop()
    kept: _Kept | None = None
    while True:
        pause = every * 60.0
        try:
            kept = _once(context, task, minutes, every, kept)
        except SwarmError as error:
            if kept is None:
                raise
            if error.code == "claim-lost" and _released(context, kept):
                return EXIT_OK
            if error.code not in _PASSING:
                raise
            left = (kept.until - clock.now()).total_seconds()
            if left <= 0:
                raise Undecided(
                    "remote-unreachable",
                    f"the lease of {kept.task} ran out at {format_instant(kept.until)} unrenewed: {error.message}",
                    f"swarm renew {kept.task}",
                ) from None
            render.error(error, as_json=options.wants_json(context))
            pause = min(_RETRY, left)
        if stop.wait(pause):
            return EXIT_OK


def _once(context: click.Context, task: str | None, minutes: int | None, every: int, kept: _Kept | None) -> _Kept:
    def operate(work: Work) -> tuple[ClaimResult, Token]:
        wanted = kept.task if kept is not None else work.task(task)
        session = work.session if kept is None else replace(work.session, token=kept.token)
        result = renew(session, work.arbiter, wanted, minutes, at_least=2 * every)
        return result, kept.token if kept is not None else _token_of(session, result)

    (result, token), notices = perform(
        context, operate, kept.task if kept is not None else task, _without(context, kept)
    )
    lines = claim_lines(result)
    print_claim(context, result, notices, [f"renewed {lines[0]}"])
    return _Kept(result.claim.task, tokens.settle(token), result.claim.expires_at)


def _without(context: click.Context, kept: _Kept | None) -> Options:
    """The options of the command line; once the token was read, what the environment says of it does not count."""
    chosen = options.chosen(context)
    return chosen if kept is None else replace(chosen, token=None)


def _token_of(session: Session, result: ClaimResult) -> Token:
    found = [token for token in session.tokens_for(result.claim.task) if token.hash == result.claim.token_hash]
    return found[0]


def _released(context: click.Context, kept: _Kept) -> bool:
    """Whether the claim is gone because its holder released it, not because somebody took it."""

    def operate(work: Work) -> bool:
        return _ended_as(work.arbiter, kept) in ("released", "done")

    return perform(context, operate, kept.task)[0]


def _ended_as(arbiter: Arbiter, kept: _Kept) -> str | None:
    ledger = arbiter.read([kept.task]).ledger
    record = end_of_own(ledger, kept.task, {kept.token.hash})
    return record.closed.outcome if record is not None and record.closed is not None else None


class _Stop:
    """SIGTERM and SIGINT end the wait at once and a renewal after it is done."""

    def __init__(self) -> None:
        self._asked = False
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._ask)

    def wait(self, seconds: float) -> bool:
        """Wait; True as soon as a signal asked to stop."""
        until = time.monotonic() + seconds
        while not self._asked and (left := until - time.monotonic()) > 0:
            select.select([self._reader], [], [], left)
        return self._asked

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self._asked = True
        try:
            os.write(self._writer, b".")
        except BlockingIOError:
            pass  # one byte in the pipe is enough
