"""Options that every command takes, before or after its name, and those that several share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from claims.session import Options

F = TypeVar("F", bound=Callable[..., Any])

#: Where the options are kept while a command line is parsed: on the outermost context.
_KEY = "swarm.options"


def common(function: F) -> F:
    """The options that stand before or after a command's name; the one nearer to the end of the line wins."""
    return _decorated(function, (_EVERYWHERE[0], _BASE, *_EVERYWHERE[1:]))


def for_gate(function: F) -> F:
    """The same for `swarm-gate`, where `--base` is a revision and a command's own."""
    return _decorated(function, _EVERYWHERE)


def with_token(function: F) -> F:
    """`--agent` and `--token`, for commands that use a claim."""
    return _option("--token", metavar="TOKEN", help="The claim's token (else $SWARM_TOKEN, else this worktree's).")(
        with_agent(function)
    )


def with_agent(function: F) -> F:
    """`--agent`, for commands that are somebody's."""
    return _option("--agent", metavar="NAME", help="Who you are (else $SWARM_AGENT, else git config swarm.agent).")(
        function
    )


def with_branch(function: F) -> F:
    """`--branch`, for commands that may speak of another branch than the one checked out."""
    return _option("--branch", metavar="BRANCH", help="The branch that is meant (else the one checked out).")(function)


def chosen(context: click.Context) -> Options:
    """The options of this command line, for `open_session`."""
    found = _found(context)
    return Options(
        directory=Path(found.get("directory") or "."),
        base=found.get("base"),
        remote=found.get("remote"),
        no_remote=bool(found.get("no_remote")),
        agent=found.get("agent"),
        token=found.get("token"),
        branch=found.get("branch"),
    )


def wants_json(context: click.Context) -> bool:
    return bool(_found(context).get("json"))


def is_quiet(context: click.Context) -> bool:
    return bool(_found(context).get("quiet"))


def _found(context: click.Context) -> dict[str, Any]:
    found: dict[str, Any] = context.find_root().meta.setdefault(_KEY, {})
    return found


def _decorated(function: F, decorators: Sequence[Callable[[F], F]]) -> F:
    for decorate in reversed(decorators):
        function = decorate(function)
    return function


def _keep(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    if value not in (None, False):
        _found(context)[parameter.name or ""] = value


def _option(*names: str, **settings: Any) -> Callable[[F], F]:
    return click.option(*names, expose_value=False, callback=_keep, **settings)


_BASE = _option(
    "--base", metavar="BRANCH", help="The base branch (else $SWARM_BASE, git config swarm.base, origin/HEAD)."
)
_EVERYWHERE = (
    _option("-C", "directory", metavar="DIR", help="Run as if started in DIR."),
    _option("--remote", metavar="NAME", help="The remote that decides (else $SWARM_REMOTE, swarm.remote, origin)."),
    _option("--no-remote", "no_remote", is_flag=True, help="Look at this clone only."),
    _option("--json", "json", is_flag=True, help="Print JSON: the result on stdout, an error on stderr."),
    _option("--quiet", "quiet", is_flag=True, help="Print nothing where it worked."),
)
