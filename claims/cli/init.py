"""`swarm init`."""

from __future__ import annotations

from collections.abc import Iterator

import click

from claims import clock
from claims.cli import options, render
from claims.cli.wire import eight_digits, in_working_tree
from claims.git import printable
from claims.operations.init import Initialised, init


@click.command("init")
@options.common
@click.pass_context
def command(context: click.Context) -> None:
    """Write the first files of a board below .agents/: configuration, plan, manifest, folders, an example of a task.

    In the working tree, committing nothing. What is there already stays as it is.

    \b
      swarm init && git add .agents && git commit -m 'Add the board'
    """
    found = in_working_tree(context, lambda top: init(top, clock.now().date(), eight_digits))
    render.result(context, {**found.to_json(), "warnings": []}, _lines(found))


def _lines(found: Initialised) -> Iterator[str]:
    yield from (f"wrote  {printable(path)}" for path in found.written)
    yield from (f"kept   {printable(path)}" for path in found.kept)
    yield "next:"
    yield from (f"  {step}" for step in found.next_steps)
