"""`swarm add`."""

from __future__ import annotations

import click

from claims import clock
from claims.board.task import Classification, Priority
from claims.cli import options, render
from claims.cli.wire import eight_digits, in_working_tree
from claims.operations.add import Wanted, add


@click.command("add")
@click.argument("title", metavar="TITLE")
@click.option(
    "--path", "paths", multiple=True, required=True, metavar="P", help="What the work may touch: a path or a pattern."
)
@click.option("--lock", "locks", multiple=True, metavar="K", help="A key that one claim at a time may hold.")
@click.option("--depends-on", multiple=True, metavar="ID", help="A task that has to be done first.")
@click.option(
    "--class",
    "classification",
    type=click.Choice([one.value for one in Classification]),
    default=Classification.FEATURE.value,
    help="The kind of change (feature).",
)
@click.option(
    "--priority",
    type=click.Choice([one.value for one in Priority]),
    default=Priority.P2.value,
    help="p0 comes first (p2).",
)
@click.option("--milestone", metavar="M", help="The milestone of the manifest that releases it.")
@click.option("--backlog", is_flag=True, help="Untriaged: nobody can claim it yet.")
@options.common
@click.pass_context
def command(
    context: click.Context,
    title: str,
    paths: tuple[str, ...],
    locks: tuple[str, ...],
    depends_on: tuple[str, ...],
    classification: str,
    priority: str,
    milestone: str | None,
    backlog: bool,
) -> None:
    """Write a task's file into the working tree and print its path. Commits nothing.

    It can be claimed once the base branch has it, and the manifest where it names the task. A path with a slash at the
    end is a folder; * and ? stop at slashes, ** as a whole segment does not.

    \b
      swarm add 'Log in with a key' --path src/auth/ --path 'tests/**/test_auth*.py' --milestone m1
      swarm add 'Tidy the schema' --path db/ --lock schema --depends-on abcdef01 --class simplification
    """
    wanted = Wanted(
        title, paths, locks, depends_on, Classification(classification), Priority(priority), milestone, backlog
    )
    added = in_working_tree(context, lambda top: add(top, wanted, clock.now().date(), eight_digits))
    value = {"task": added.task, "path": added.path, "warnings": [notice.to_json() for notice in added.notices]}
    render.result(context, value, [added.path], added.notices)
