"""`swarm check`."""

from __future__ import annotations

import click

from claims.cli import options
from claims.cli.claim_output import claim_lines, print_claim
from claims.cli.wire import Work, perform
from claims.operations.check import check
from claims.operations.result import ClaimResult


@click.command("check")
@click.argument("task", metavar="[ID]", required=False)
@options.with_branch
@options.with_token
@options.common
@click.pass_context
def command(context: click.Context, task: str | None) -> None:
    """Does this branch hold a live claim that base still supports?

    Exit 0, with what is left to do before the pull request; else every reason why not. Changes nothing.

    \b
      swarm check
      swarm check --branch agent/login --json
    """

    def operate(work: Work) -> ClaimResult:
        return check(work.session, work.arbiter, work.task(task))

    result, notices = perform(context, operate, task)
    lines = claim_lines(result)
    print_claim(context, result, notices, [f"you hold {lines[0]}", *lines[1:]])
