"""`swarm-gate`: the command that CI runs. Its edge, exit statuses and errors are those of `swarm`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from claims.cli.main import run
from claims.errors import EXIT_USAGE
from gate import __version__

HELP = """The gate holds pull requests to the claims behind them.

This version has no commands of its own yet: claims are what it ships, see `swarm --help`.
"""


@click.group(help=HELP, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="swarm-gate %(version)s")
@click.pass_context
def swarm_gate(context: click.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())
        context.exit(EXIT_USAGE)


def main(arguments: Sequence[str] | None = None) -> None:
    """The console script. Exits with a status of `claims.errors`."""
    sys.exit(run(swarm_gate, "swarm-gate", list(sys.argv[1:] if arguments is None else arguments)))
