"""`swarm renew`."""

from __future__ import annotations

import click

from claims.cli import options
from claims.cli.claim_output import claim_lines, print_claim
from claims.cli.wire import Work, perform
from claims.operations.renew import renew
from claims.operations.result import ClaimResult


@click.command("renew")
@click.argument("task", metavar="[ID]", required=False)
@click.option("--minutes", type=click.IntRange(0, 1440), metavar="N", help="The lease from now (0 ends it).")
@click.option(
    "--every", type=click.IntRange(1, 120), metavar="N", help="Renew now and every N minutes, in the foreground."
)
@options.with_token
@options.common
@click.pass_context
def command(context: click.Context, task: str | None, minutes: int | None, every: int | None) -> None:
    """Make the lease of your claim longer.

    Without ID: the task that this branch holds. An expired claim that nobody took may be renewed. With --every it goes
    on until the claim is released (exit 0) or lost (exit 2), through a failing network until the lease runs out.

    \b
      swarm renew
      swarm renew T-20260814-abcdef01 --minutes 60
      swarm renew --every 10
    """
    if every is not None:
        if minutes is not None and minutes <= every:
            raise click.UsageError(f"--minutes {minutes}: a lease has to outlast --every {every}")
        from claims.cli.renew_every import renew_every

        context.exit(renew_every(context, task, minutes, every))

    def operate(work: Work) -> ClaimResult:
        return renew(work.session, work.arbiter, work.task(task), minutes)

    result, notices = perform(context, operate, task)
    lines = claim_lines(result)
    print_claim(context, result, notices, [f"renewed {lines[0]}", *lines[1:]])
