"""`swarm-gate rules`: list the rules, or explain one."""

from __future__ import annotations

import inspect
from types import ModuleType

import click

from claims.cli import options, render
from claims.errors import Usage
from gate.rules import RULES, id_of


@click.command("rules")
@click.argument("rule", metavar="[ID]", required=False)
@options.for_gate
@click.pass_context
def command(context: click.Context, rule: str | None) -> None:
    """List the rules, or explain one: what it forbids, why, and how to mend it.

    \b
      swarm-gate rules
      swarm-gate rules claim-current
    """
    if rule is None:
        listed = [{"rule": id_of(module), "summary": summary(module)} for module in RULES]
        render.result(context, {"rules": listed}, [f"{one['rule']:20} {one['summary']}" for one in listed])
        return
    module = next((module for module in RULES if id_of(module) == rule), None)
    if module is None:
        raise Usage("usage", f"there is no rule {rule!r}", "swarm-gate rules")
    text = explanation(module)
    render.result(context, {"rule": rule, "explanation": text}, text.splitlines())


def explanation(module: ModuleType) -> str:
    """A rule's docstring: what it forbids, why, how to fix it."""
    return inspect.cleandoc(module.__doc__ or "")


def summary(module: ModuleType) -> str:
    """The first paragraph of the explanation, on one line."""
    return " ".join(explanation(module).split("\n\n")[0].split())
