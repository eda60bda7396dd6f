"""One annotation a finding, as workflow commands on standard output; GitHub shows ten of a kind for a step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from claims.errors import SwarmError
from gate.report.escape import command_data, command_property
from gate.verdict import Finding, Remark, Verdict

#: Annotations of one kind that GitHub shows for one step, and characters of one.
MOST = 10
MAX_TEXT = 4_096
_MAX_TITLE = 200
_MAX_FILE = 1_000


def commands(results: Sequence[Verdict | SwarmError]) -> Iterator[str]:
    """The workflow commands: errors for findings, then notices; where there are more, the last says how many."""
    errors = [_error(one) for result in results for one in _findings(result)]
    notices = [_notice(one) for result in results if isinstance(result, Verdict) for one in result.remarks]
    yield from _at_most(errors, "error", "findings")
    yield from _at_most(notices, "notice", "notices")


def _findings(result: Verdict | SwarmError) -> Sequence[Finding | SwarmError]:
    return [result] if isinstance(result, SwarmError) else result.findings


def _at_most(found: Sequence[str], kind: str, what: str) -> Iterator[str]:
    if len(found) <= MOST:
        yield from found
        return
    yield from found[: MOST - 1]
    more = f"and {len(found) - MOST + 1} more {what}: the job's summary has them all"
    yield f"::{kind} title=swarm-gate::{more}"


def _error(one: Finding | SwarmError) -> str:
    if isinstance(one, SwarmError):
        return _command("error", f"could not decide: {one.code}", None, one.message, one.hint)
    return _command("error", one.rule, one.path, one.message, one.fix)


def _notice(one: Remark) -> str:
    return _command("notice", one.rule, None, one.message, None)


def _command(kind: str, title: str, path: str | None, message: str, fix: str | None) -> str:
    # A command that was cut would do something else than was meant.
    fits = fix is not None and len(message) + len(fix) + 6 <= MAX_TEXT
    text = f"{message}\nfix: {fix}" if fits else message
    file = f"file={command_property(path, _MAX_FILE)}," if path is not None else ""
    name = command_property(f"swarm-gate: {title}", _MAX_TITLE)
    return f"::{kind} {file}title={name}::{command_data(text, MAX_TEXT)}"
