"""`swarm-gate pr`: judge one pull request."""

from __future__ import annotations

import os
import re
from datetime import datetime

import click

from claims import clock
from claims.arbiter import Arbiter
from claims.arbiter.choose import choose_arbiter
from claims.arbiter.local import LocalArbiter
from claims.cli import options, render, streams
from claims.errors import EXIT_OK, EXIT_REFUSED, Conflict, Usage
from claims.git import printable
from claims.names import Branch, RefName, branch_ref, parse_branch
from claims.session import Session, open_session
from claims.values import replace
from gate.evidence import Facts
from gate.local import Request, branch_named_by, judge_locally, refs_there, resolve
from gate.report import text
from gate.report.fault import fault_of
from gate.verdict import Verdict

#: How often a base that moves is judged anew.
_TRIES = 3
#: In ASCII, as GitHub names them. Nothing between the slashes is no name: scripts pass it where a fork is gone.
_OWNER_AND_NAME = re.compile(r"[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+")


def _instant(context: click.Context, parameter: click.Parameter, value: str | None) -> datetime | None:
    try:
        return None if value is None else clock.parse_rfc3339(value)
    except ValueError:
        raise click.BadParameter("write it as 2026-08-14T09:30:00Z") from None


def _repository(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    if value is not None and _OWNER_AND_NAME.fullmatch(value) is None:
        raise click.BadParameter("write it as OWNER/NAME")
    return value


def _is_fork(head: str | None, head_id: int | None, base: str | None) -> bool:
    """Whether head is in another repository than base; one of which only the number is known counts as another."""
    if head is None:
        return head_id is not None
    return base is None or head.casefold() != base.casefold()


@click.command("pr")
@click.option("--base", "base_revision", metavar="REV", help="The base branch as it is now.")
@click.option("--head", metavar="REV", help="What would be merged.")
@click.option("--head-branch", metavar="NAME", help="The head branch (else the one that --head names).")
@click.option("--head-repo", metavar="OWNER/NAME", callback=_repository, help="The head's repository, if a fork.")
@click.option("--head-repo-id", type=click.IntRange(1), metavar="N", help="Its numeric GitHub id.")
@click.option("--base-repo", metavar="OWNER/NAME", callback=_repository, help="The base repository.")
@click.option("--author", metavar="LOGIN", help="The pull request's author.")
@click.option("--author-id", type=click.IntRange(1), metavar="N", help="The author's numeric GitHub id.")
@click.option("--merge", metavar="REV", help="GitHub's test merge, to compare with.")
@click.option(
    "--claims", type=click.Choice(["remote", "local"]), help="Where claims are read (else the remote, if any)."
)
@click.option("--now", callback=_instant, metavar="RFC3339", help="Judge as of another time.")
@options.for_gate
@click.pass_context
def command(
    context: click.Context,
    base_revision: str | None,
    head: str | None,
    head_branch: str | None,
    head_repo: str | None,
    head_repo_id: int | None,
    base_repo: str | None,
    author: str | None,
    author_id: int | None,
    merge: str | None,
    claims: str | None,
    now: datetime | None,
) -> None:
    """Judge what a pull request would land.

    In GitHub Actions, without --base and --head, the event says which pull request or merge group it is; everything
    else is read anew from GitHub, and the verdict is also annotations, a summary and outputs of the job.

    Exit 0 where it passes, 1 where it fails, 3 where it could not be decided, 2 where something moved meanwhile.

    \b
      swarm-gate pr --base origin/main --head HEAD
      swarm-gate pr --base main --head topic --author octocat --json
    """
    if base_revision is None and head is None and os.environ.get("GITHUB_EVENT_NAME"):
        from gate.cli.job import judge_job  # before a push, nobody pays for what only a job shows

        judge_job(context, os.environ, now or clock.now())
        return
    if base_revision is None or head is None:
        raise Usage("usage", "both --base and --head are needed", "swarm-gate pr --base origin/main --head HEAD")
    chosen = replace(options.chosen(context), base=_base_branch(base_revision))
    session = open_session(chosen, os.environ, now=(lambda: now) if now is not None else clock.now)
    try:
        facts = Facts(
            base_branch=session.base,
            now=session.clock(),
            head_branch=_head_branch(session, head, head_branch),
            head_repository=head_repo,
            head_repository_id=head_repo_id,
            fork=_is_fork(head_repo, head_repo_id, base_repo),
            author=author,
            author_id=author_id,
        )
        verdict = _judge(session, claims, Request(base_revision, head, merge), facts)
    finally:
        session.objects.close()
    _report(context, verdict)


def _judge(session: Session, claims: str | None, request: Request, facts: Facts) -> Verdict:
    """Judge; anew where reading the claims has brought base up to date. Raises Conflict `moved` where that goes on."""
    for _ in range(_TRIES):
        arbiter = _arbiter(session, claims)
        try:
            verdict = judge_locally(session, arbiter, request, facts, os.environ)
        finally:
            arbiter.finish()
        if resolve(session, request.base) == verdict.base.commit:
            return verdict
    raise Conflict("moved", f"{printable(request.base)} moved {_TRIES} times while it was judged", "run it again")


def _base_branch(revision: str) -> str | None:
    """The branch that a base revision stands for: `origin/main` and `main` stand for `main`."""
    name = revision.removeprefix("refs/remotes/").removeprefix("refs/heads/")
    return name.partition("/")[2] or name if revision.startswith(("refs/remotes/", "origin/")) else name


def _head_branch(session: Session, head: str, named: str | None) -> Branch | None:
    if named is None:
        return branch_named_by(session, head)
    try:
        return parse_branch(named)
    except ValueError as error:
        raise Usage("usage", f"--head-branch: {error}") from None


def _arbiter(session: Session, claims: str | None) -> Arbiter:
    if claims == "local":
        return LocalArbiter(session, _base_here(session))
    if claims == "remote" and session.remote is None:
        raise Usage("usage", "--claims remote: there is no remote here", "--claims local")
    return choose_arbiter(session)


def _base_here(session: Session) -> RefName:
    """Base as this repository has it: as it was fetched, or, as in a mirror, as a branch of its own."""
    tracking = RefName(f"refs/remotes/{session.remote or session.remote_left_out}/{session.base}")
    return tracking if refs_there(session, tracking) else branch_ref(session.base)


def _report(context: click.Context, verdict: Verdict) -> None:
    """Pass and fail go to stdout; an error is an error object on stderr, and nothing is on stdout."""
    fault = fault_of(verdict)
    if fault is not None:
        raise fault
    try:
        render.result(context, verdict.to_json(), text.lines(verdict))
    except BrokenPipeError:
        # Whoever reads has had enough, as `head` has; the exit status still has to say what the verdict is.
        streams.give_up()
    context.exit(EXIT_OK if verdict.word == "pass" else EXIT_REFUSED)
