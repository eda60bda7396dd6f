"""`swarm log`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

import click

from claims.arbiter.history import LocalHistory, open_history
from claims.cli import options, render
from claims.cli.wire import Work, perform
from claims.git import printable
from claims.operations.log import Log, log
from claims.values import replace


@click.command("log")
@click.argument("task", metavar="[ID]", required=False)
@click.option("--limit", type=click.IntRange(1, 1_000_000), default=50, metavar="N", help="How many at most (50).")
@options.with_agent
@options.common
@click.pass_context
def command(context: click.Context, task: str | None, limit: int) -> None:
    """How claims ended: who had a task, on which branch, and why it ended. Newest first.

    Claims that were archived by prune are shown too, and those that this clone made without the remote (`local`).

    \b
      swarm log
      swarm log T-20260814-abcdef01 --limit 5
      swarm log --json | jq '.entries[] | select(.closed.outcome == "stolen")'
    """

    def operate(work: Work) -> Log:
        wanted = work.task(task) if task is not None else None
        session = work.session
        local = LocalHistory(session) if session.remote is not None else None
        with closing(open_history(session)) as history:
            return log(history, wanted, limit, session.clock(), local)

    found, notices = perform(context, operate, task)
    whole = replace(found, notices=(*found.notices, *notices))
    render.result(context, whole.to_json(), _lines(whole.entries, both=whole.both), whole.notices)


def _lines(entries: Sequence[Mapping[str, Any]], *, both: bool) -> Iterator[str]:
    sound = [entry for entry in entries if "closed" in entry]
    rows = [[entry["closed"]["at"], entry["task"], entry["closed"]["outcome"], entry["agent"]] for entry in sound]
    aligned = dict(zip(map(id, sound), render.table(rows), strict=True))
    for entry in entries:
        mark = "  local" if both and not entry.get("published", True) else ""
        yield aligned[id(entry)] + mark + _rest(entry) if "closed" in entry else _malformed(entry)
    if not entries:
        yield "no claim has ended yet"


def _rest(entry: Mapping[str, Any]) -> str:
    closed = entry["closed"]
    by = f" by {closed['by']}" if closed["by"] != entry["agent"] else ""
    reason = f": {printable(closed['reason'], 1000)}" if closed["reason"] else ""
    return f"  on {entry['branch']}{by}{reason}"


def _malformed(entry: Mapping[str, Any]) -> str:
    return f"{entry['ref']}  MALFORMED {entry['id']}: {printable(entry['fault'])}"
