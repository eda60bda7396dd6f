"""`swarm reap`."""

from __future__ import annotations

import click

from claims.cli import options, render
from claims.cli.release import checked_reason
from claims.cli.wire import Work, perform
from claims.operations.reap import Reaped, reap


@click.command("reap")
@click.option("--dry-run", is_flag=True, help="Only say what would be cleared away.")
@click.option("--reason", metavar="TEXT", callback=checked_reason, help="Why, for the log.")
@options.with_agent
@options.common
@click.pass_context
def command(context: click.Context, dry_run: bool, reason: str | None) -> None:
    """Clear away what is over: expired claims, what killed processes left, and tasks that base has merged.

    Anyone may. Nothing that runs is touched, and every claim that ends goes into the log.

    \b
      swarm reap --dry-run
      swarm reap --reason 'nightly'
    """

    def operate(work: Work) -> Reaped:
        return reap(work.session, work.arbiter, reason, dry_run=dry_run)

    result, at_the_end = perform(context, operate)
    notices = [*result.notices, *at_the_end]
    value = {
        "reaped": result.reaped,
        "deleted": result.deleted,
        "skipped": result.skipped,
        "dryRun": dry_run,
        "warnings": [notice.to_json() for notice in notices],
    }
    would = "would be " if dry_run else ""
    lines = [f"{would}archived as expired: {_of(item)}" for item in result.reaped]
    lines += [f"{would}deleted ({item['kind']}): {_of(item)}" for item in result.deleted]
    lines += [f"skipped, {item['reason']}: {_of(item)}" for item in result.skipped]
    render.result(context, value, lines or ["nothing to clear away"], notices)


def _of(item: dict[str, object]) -> str:
    return f"{item['task']}  {item['agent']}  {item['ref']}"
