"""How the commands that act on one claim print it."""

from __future__ import annotations

from collections.abc import Iterable

import click

from claims.cli import render
from claims.clock import format_instant
from claims.notice import Notice
from claims.operations.result import ClaimResult
from claims.values import replace


def print_claim(context: click.Context, result: ClaimResult, more: Iterable[Notice], lines: Iterable[str]) -> None:
    """One claim object for programs, lines for people; the notices of the end are among its warnings."""
    whole = replace(result, notices=(*result.notices, *more))
    render.result(context, whole.to_json(), lines, whole.notices)


def claim_lines(result: ClaimResult) -> list[str]:
    """The claim in a line, its locks, and the commands that are left to do."""
    claim = result.claim
    until = f"until {format_instant(claim.expires_at)} ({render.duration(result.remaining)})"
    lines = [f"{claim.task} for {claim.agent} on {claim.branch} {until}"]
    if claim.locks:
        lines.append(f"  locks: {', '.join(claim.locks)}")
    if claim.local:
        lines.append("  in this clone only: there is no remote")
    return [*lines, *next_lines(result)]


def next_lines(result: ClaimResult) -> list[str]:
    return [] if result.left is None else ["what is left:", *(f"  {line}" for line in result.left.lines())]
