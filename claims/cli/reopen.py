"""`swarm reopen`."""

from __future__ import annotations

import click

from claims.cli import options
from claims.cli.claim_output import print_claim
from claims.cli.release import checked_reason
from claims.cli.wire import Work, perform
from claims.operations.reopen import reopen
from claims.operations.result import ClaimResult


@click.command("reopen")
@click.argument("task", metavar="ID")
@click.option(
    "--reason", metavar="TEXT", callback=checked_reason, required=True, help="Why, for whoever claims it next."
)
@options.with_agent
@options.common
@click.pass_context
def command(context: click.Context, task: str, reason: str) -> None:
    """Let a finished task be claimed again.

    For when its pull request was closed, or the task went another way.

    \b
      swarm reopen T-20260814-abcdef01 --reason 'pull request 17 was closed'
    """

    def operate(work: Work) -> ClaimResult:
        return reopen(work.session, work.arbiter, work.task(task), reason)

    result, notices = perform(context, operate, task)
    print_claim(context, result, notices, [f"reopened {result.claim.task}"])
