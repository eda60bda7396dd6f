"""`swarm steal`."""

from __future__ import annotations

import click

from claims.cli import options
from claims.cli.claim_output import claim_lines, print_claim
from claims.cli.wire import Work, perform
from claims.operations.replacing import Request
from claims.operations.result import ClaimResult
from claims.operations.steal import steal


@click.command("steal")
@click.argument("task", metavar="ID")
@click.option("--minutes", type=click.IntRange(1, 1440), metavar="N", help="The lease (else lease_minutes, 30).")
@click.option(
    "--repository", type=click.IntRange(1), metavar="ID", help="The numeric GitHub id of the head repository."
)
@options.with_branch
@options.with_token
@options.common
@click.pass_context
def command(context: click.Context, task: str, minutes: int | None, repository: int | None) -> None:
    """Take over a task whose claim has run out.

    The old claim is logged as stolen; a claim whose lease runs is refused.

    \b
      swarm steal T-20260814-abcdef01 --agent codex:auth
    """

    def operate(work: Work) -> ClaimResult:
        return steal(work.session, work.arbiter, Request(work.task(task), minutes, repository))

    result, notices = perform(context, operate, task)
    lines = claim_lines(result)
    old = result.claim.replaced
    if old is not None:
        lines.insert(1, f"  from {old.agent} on {old.branch}")
    first = "you hold" if result.already else "stole"
    print_claim(context, result, notices, [f"{first} {lines[0]}", *lines[1:]])
