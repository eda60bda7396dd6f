"""`swarm status`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import click

from claims.cli import options, render
from claims.cli.wire import Work, perform
from claims.operations.status import Status, status
from claims.values import replace


@click.command("status")
@options.with_branch
@options.with_agent
@options.common
@click.pass_context
def command(context: click.Context) -> None:
    """Who holds what, and where you stand.

    Writes nothing: polling it renews no lease.

    \b
      swarm status
      swarm status --json | jq '.claims[] | select(.state == "expired")'
    """

    def operate(work: Work) -> Status:
        return status(work.session, work.arbiter)

    found, notices = perform(context, operate)
    whole = replace(found, notices=(*found.notices, *notices))
    render.result(context, whole.to_json(), _lines(whole), whole.notices)


def _lines(found: Status) -> Iterator[str]:
    base = found.base
    where = f"{base['remote']}/{base['branch']}" if base["remote"] else base["branch"]
    yield f"agent   {found.agent or '(no name: --agent, $SWARM_AGENT or git config swarm.agent)'}"
    yield f"branch  {found.branch or '(detached)'}{_distance(found, where)}"
    yield f"claim   {render.claim_lines(found.claim)[0] if found.claim else 'none'}"
    yield f"base    {where} at {base['commit'][:12]}, {_plan(found)}"
    yield from _section("claims", _lines_of(found.claims))
    merged = [claim for claim in found.finished if claim["merged"]]
    yield from _section("finished, not merged yet", _lines_of(one for one in found.finished if not one["merged"]))
    yield from _section("finished and merged", _lines_of(merged))
    yield from _section("overlaps", [_overlap(shared) for shared in found.overlaps])
    yield "tasks   " + ", ".join(f"{number} {state}" for state, number in found.counts.items() if number)


def _distance(found: Status, base: str) -> str:
    if found.ahead is None or found.behind is None:
        return ""
    if not (found.ahead or found.behind):
        return f", level with {base}"
    return f", {found.ahead} ahead of {base}, {found.behind} behind"


def _plan(found: Status) -> str:
    return "no plan" if found.plan is None else f"plan {found.plan['revision']} {found.plan['status']}"


def _section(title: str, lines: list[str]) -> Iterator[str]:
    if lines:
        yield f"{title}:"
        yield from (f"  {line}" for line in lines)


def _lines_of(claims: Iterable[Mapping[str, Any]]) -> list[str]:
    return [line for claim in claims for line in render.claim_lines(claim)]


def _overlap(shared: dict[str, object]) -> str:
    paths, patterns = shared["paths"], shared["patterns"]
    assert isinstance(paths, list) and isinstance(patterns, list)
    what = ", ".join(paths) if paths else ", ".join(" with ".join(pair) for pair in patterns)
    return f"{shared['task']} and {shared['other']} ({shared['agent']}): {what}"
