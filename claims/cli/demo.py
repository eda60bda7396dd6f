"""`swarm demo`."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import click

from claims.cli import options, render
from claims.demo.story import tell
from claims.demo.terminal import Terminal


@click.command("demo")
@click.option("--keep", is_flag=True, help="Leave the folder behind, to look around in it.")
@options.common
@click.pass_context
def command(context: click.Context, keep: bool) -> None:
    """See claims and the gate at work, in a temporary folder.

    An origin, two worktrees and a second clone; then one honest branch that the gate lets pass, and five moves that it
    does not: real commands with their real output. Needs no network and touches nothing of yours. Fails where a command
    does not end as the story tells.

    \b
      swarm demo
      swarm demo --keep
    """
    silent = options.is_quiet(context) or options.wants_json(context)
    folder = Path(tempfile.mkdtemp(prefix="swarm-demo-")).resolve()
    try:
        terminal = Terminal(folder, os.environ, (lambda line: None) if silent else _print)
        tell(terminal)
        value = {"steps": [step.to_json() for step in terminal.steps], "folder": str(folder) if keep else None}
        render.result(context, value, [f"\nall as told; {f'kept in {folder}' if keep else 'the folder is gone again'}"])
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def _print(line: str) -> None:
    print(line, flush=True)
