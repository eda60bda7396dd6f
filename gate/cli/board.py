"""`swarm-gate board`: check the whole board."""

from __future__ import annotations

import os
from collections.abc import Iterator

import click

from claims import git
from claims.board.board import TreeReader
from claims.board.survey import TOP
from claims.board.whole import Remark, Report, check
from claims.board.worktree import WorkTree
from claims.cli import options, render
from claims.errors import EXIT_OK, EXIT_REFUSED
from claims.git import printable
from claims.git_tree import GitTree
from claims.session import Session, open_session
from gate.local import resolve
from gate.tree import shown

RULE = "board-valid"


@click.command("board")
@click.option("--rev", metavar="REV", help="Check the board that a revision has (else the working tree's).")
@options.for_gate
@click.pass_context
def command(context: click.Context, rev: str | None) -> None:
    """Check the whole board: every file reads, and they agree with each other.

    Says everything that is wrong, not the first thing alone. Exit 0 where the board is valid, 1 where it is not, 3
    where it could not be read.

    \b
      swarm-gate board
      swarm-gate board --rev origin/main --json
    """
    session = open_session(options.chosen(context), os.environ)
    try:
        report = check(_reader(session, rev))
    finally:
        session.objects.close()
    verdict = "fail" if report.faults else "pass"
    value = {
        "version": 1,
        "verdict": verdict,
        "tasks": report.tasks,
        "findings": [_json(one) for one in report.faults],
        "notices": [_json(one) for one in report.notices],
    }
    render.result(context, value, _lines(report, verdict))
    context.exit(EXIT_REFUSED if report.faults else EXIT_OK)


def _reader(session: Session, revision: str | None) -> TreeReader:
    if revision is not None:
        tree = GitTree(session, resolve(session, revision))
        tree.bring_below(TOP)
        return tree
    return WorkTree(str(git.working_tree(session.git)))


def _json(one: Remark) -> dict[str, str]:
    members = {"rule": RULE, "message": one.message, "path": _path(one), "fix": one.fix}
    return {name: printable(value, 4000) for name, value in members.items() if value is not None}


def _path(one: Remark) -> str:
    return shown(one.path.encode("utf-8", "surrogateescape"))


def _lines(report: Report, verdict: str) -> Iterator[str]:
    for one in report.faults:
        yield printable(f"fail[{RULE}]: {_path(one)}: {one.message}", 4000)
        if one.fix is not None:
            yield printable(f"  fix: {one.fix}", 4000)
    for one in report.notices:
        yield printable(f"notice[{RULE}]: {_path(one)}: {one.message}", 4000)
    yield f"verdict: {verdict if verdict == 'pass' else verdict.upper()} ({_count(report)})"


def _count(report: Report) -> str:
    tasks = f"{report.tasks} task{'' if report.tasks == 1 else 's'}"
    return f"{tasks}, {len(report.faults)} finding{'' if len(report.faults) == 1 else 's'}"
