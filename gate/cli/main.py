"""`swarm-gate`: the command that CI runs. Its edge, exit statuses and errors are those of `swarm`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from claims.cli.commands import Commands
from claims.cli.main import run
from claims.errors import EXIT_USAGE
from gate import __version__

#: Every command and its module, in the order in which the help lists them. A module is loaded when it is used.
COMMANDS = {
    "pr": "gate.cli.pr",
    "board": "gate.cli.board",
    "rules": "gate.cli.rules",
    "init": "gate.cli.init",
    "setup": "gate.cli.setup",
    "doctor": "gate.cli.doctor",
}

#: What an error's JSON has besides the error: a verdict that nobody can take for a pass.
ERROR = {"version": 1, "verdict": "error"}

HELP = """The gate holds pull requests to the claims behind them.

\b
  swarm-gate pr --base origin/main --head HEAD    the verdict that CI will give
  swarm-gate board                                is the board itself in order?
  swarm-gate rules claim-current                  what a rule forbids, why, and how to mend it
"""


@click.group(
    cls=Commands,
    modules=COMMANDS,
    help=HELP,
    invoke_without_command=True,
    subcommand_metavar="[COMMAND] [ARGS]...",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, message="swarm-gate %(version)s")
@click.pass_context
def swarm_gate(context: click.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())
        context.exit(EXIT_USAGE)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line; a status of `claims.errors`."""
    return run(swarm_gate, "swarm-gate", list(sys.argv[1:] if arguments is None else arguments), ERROR)
