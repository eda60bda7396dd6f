"""`swarm release`."""

from __future__ import annotations

import click

from claims import record
from claims.arbiter.choose import arbiter_of_unpublished
from claims.cli import options
from claims.cli.claim_output import next_lines, print_claim
from claims.cli.wire import Work, perform
from claims.operations.left import left_to_pull_request, not_moved
from claims.operations.release import Unpublished, release
from claims.operations.result import ClaimResult
from claims.operations.worktree import asking_status, uncommitted
from claims.values import replace


def checked_reason(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """A reason is one line of printable text that a record can hold."""
    if value is None:
        return None
    text = " ".join(value.split())
    if not text or len(text) > record.MAX_REASON or not text.isprintable():
        raise click.BadParameter(f"one line of 1 to {record.MAX_REASON} printable characters")
    return text


@click.command("release")
@click.argument("task", metavar="[ID]", required=False)
@click.option("--reason", metavar="TEXT", callback=checked_reason, help="Why, for whoever claims it next.")
@click.option("--done", is_flag=True, help="The work is finished: nobody else may claim it until base has it.")
@options.with_token
@options.common
@click.pass_context
def command(context: click.Context, task: str | None, reason: str | None, done: bool) -> None:
    """End your claim.

    Without ID: the task that this branch holds. Works after the lease has run out, and from any branch.

    \b
      swarm release --done
      swarm release T-20260814-abcdef01 --reason 'needs a decision on the schema first'
    """

    def operate(work: Work) -> ClaimResult:
        wanted = work.task(task)
        try:
            result = release(work.session, work.arbiter, wanted, reason, done=done)
        except Unpublished:
            result = release(work.session, arbiter_of_unpublished(work.session), wanted, reason, done=done)
        if not done:
            return result
        with asking_status(work.session) as asked:
            notices = (
                *result.notices,
                *not_moved(work.session, result.claim),
                *uncommitted(work.session, result.claim, asked),
            )
        return replace(result, left=left_to_pull_request(work.session, result.claim), notices=notices)

    result, notices = perform(context, operate, task)
    verb = "was released before:" if result.already else ("finished" if done else "released")
    print_claim(context, result, notices, [f"{verb} {result.claim.task}", *next_lines(result)])
