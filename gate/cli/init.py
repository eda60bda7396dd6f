"""`swarm-gate init`: write the workflows into the working tree."""

from __future__ import annotations

import os
from pathlib import Path

import click

from claims import git
from claims.cli import options, render
from claims.errors import Undecided, Usage
from claims.session import open_session
from gate.github.init import files, in_the_way, installed_action


@click.command("init")
@click.option("--base", "bases", metavar="BRANCH", multiple=True, help="A branch to gate (else the base branch).")
@click.option("--action", metavar="OWNER/REPO@ID", help="The gate's action (else the installed version's).")
@click.option("--labels", is_flag=True, help="Also the workflows that answer labels.")
@click.option("--force", is_flag=True, help="Overwrite workflows that say something else.")
@options.for_gate
@click.pass_context
def command(context: click.Context, bases: tuple[str, ...], action: str | None, labels: bool, force: bool) -> None:
    """Write the gate's workflows into this working tree.

    One for each gated branch; GitHub takes them from the default branch. `--action ./gate` is for the repository that
    holds the action itself.

    \b
      swarm-gate init --action OWNER/REPO@<full commit id>
      swarm-gate init --base main --base release --labels
    """
    session = open_session(options.chosen(context), os.environ)
    try:
        top = git.top_level(session.git) if not session.repository.bare else None
        base = session.base
    finally:
        session.objects.close()
    if top is None:
        raise Undecided("not-a-repository", "a bare repository has no working tree to write into", "git clone")
    wanted = files(bases or (base,), action or _installed(), labels=labels)
    written = _write(Path(top), wanted, force=force)
    lines = [f"{'wrote' if path in written else 'as it was'}  {path}" for path in wanted]
    following = ["next: commit and push them to the default branch, then: swarm-gate setup   # shows what GitHub lacks"]
    value = {"version": 1, "written": sorted(written), "unchanged": sorted(wanted.keys() - written)}
    render.result(context, value, [*lines, *following])


def _installed() -> str:
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        found = installed_action(distribution("swarm-gate").read_text("direct_url.json"))
    except PackageNotFoundError:
        found = None
    if found is None:
        message = "the installed swarm-gate does not know its own commit"
        raise Usage("usage", message, "swarm-gate init --action OWNER/REPO@<full commit id>")
    return found


def _write(top: Path, wanted: dict[str, str], *, force: bool) -> set[str]:
    """Write what is not there as it is wanted; nothing where anything else is in the way."""
    there = {path: _content(top / path) for path in wanted}
    other = [path for path, content in there.items() if content is not None and content != wanted[path].encode()]
    if other and not force:
        raise in_the_way(other)
    written = {path for path in wanted if there[path] != wanted[path].encode()}
    for path in sorted(written):
        try:
            (top / path).parent.mkdir(parents=True, exist_ok=True)
            temporary = top / f"{path}.new"
            temporary.write_bytes(wanted[path].encode())
            temporary.replace(top / path)
        except OSError as refused:
            raise Undecided("unexpected", f"{path}: {refused.strerror}") from None
    return written


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as refused:
        raise Undecided("unexpected", f"{path}: {refused.strerror}", "move it away") from None
