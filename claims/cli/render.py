"""What people and programs read: results on stdout, warnings and errors on stderr, JSON where it was asked for."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

import click

from claims.cli import options
from claims.errors import SwarmError, Undecided
from claims.git import printable
from claims.notice import Notice


def result(context: click.Context, value: Any, lines: Iterable[str], notices: Iterable[Notice] = ()) -> None:
    """Print what a command found: `value` as JSON, else `lines`; with notices on stderr for people.

    Raises Undecided `output-failed`.
    """
    with written():
        if options.wants_json(context):
            print_json(value)
            return
        if options.is_quiet(context):
            return
        for line in lines:
            print(line)
        sys.stdout.flush()
    warn(context, notices)


@contextmanager
def written() -> Iterator[None]:
    """Tell a failure to write the output for what it is: the command has done its work.

    Raises Undecided `output-failed`; a pipe that nobody reads is left to the caller.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as fault:
        message = f"the command did what it was to do, but its output could not be written: {fault.strerror or fault}"
        raise Undecided("output-failed", message, "swarm status   # shows what is claimed") from None


def warn(context: click.Context, notices: Iterable[Notice]) -> None:
    """A line for each notice on stderr; under `--json` they are in the value."""
    if options.wants_json(context) or options.is_quiet(context):
        return
    for notice in notices:
        print(
            f"{_colored('warning', 'yellow', sys.stderr)}[{notice.code}]: {printable(notice.message, 2000)}",
            file=sys.stderr,
        )


def print_json(value: Any, file: TextIO | None = None) -> None:
    """One JSON value on one line. ASCII only, so that nothing in it can move a terminal."""
    print(json.dumps(value, ensure_ascii=True), file=file or sys.stdout, flush=True)


def error(problem: SwarmError, *, as_json: bool, envelope: Mapping[str, Any] | None = None) -> None:
    """Print an error on stderr, as one line and a hint, every further reason likewise; or as JSON in `envelope`."""
    if as_json:
        print_json({**(envelope or {}), "error": error_json(problem)}, sys.stderr)
        return
    reasons: Sequence[Mapping[str, Any]] = problem.details.get("reasons") or [error_json(problem)]
    for reason in reasons:
        label = _colored("error", "red", sys.stderr)
        print(f"{label}[{reason['code']}]: {printable(reason['message'], 4000)}", file=sys.stderr)
        if reason["hint"]:
            print(f"hint: {printable(reason['hint'], 4000)}", file=sys.stderr)


def error_json(problem: SwarmError) -> dict[str, Any]:
    return {
        "code": problem.code,
        "message": problem.message,
        "hint": problem.hint,
        "exit": problem.exit,
        "details": problem.details,
    }


def duration(seconds: int) -> str:
    """Seconds as people say them: `29m 58s`, `1h 5m`, `-3m 2s` once past."""
    sign, rest = ("-" if seconds < 0 else ""), abs(seconds)
    hours, minutes, left = rest // 3600, rest % 3600 // 60, rest % 60
    if hours:
        return f"{sign}{hours}h {minutes}m"
    return f"{sign}{minutes}m {left}s" if minutes else f"{sign}{left}s"


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of cells as lines, columns aligned to the left, without blanks at the end."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return [line.rstrip() for line in lines]


def claim_lines(claim: Mapping[str, Any]) -> list[str]:
    """A live claim on one line, from its JSON; a malformed one, and on a second line the command that deletes it."""
    if claim["state"] == "malformed":
        found = f"{printable(claim['ref'])}  MALFORMED: {printable(claim['fault'])}"
        return [found, f"  hint: {printable(claim['hint'], 4000)}"]
    return [_live_line(claim)]


def _live_line(claim: Mapping[str, Any]) -> str:
    parts = [claim["task"], claim["agent"], claim["branch"]]
    if claim["state"] == "finished":
        return "  ".join([*parts, "finished", *(["merged: swarm reap clears it"] if claim.get("merged") else [])])
    left = claim["remaining"]
    when = f"EXPIRED {duration(-left)} ago" if claim["state"] == "expired" else f"{duration(left)} left"
    parts += [f"plan {claim['planRevision']}", f"until {claim['expiresAt']}", when]
    if not claim["published"]:
        parts.append("local")
    return "  ".join(parts)


def _colored(text: str, color: str, stream: TextIO) -> str:
    plain = os.environ.get("NO_COLOR") or not stream.isatty() or os.environ.get("TERM") == "dumb"
    return text if plain else click.style(text, fg=color, bold=True)
