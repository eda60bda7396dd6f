"""`swarm show`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

from claims.cli import options, render
from claims.cli.wire import Work, perform
from claims.git import printable
from claims.operations.show import Shown, show

#: Characters of a line of a task's file that are printed.
_WIDEST = 10_000


@click.command("show")
@click.argument("task", metavar="ID")
@options.with_agent
@options.common
@click.pass_context
def command(context: click.Context, task: str) -> None:
    """One task whole: where it stands, who holds it, how its last claim ended, and its file as base has it.

    \b
      swarm show T-20260814-abcdef01
      swarm show abcdef01 --json
    """

    def operate(work: Work) -> Shown:
        return show(work.session, work.arbiter, work.task(task))

    found, notices = perform(context, operate, task)
    value = {**found.to_json(), "warnings": [notice.to_json() for notice in notices]}
    render.result(context, value, _lines(found), notices)


def _lines(found: Shown) -> Iterator[str]:
    yield f"task   {found.task}"
    yield f"state  {found.state or 'not on base'}"
    if found.path is not None:
        yield f"file   {found.path}"
    first, *more = render.claim_lines(found.claim) if found.claim is not None else ["none"]
    yield f"claim  {first}"
    yield from (f"     {line}" for line in more)
    yield f"last   {_ended(found.last) if found.last is not None else 'none'}"
    yield f"ready  {'no' if found.reasons else 'yes'}"
    yield from (f"    {reason.code}: {printable(reason.message, 2000)}" for reason in found.reasons)
    if found.file is not None:
        yield ""
        yield from (printable(line.expandtabs(), _WIDEST) for line in found.file.splitlines())


def _ended(last: Mapping[str, Any]) -> str:
    closed = last["closed"]
    by = f" by {closed['by']}" if closed["by"] != last["agent"] else ""
    reason = f": {printable(closed['reason'], 2000)}" if closed["reason"] else ""
    return f"{last['agent']} on {last['branch']}, {closed['outcome']} at {closed['at']}{by}{reason}"
