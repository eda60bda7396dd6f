"""Everything that a job in GitHub Actions shows of a judgement: annotations, summary, outputs, and the one comment.

Showing decides nothing: what cannot be shown is a warning, and the verdict stays what it is.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from claims.errors import SwarmError
from gate.report import comment
from gate.report.annotations import commands
from gate.report.escape import command_data, line
from gate.report.summary import summary, word_of
from gate.verdict import Verdict

#: Bytes of the verdict as JSON that an output takes; GitHub takes 1 MB for all outputs of a job.
_MAX_JSON = 256 * 1024
_MAX_WARNING = 1_000
_MAX_LINE = 2_000


def publish(
    results: Sequence[Verdict | SwarmError],
    value: Mapping[str, Any],
    log: Sequence[str],
    environ: Mapping[str, str],
    stream: TextIO,
    api: comment.Answers | None = None,
    pull: int | None = None,
) -> None:
    """Show results: `value` is their JSON, `log` their report for people.

    A comment is written where SWARM_GATE_COMMENT is `true` and a pull request is known.
    """
    _write_log(log, stream)
    for command in commands(results):
        print(command, file=stream)
    _try("the job's summary", stream, lambda: _append(environ.get("GITHUB_STEP_SUMMARY"), summary(results)))
    _try("the outputs", stream, lambda: _append(environ.get("GITHUB_OUTPUT"), outputs(results, value)))
    if environ.get("SWARM_GATE_COMMENT") == "true" and api is not None and pull is not None:
        _try("the comment", stream, lambda: comment.write_comment(api, pull, results))
    stream.flush()


def _write_log(log: Sequence[str], stream: TextIO) -> None:
    """The report between marks that switch the runner's commands off, whatever a line says."""
    mark = secrets.token_hex(16)
    print(f"::stop-commands::{mark}", file=stream)
    for one in log:
        print(line(one, _MAX_LINE), file=stream)
    print(f"::{mark}::", file=stream)


def outputs(results: Sequence[Verdict | SwarmError], value: Mapping[str, Any]) -> str:
    """What `GITHUB_OUTPUT` is given: each value between marks that it cannot hold."""
    only = results[0] if len(results) == 1 and isinstance(results[0], Verdict) else None
    text = json.dumps(value, ensure_ascii=True)
    values = {
        "verdict": word_of(results),
        "kind": only.kind if only is not None else "",
        "trust": only.trust if only is not None else "",
        "task": (only.task or "") if only is not None else "",
        "json": text if len(text) <= _MAX_JSON else "",
    }
    mark = f"end-{secrets.token_hex(16)}"
    return "".join(f"{name}<<{mark}\n{one}\n{mark}\n" for name, one in values.items())


def _append(path: str | None, text: str) -> None:
    if path:
        with Path(path).open("ab") as file:
            file.write(text.encode("utf-8", "replace"))
            file.flush()
            os.fsync(file.fileno())


def _try(what: str, stream: TextIO, write: Callable[[], None]) -> None:
    try:
        write()
    except (OSError, ValueError) as fault:
        _warn(f"{what} could not be written: {fault}", stream)
    except SwarmError as fault:
        _warn(f"{what} could not be written: {fault.code}: {fault.message}", stream)


def _warn(message: str, stream: TextIO) -> None:
    print(f"::warning title=swarm-gate::{command_data(message, _MAX_WARNING)}", file=stream)
