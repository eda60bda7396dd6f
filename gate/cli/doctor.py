"""`swarm-gate doctor`: look for what needs a hand."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from claims import tokens
from claims.arbiter import Arbiter
from claims.arbiter.choose import choose_arbiter
from claims.arbiter.local import LocalArbiter
from claims.arbiter.remote import RemoteArbiter
from claims.cli import options, render
from claims.errors import EXIT_OK, EXIT_REFUSED, EXIT_UNDECIDED, SwarmError, Undecided, Usage
from claims.git import printable, urls_of
from claims.names import Branch, RefName, branch_ref, parse_branch
from claims.session import Session, open_session
from claims.values import replace
from gate.cli.on_github import repository_at, repository_named
from gate.github import clone
from gate.github.finding import Check, Diagnosis, Unknown, diagnose

if TYPE_CHECKING:
    from gate.github.reading import Reading

EXITS = {"pass": EXIT_OK, "fail": EXIT_REFUSED, "undecided": EXIT_UNDECIDED}


@click.command("doctor")
@click.option("--base", "bases", metavar="BRANCH", multiple=True, help="A gated branch (else the clone's base branch).")
@click.option("--repo", metavar="OWNER/NAME", help="The repository (else $GITHUB_REPOSITORY, else the remote's).")
@options.for_gate
@click.pass_context
def command(context: click.Context, bases: tuple[str, ...], repo: str | None) -> None:
    """Look for what needs a hand, on GitHub and in this clone. Changes nothing.

    On GitHub: whether the gate is in force and can start, and who could pass it by. Here: claims that are torn, have
    run out or lead nowhere, a stale copy of them, lock files that a killed git left. With --no-remote, or where there
    is no remote, it looks at the clone alone.

    Silent, and exit 0, where all is well; 1 where something needs a hand; 3 where nothing was found, and something
    could not be looked at.

    \b
      swarm-gate doctor
      swarm-gate doctor --no-remote
      swarm-gate doctor --base main --base next --json
    """
    branches = [_branch(base) for base in bases]
    chosen = replace(options.chosen(context), base=branches[0] if branches else None)
    session = open_session(chosen, os.environ)
    try:
        seen = _diagnosis(session, branches or [session.base], repo)
    finally:
        session.objects.close()
    render.result(context, seen.to_json(), _lines(seen))
    context.exit(EXITS[seen.verdict])


def _diagnosis(session: Session, bases: list[Branch], repo: str | None) -> Diagnosis:
    arbiter = _arbiter(session)
    try:
        here = diagnose(clone.checks(session, arbiter))
    finally:
        if isinstance(arbiter, RemoteArbiter):
            arbiter.let_go()
    there = _on_github(session, bases, repo)
    return Diagnosis((*there.findings, *here.findings), (*there.unknown, *here.unknown))


def _on_github(session: Session, bases: list[Branch], repo: str | None) -> Diagnosis:
    """What is found on GitHub; nothing where the clone alone was asked for, or has no remote."""
    named = repository_named(repo, os.environ)
    if session.remote is None and (named is None or session.remote_left_out is not None):
        return Diagnosis()
    from gate.github.doctor import LOOKS, checks

    try:
        found: list[Check] = checks(_reading(session, named), bases, agent=_agent_works_here(session))
    except SwarmError as fault:
        return Diagnosis((), (Unknown(tuple(LOOKS), f"{fault.code}: {fault.message}", fault.hint),))
    return diagnose(found)


def _reading(session: Session, named: str | None) -> Reading:
    from gate.github.api import open_api
    from gate.github.reading import Reading

    repository = named
    if repository is None and session.remote is not None:
        repository = repository_at(urls_of(session.git, session.remote)[0], os.environ)
    if repository is None:
        message = f"{printable(session.remote or '')} leads to no repository on GitHub"
        raise Undecided("evidence-incomplete", message, "swarm-gate doctor --repo OWNER/NAME, or --no-remote")
    return Reading(open_api(os.environ, repository))


def _agent_works_here(session: Session) -> bool:
    """Whether this working tree is an agent's: it is named here, or holds a claim's token."""
    return session.agent is not None or bool(tokens.held_here(session.repository.private_dir))


def _arbiter(session: Session) -> Arbiter:
    """Who decides; with `--no-remote` this clone's copy of it, judged against base as it was fetched."""
    if session.remote_left_out is None:
        return choose_arbiter(session)
    fetched = RefName(f"refs/remotes/{session.remote_left_out}/{session.base}")
    known = session.objects.info([fetched])[0] is not None
    return LocalArbiter(session, fetched if known else branch_ref(session.base))


def _branch(name: str) -> Branch:
    try:
        return parse_branch(name)
    except ValueError as error:
        raise Usage("usage", f"--base: {error}") from None


def _lines(seen: Diagnosis) -> Iterator[str]:
    for finding in seen.findings:
        yield printable(f"found[{finding.code}]: {finding.found}", 4000)
        yield printable(f"  expected: {finding.expected}", 4000)
        yield printable(f"  fix: {finding.fix}", 4000)
    for unknown in seen.unknown:
        yield printable(f"unknown[{', '.join(unknown.codes)}]: {unknown.reason}", 4000)
        if unknown.fix is not None:
            yield printable(f"  fix: {unknown.fix}", 4000)
