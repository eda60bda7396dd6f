"""What `swarm-gate init` writes: workflows from the package's templates. Pure but for reading those."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources

from claims.errors import SwarmError, Usage
from claims.names import parse_branch

WORKFLOWS = ".github/workflows"
LABEL_WORKFLOWS = ("agent-triage.yml", "agent-attempt.yml")
#: A branch name that means itself in a filter of branches, in YAML and in the name of a job.
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*")
_ACTION = re.compile(r"([A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+)@([0-9a-f]{40}|[0-9a-f]{64})")
_GITHUB = re.compile(r"(?:git\+)?(?:https|ssh)://(?:git@)?github\.com/([A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+?)(?:\.git)?")
#: For a repository that holds the action itself.
OWN = "./gate"

_CHECKED_OUT = "./default-branch/gate # zizmor: ignore[self-repository] $/ is what a merge group brings"
_CHECKOUT = """\
      # In a merge group a checkout takes what is to be judged; the gate's own code is the default branch's.
      - uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1
        with:
          ref: ${{ github.event.repository.default_branch }}
          path: default-branch
          persist-credentials: false
"""


def files(bases: Sequence[str], action: str, *, labels: bool) -> dict[str, str]:
    """Path and content of each workflow: one for each base branch, and those that answer labels.

    `action` is `OWNER/REPO@<full commit id>`, or `./gate`. Raises Usage.
    """
    found: dict[str, str] = {}
    for number, base in enumerate(dict.fromkeys(bases)):
        path = f"{WORKFLOWS}/provenance-gate{'' if number == 0 else '-' + _checked(base).replace('/', '-')}.yml"
        if path in found:
            raise Usage("usage", f"--base {base}: another base has the file {path} already", "name that base first")
        found[path] = _gate(_checked(base), _uses(action))
    if labels:
        found.update((f"{WORKFLOWS}/{name}", _template(name)) for name in LABEL_WORKFLOWS)
    return found


def installed_action(direct_url: str | None) -> str | None:
    """The action of the version that is installed, where pip has recorded a repository on GitHub and a commit.

    `direct_url` is the text of `direct_url.json` (PEP 610). None where it does not tell.
    """
    try:
        recorded = json.loads(direct_url or "null")
        match = _GITHUB.fullmatch(str(recorded["url"]))
        commit = str(recorded["vcs_info"]["commit_id"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    named = f"{match[1]}@{commit}" if match is not None else ""
    return named if _ACTION.fullmatch(named) else None


def _gate(base: str, uses: str) -> str:
    steps = (_CHECKOUT if uses == OWN else "") + f"      - uses: {_CHECKED_OUT if uses == OWN else uses}"
    return _filled(_template("provenance-gate.yml"), {"base": base, "branch": json.dumps(base), "steps": steps})


def _checked(base: str) -> str:
    try:
        parse_branch(base)
    except ValueError as wrong:
        raise Usage("usage", f"--base: {wrong}") from None
    if _PLAIN.fullmatch(base) is None:
        message = f"--base {base}: a workflow's filter of branches would take it for a pattern"
        raise Usage("usage", message, "gate a branch with a name of letters, digits and . _ / -")
    return base


def _uses(action: str) -> str:
    match = _ACTION.fullmatch(action)
    if match is not None:
        return f"{match[1]}/gate@{match[2]}"
    if action == OWN:
        return OWN
    message = f"--action {action!r} is not OWNER/REPO@<full commit id>: a branch or a tag can be moved"
    raise Usage("usage", message, "git ls-remote https://github.com/OWNER/REPO HEAD   # tells the id")


def _template(name: str) -> str:
    return (resources.files("gate") / "templates" / name).read_text(encoding="utf-8")


def _filled(text: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(f"%{{{name}}}", value)
    return text


def in_the_way(paths: Iterable[str]) -> SwarmError:
    """The refusal to overwrite files."""
    named = ", ".join(sorted(paths))
    return Usage("usage", f"there already, with other content: {named}", "swarm-gate init --force   # overwrites")
