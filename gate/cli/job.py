"""`swarm-gate pr` as a job in GitHub Actions: judge what the event names, and show it where people look.

Whatever is printed here goes through `gate.report`, errors too: the runner obeys lines of its log.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import click

from claims.cli import options, streams
from claims.errors import EXIT_OK, EXIT_REFUSED, SwarmError, Undecided
from gate.report import text
from gate.report.actions import publish
from gate.report.fault import fault_of
from gate.report.summary import word_of
from gate.verdict import Verdict


def judge_job(context: click.Context, environ: Mapping[str, str], now: datetime) -> None:
    """Judge, show, and exit. Under `--json` standard output has the one value, and the rest goes to standard error."""
    from gate.github.api import Api, open_api
    from gate.github.event import PullRequestEvent, read_event
    from gate.github.judging import judge_event

    api: Api | None = None
    number: int | None = None
    results: Sequence[Verdict | SwarmError]
    try:
        event = read_event(environ)
        number = event.number if isinstance(event, PullRequestEvent) else None
        api = open_api(environ)
        results = [fault_of(one) or one for one in judge_event(api, event, environ, now)]
    except SwarmError as fault:
        results = [fault]
    except Exception as bug:
        if environ.get("SWARM_DEBUG") == "1":
            raise
        results = [Undecided("unexpected", f"{type(bug).__name__}: {bug}", "SWARM_DEBUG=1 shows the traceback")]
    value = value_of(results, group=number is None)
    as_json = options.wants_json(context)
    try:
        publish(results, value, log_of(results), environ, sys.stderr if as_json else sys.stdout, api, number)
        if as_json:
            # `##[` begins a command for the runner, wherever in a line it stands.
            print(json.dumps(value, ensure_ascii=True).replace("##[", "#\\u0023["), flush=True)
    except BrokenPipeError:
        streams.give_up()
    context.exit(status_of(results))


def value_of(results: Sequence[Verdict | SwarmError], *, group: bool) -> dict[str, Any]:
    """The results as JSON: one object for a pull request, and for a merge group one that has its units."""
    units = [_unit(one) for one in results]
    if len(units) == 1 and (not group or isinstance(results[0], SwarmError)):
        return units[0]
    return {"version": 1, "verdict": word_of(results), "units": units}


def log_of(results: Sequence[Verdict | SwarmError]) -> list[str]:
    """The report for people."""
    lines: list[str] = []
    for number, result in enumerate(results, 1):
        if len(results) > 1:
            lines.append(f"unit {number} of {len(results)}")
        if isinstance(result, SwarmError):
            lines.append(f"error[{result.code}]: {result.message}")
            lines += [f"hint: {result.hint}"] if result.hint else []
        else:
            lines += text.lines(result)
    return lines


def status_of(results: Sequence[Verdict | SwarmError]) -> int:
    """The exit status: of the worst error, else that of a fail, else 0."""
    errors = [one.exit for one in results if isinstance(one, SwarmError)]
    if errors:
        return max(errors)
    return EXIT_OK if word_of(results) == "pass" else EXIT_REFUSED


def _unit(result: Verdict | SwarmError) -> dict[str, Any]:
    if isinstance(result, Verdict):
        return result.to_json()
    error = {"code": result.code, "message": result.message, "hint": result.hint}
    return {"version": 1, "verdict": "error", "error": error}
