"""`swarm tasks`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from claims.cli import options, render
from claims.cli.wire import Work, perform
from claims.git import printable
from claims.operations.tasks import Queued, tasks


@click.command("tasks")
@click.option("--ready", is_flag=True, help="Only those that can be claimed now.")
@options.with_agent
@options.common
@click.pass_context
def command(context: click.Context, ready: bool) -> None:
    """The queued tasks on base by priority, each with every reason why it cannot be claimed now.

    What depends on who asks (reservations, one claim an agent) is judged for --agent.

    \b
      swarm tasks --ready
      swarm tasks --json | jq -r '.tasks[] | select(.ready) | .task'
    """

    def operate(work: Work) -> list[Queued]:
        return tasks(work.session, work.arbiter, ready=ready)

    found, notices = perform(context, operate)
    value = {"tasks": [one.to_json() for one in found], "warnings": [notice.to_json() for notice in notices]}
    render.result(context, value, _lines(found, ready), notices)


def _lines(found: Sequence[Queued], ready: bool) -> Iterator[str]:
    if not found:
        yield "no queued task can be claimed now" if ready else "no task is queued"
    for one in found:
        title = printable(one.title) if one.title is not None else "(does not read)"
        yield f"{one.task}  {one.priority or '--'}  {title}"
        yield from (f"    {reason.code}: {printable(reason.message, 2000)}" for reason in one.reasons)
