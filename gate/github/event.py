"""What started the job: an event and, of all that its payload says, where to look. The rest is read anew."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from claims.errors import SwarmError, Undecided
from claims.git import printable
from claims.names import Branch, ObjectId, parse_branch, parse_object_id
from claims.values import dataclass

#: Bytes of a payload: it quotes the whole text of a pull request, and no more than that.
_MOST = 16 * 1024 * 1024
_HEADS = "refs/heads/"
_QUEUE = "gh-readonly-queue/"
_MAX_NUMBER = 2**31

#: The events under which the gate's workflow is the default branch's, whatever a pull request brings.
EVENTS = ("pull_request_target", "merge_group")


@dataclass(frozen=True, slots=True)
class PullRequestEvent:
    """Something happened to a pull request."""

    number: int


@dataclass(frozen=True, slots=True)
class MergeGroupEvent:
    """The merge queue made a group: `branch` is the queue's own, at `head`, to be merged into `base`."""

    base: Branch
    branch: Branch
    head: ObjectId


def read_event(environ: Mapping[str, str]) -> PullRequestEvent | MergeGroupEvent:
    """The event of this job, from GITHUB_EVENT_NAME and GITHUB_EVENT_PATH.

    Raises Undecided `evidence-incomplete` for an event that the gate does not judge, and for a payload that is none.
    """
    name = environ.get("GITHUB_EVENT_NAME", "")
    if name not in EVENTS:
        message = f"the event is {printable(name)!r}; the gate judges {' and '.join(EVENTS)}"
        raise Undecided("evidence-incomplete", message, "swarm-gate init   # writes the workflow")
    payload = _payload(environ)
    if name == "pull_request_target":
        number = _member(_member(payload, "pull_request", dict), "number", int)
        if isinstance(number, bool) or not 0 < number < _MAX_NUMBER:
            raise _odd("pull_request.number")
        return PullRequestEvent(number)
    group = _member(payload, "merge_group", dict)
    base, branch = _branch(group, "base_ref"), _branch(group, "head_ref")
    if not branch.startswith(f"{_QUEUE}{base}/"):
        raise _odd("merge_group.head_ref")
    try:
        return MergeGroupEvent(base, branch, parse_object_id(_member(group, "head_sha", str)))
    except ValueError:
        raise _odd("merge_group.head_sha") from None


def queue_of(base: Branch) -> str:
    """Where the queue keeps the branches of its groups for a base branch: the beginning of their full names."""
    return f"{_HEADS}{_QUEUE}{base}/"


def entry_of(base: Branch, ref: str) -> int | None:
    """The pull request whose entry in the queue a ref is; None for another ref."""
    match = re.fullmatch(r"pr-([1-9][0-9]{0,9})-(?:[0-9a-f]{40}|[0-9a-f]{64})", ref.removeprefix(queue_of(base)))
    return int(match[1]) if match is not None and ref.startswith(queue_of(base)) else None


def _payload(environ: Mapping[str, str]) -> dict[str, Any]:
    path = environ.get("GITHUB_EVENT_PATH")
    if not path:
        raise Undecided("evidence-incomplete", "GITHUB_EVENT_PATH is not set: there is no payload to read")
    try:
        with Path(path).open("rb") as file:
            data = file.read(_MOST + 1)
    except (OSError, ValueError) as fault:
        raise Undecided("evidence-incomplete", f"the event's payload cannot be read: {fault}") from None
    if len(data) > _MOST:
        raise Undecided("limits-exceeded", f"the event's payload is over {_MOST} bytes")
    try:
        payload = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        raise Undecided("evidence-incomplete", "the event's payload is no JSON") from None
    if not isinstance(payload, dict):
        raise Undecided("evidence-incomplete", "the event's payload is no object")
    return payload


def _member(value: Mapping[str, Any], name: str, kind: type) -> Any:
    found = value.get(name)
    if not isinstance(found, kind):
        raise _odd(name)
    return found


def _branch(group: Mapping[str, Any], name: str) -> Branch:
    ref: str = _member(group, name, str)
    try:
        if not ref.startswith(_HEADS):
            raise ValueError(ref)
        return parse_branch(ref.removeprefix(_HEADS))
    except ValueError:
        raise _odd(f"merge_group.{name}") from None


def _odd(name: str) -> SwarmError:
    return Undecided("evidence-incomplete", f"the event's payload has no usable {name}")
