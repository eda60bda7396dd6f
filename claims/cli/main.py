"""`swarm`: the table of commands, and the edge at which exceptions become words and exit statuses."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

from claims import __version__
from claims.cli import options, render, streams
from claims.cli.commands import Commands
from claims.errors import EXIT_INTERRUPTED, EXIT_OK, EXIT_USAGE, SwarmError, Undecided, Usage

#: Every command and its module, in the order in which the help lists them. A module is loaded when it is used.
COMMANDS = {
    "init": "claims.cli.init",
    "add": "claims.cli.add",
    "tasks": "claims.cli.tasks",
    "show": "claims.cli.show",
    "claim": "claims.cli.claim",
    "renew": "claims.cli.renew",
    "release": "claims.cli.release",
    "steal": "claims.cli.steal",
    "check": "claims.cli.check",
    "status": "claims.cli.status",
    "reap": "claims.cli.reap",
    "reopen": "claims.cli.reopen",
    "log": "claims.cli.log",
    "prune": "claims.cli.prune",
    "demo": "claims.cli.demo",
}

HELP = """Claims keep coding agents that share one repository out of each other's way.

Claim a task before you edit anything; the claim is a lease that you renew, release, or lose.

\b
  swarm tasks --ready                  what can be claimed now
  swarm claim T-… --agent codex:auth   take it, with all its locks, or be told why not
  swarm renew --every 10               keep it while you work
  swarm check                          is it still mine, and what is left to do?
  swarm release --done                 finished: say so, then open the pull request
"""


@click.group(
    cls=Commands,
    modules=COMMANDS,
    help=HELP,
    invoke_without_command=True,
    subcommand_metavar="[COMMAND] [ARGS]...",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, message="swarm %(version)s")
@options.common
@click.pass_context
def swarm(context: click.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())
        context.exit(EXIT_USAGE)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line; a status of `claims.errors`. Never shows a traceback unless SWARM_DEBUG=1."""
    return run(swarm, "swarm", list(sys.argv[1:] if arguments is None else arguments))


def run(group: click.Group, name: str, arguments: list[str], envelope: Mapping[str, Any] | None = None) -> int:
    """Run a command line and return its exit status. An error's JSON has the members of `envelope` before `error`."""
    streams.prepare()
    as_json = "--json" in arguments[: arguments.index("--") if "--" in arguments else len(arguments)]
    try:
        status = _invoke(group, name, arguments)
        with render.written():
            sys.stdout.flush()
        return status
    except SwarmError as problem:
        return _tell(problem, as_json, envelope or {})
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        streams.give_up()
        return EXIT_OK
    except Exception as bug:
        if os.environ.get("SWARM_DEBUG") == "1":
            raise
        message = f"{type(bug).__name__}: {bug}"
        return _tell(Undecided("unexpected", message, "SWARM_DEBUG=1 shows the traceback"), as_json, envelope or {})


def _tell(problem: SwarmError, as_json: bool, envelope: Mapping[str, Any]) -> int:
    """Print an error; its exit status, which says it even where nobody reads the rest."""
    try:
        render.error(problem, as_json=as_json, envelope=envelope)
        sys.stdout.flush()  # what could not be written is not left for Python, which would exit with 120
    except OSError:
        streams.give_up()
    return problem.exit


def _invoke(group: click.Group, name: str, arguments: list[str]) -> int:
    """Let click parse and call, and turn its exceptions into ours. Or complete, where a shell asks for that."""
    variable = f"_{name.replace('-', '_').upper()}_COMPLETE"
    if instruction := os.environ.get(variable):
        from click.shell_completion import shell_complete

        return shell_complete(group, {}, name, variable, instruction)
    try:
        # Not `group.main`, which makes exit status 1 of a closed pipe, and a line of an interrupt.
        with group.make_context(name, arguments) as context:
            value: Any = group.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.Abort:
        return EXIT_INTERRUPTED
    except click.UsageError as wrong:
        where = wrong.ctx.command_path if wrong.ctx is not None else name
        raise Usage("usage", " ".join(wrong.format_message().split()), f"{where} --help") from None
    return value if isinstance(value, int) else EXIT_OK
