"""`swarm-gate setup`: make GitHub require the gate."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from claims.cli import options, render
from claims.errors import EXIT_OK, EXIT_REFUSED, EXIT_UNDECIDED, Undecided, Usage
from claims.git import Git, begin_config, printable, read_config, urls_of
from claims.names import parse_branch
from claims.session import Options
from gate.cli.on_github import repository_at, repository_named

if TYPE_CHECKING:
    from gate.github.setup import Setup


@click.command("setup")
@click.option("--base", "bases", metavar="BRANCH", multiple=True, help="A gated branch (else the default branch).")
@click.option("--repo", metavar="OWNER/NAME", help="The repository (else $GITHUB_REPOSITORY, else the remote's).")
@click.option("--merge-queue", is_flag=True, help="Merge through a queue (else branches have to be up to date).")
@click.option("--apply", is_flag=True, help="Make the changes (else they are only shown).")
@options.for_gate
@click.pass_context
def command(context: click.Context, bases: tuple[str, ...], repo: str | None, merge_queue: bool, apply: bool) -> None:
    """Show what the gate needs on GitHub and does not have; with --apply make it.

    The ruleset that requires the check, from GitHub Actions alone; squash merges with the pull request's title and
    text; labels; the operators' variable; in a public repository the Actions policy that lets the gate start. What is
    set beside it stays. The token ($GITHUB_TOKEN, else $GH_TOKEN) is an administrator's.

    Exit 0 where it is shown or made, 1 where the check cannot be required yet, 3 where GitHub does not tell.

    \b
      swarm-gate setup
      swarm-gate setup --apply
      swarm-gate setup --base main --base next --merge-queue --repo octo-org/widgets
    """
    from gate.github.api import open_api
    from gate.github.setup import set_up

    for base in bases:
        _branch(base)
    chosen = options.chosen(context)
    repository = repository_named(repo, os.environ) or _of_remote(chosen)
    done = set_up(open_api(os.environ, repository), bases, queue=merge_queue, apply=apply)
    render.result(context, done.to_json(), _lines(done, repository))
    context.exit(EXIT_REFUSED if done.held else EXIT_UNDECIDED if done.unknown else EXIT_OK)


def _branch(name: str) -> None:
    try:
        parse_branch(name)
    except ValueError as error:
        raise Usage("usage", f"--base: {error}") from None


def _of_remote(chosen: Options) -> str:
    """The repository of the clone's remote. Raises Undecided where the remote leads elsewhere, or there is none."""
    git = Git(chosen.directory, os.environ)
    config = dict(read_config(git, begin_config(git)))
    remote = chosen.remote or os.environ.get("SWARM_REMOTE") or config.get("swarm.remote") or "origin"
    known = f"remote.{remote}.url" in config
    repository = repository_at(urls_of(git, remote)[0], os.environ) if known else None
    if repository is None:
        message = (
            f"{printable(remote)} leads to no repository on GitHub" if known else f"no remote {printable(remote)!r}"
        )
        raise Undecided("evidence-incomplete", message, "swarm-gate setup --repo OWNER/NAME")
    return repository


def _lines(done: Setup, repository: str) -> Iterator[str]:
    for change in done.changes:
        if done.applied:
            yield printable(f"made: {change.what}", 4000)
            continue
        verb = "make" if change.before is None else "change"
        yield printable(f"{verb} {change.what}   ({change.method} {change.path or '/'}, {change.needs})", 4000)
        yield from (printable(f"  {line}", 4000) for line in change.diff())
    for one in done.held:
        yield printable(f"not yet[{one.code}]: {one.found}", 4000)
        yield printable(f"  fix: {one.fix}", 4000)
    for unknown in done.unknown:
        yield printable(f"unknown[{', '.join(unknown.codes)}]: {unknown.reason}", 4000)
        if unknown.fix is not None:
            yield printable(f"  fix: {unknown.fix}", 4000)
    yield printable(f"{_summary(done)} {repository}, {', '.join(done.bases)}", 4000)


def _summary(done: Setup) -> str:
    if done.held:
        return "the check is not required yet:"
    if done.enforced:
        return "the check is required:"
    number = len(done.changes)
    return f"{number} change{'' if number == 1 else 's'}, --apply makes {'it' if number == 1 else 'them'}:"
