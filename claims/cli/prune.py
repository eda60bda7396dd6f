"""`swarm prune`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing

import click

from claims.arbiter.history import open_history
from claims.board.task import task_path
from claims.cli import options, render
from claims.cli.wire import Work, perform
from claims.clock import format_instant
from claims.operations.prune import Pruned, prune


@click.command("prune")
@click.option("--dry-run", is_flag=True, help="Only say what would be folded.")
@options.common
@click.pass_context
def command(context: click.Context, dry_run: bool) -> None:
    """Fold old log entries into the archive, so that there are fewer refs. `swarm log` shows them still.

    Those of claims that ended longer ago than retention_days, on tasks that are finished on base or gone from it and
    that nothing there names any more. Task files are listed where they may go, never removed.

    \b
      swarm prune --dry-run
      swarm prune
    """

    def operate(work: Work) -> Pruned:
        with closing(open_history(work.session)) as history:
            return prune(work.session, work.arbiter, history, dry_run=dry_run)

    found, notices = perform(context, operate)
    value = {**found.to_json(), "dryRun": dry_run, "warnings": [notice.to_json() for notice in notices]}
    render.result(context, value, _lines(found, dry_run), notices)


def _lines(found: Pruned, dry_run: bool) -> Iterator[str]:
    would = "would be archived" if dry_run else "archived"
    if not found.folded:
        yield f"nothing to archive of what ended before {format_instant(found.before)}"
    for task, number in sorted(Counter(entry.task for entry in found.folded).items()):
        yield f"{would}: {task}, {number} ended {'claim' if number == 1 else 'claims'}"
    for skipped in found.skipped:
        yield f"stays: {skipped.entry.ref}: {skipped.reason}"
    if found.files:
        yield "finished, and nothing on base names them; these files may go:"
    for task, state in found.files:
        yield f"  {task_path(task, state)}"
