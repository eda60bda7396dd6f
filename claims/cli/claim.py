"""`swarm claim`."""

from __future__ import annotations

import click

from claims.cli import options
from claims.cli.claim_output import claim_lines, print_claim
from claims.cli.wire import Work, perform
from claims.operations.claim import claim
from claims.operations.replacing import Request
from claims.operations.result import ClaimResult


@click.command("claim")
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
    """Take a task and all its locks for a branch, or nothing.

    Every reason against it is told. Claiming again what you hold says so and changes nothing.

    \b
      swarm claim T-20260814-abcdef01 --agent codex:auth
      swarm claim abcdef01 --minutes 60
      swarm claim abcdef01 --agent fork --branch topic --repository 1296269
    """

    def operate(work: Work) -> ClaimResult:
        return claim(work.session, work.arbiter, Request(work.task(task), minutes, repository))

    result, notices = perform(context, operate, task)
    first = "you hold" if result.already else "claimed"
    print_claim(context, result, notices, [f"{first} {claim_lines(result)[0]}", *claim_lines(result)[1:]])
