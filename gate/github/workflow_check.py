"""What a gate's workflow may say, line by line: whatever else it says is a fault. Pure: bytes in, sentences out.

A linter cannot do this: once it was told that `pull_request_target` is meant, it no longer minds a checkout of the head
beside it. So the workflow is compared with the one shape that is safe, and not searched for what is known to be bad.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from claims.board import yaml_files
from claims.board.node import plain
from claims.errors import SwarmError
from gate.github.desired import check_name

EVENTS: Mapping[str, tuple[str, ...]] = {
    "pull_request_target": ("opened", "synchronize", "reopened", "edited", "ready_for_review"),
    "merge_group": ("checks_requested",),
}
GROUP = (
    "provenance-gate-${{ github.event.pull_request.number || github.event.merge_group.head_ref }}-"
    "${{ github.event.pull_request.head.sha || github.event.merge_group.head_sha }}"
)
DEFAULT_BRANCH = "${{ github.event.repository.default_branch }}"
TOKEN = "${{ github.token }}"  # noqa: S105 - an expression
READS = {"contents": "read", "pull-requests": "read"}
#: What the one comment needs; without it the workflow writes nothing.
COMMENT = {"pull-requests": "write"}

_ACTION = re.compile(r"[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)*/gate@(?:[0-9a-f]{40}|[0-9a-f]{64})")
_CHECKOUT = re.compile(r"actions/checkout@[0-9a-f]{40}")
_OWN = "./default-branch/gate"


def check_workflow(data: bytes, base: str) -> list[str]:
    """Everything in which a workflow is not the gate's for the branch `base`; an empty list for one that is."""
    try:
        root = {name: plain(node) for name, node in yaml_files.load(data, "it", "malformed-config").items()}
    except SwarmError as fault:
        return [f"it does not read: {fault.message}"]
    return [*_top(root), *_triggers(root.get("on"), base), *_jobs(root.get("jobs"), base)]


def _top(root: Mapping[str, Any]) -> Iterator[str]:
    for name in root.keys() - {"name", "on", "permissions", "concurrency", "jobs"}:
        yield f"it has {name!r}, which it needs not"
    if root.get("permissions") != {}:
        yield "its permissions at the top are not {}: the job names those that it needs"
    if root.get("concurrency") not in ({"group": GROUP, "cancel-in-progress": False}, None):
        yield "its concurrency is not per pull request and head commit: a run could be cancelled, and its check with it"


def _triggers(on: Any, base: str) -> Iterator[str]:
    if not isinstance(on, dict):
        yield "its triggers are no mapping"
        return
    for event in on.keys() - EVENTS.keys():
        yield f"it is started by {event!r}: under another event it may be another's copy that runs"
    for event, types in EVENTS.items():
        trigger = on.get(event)
        if not isinstance(trigger, dict):
            yield f"{event} does not start it"
            continue
        missing = [one for one in types if one not in _list(trigger.get("types"))]
        if missing or len(_list(trigger.get("types"))) != len(types):
            yield f"{event} starts it for other types than {', '.join(types)}"
        if trigger.get("branches") != [base]:
            yield f"{event} does not start it for {base} alone"
        for name in trigger.keys() - {"types", "branches"}:
            yield f"{event} has {name!r}: a check that is skipped counts as passed"


def _jobs(jobs: Any, base: str) -> Iterator[str]:
    if not isinstance(jobs, dict) or len(jobs) != 1:
        yield "it has not one job"
        return
    (job,) = jobs.values()
    if not isinstance(job, dict):
        yield "its job is no mapping"
        return
    for name in job.keys() - {"name", "runs-on", "timeout-minutes", "permissions", "steps"}:
        why = ": a job that is skipped counts as passed" if name == "if" else ""
        yield f"its job has {name!r}{why}"
    if job.get("name") != check_name(base):
        yield f"its job is not called {check_name(base)!r}, by which it is required"
    if not isinstance(job.get("runs-on"), str) or not job["runs-on"].startswith("ubuntu-"):
        yield "it does not run on a runner of GitHub's: what runs before could stay on another"
    steps = job.get("steps") if isinstance(job.get("steps"), list) else []
    comments = any(isinstance(step, dict) and _with(step).get("comment") in (True, "true") for step in steps or ())
    allowed = {**READS, **(COMMENT if comments else {})}
    if job.get("permissions") not in (READS, allowed):
        wanted = ", ".join(f"{name}: {level}" for name, level in allowed.items())
        yield f"its job has other permissions than {wanted}"
    yield from _steps(steps)


def _steps(steps: Any) -> Iterator[str]:
    gates = [step for step in steps if isinstance(step, dict) and _is_gate(step.get("uses"))]
    if len(gates) != 1 or not steps or steps[-1] is not gates[0]:
        yield "its last step is not the gate's action, by a full commit id"
    own = bool(gates) and gates[0].get("uses") == _OWN
    for number, step in enumerate(steps):
        if step in gates:
            yield from _gate(step)
        elif number == 0 and own and isinstance(step, dict):
            yield from _checkout(step)
        else:
            yield f"it has a step that it needs not: {_words(step)}"
    if own and len(steps) != 2:
        yield "the repository's own action needs a checkout of the default branch before it, and nothing else"


def _is_gate(uses: Any) -> bool:
    return isinstance(uses, str) and (uses == _OWN or _ACTION.fullmatch(uses) is not None)


def _gate(step: Mapping[str, Any]) -> Iterator[str]:
    for name in step.keys() - {"uses", "with", "name"}:
        yield f"the gate's step has {name!r}"
    given = _with(step)
    for name in given.keys() - {"token", "comment"}:
        yield f"the gate's step is given {name!r}"
    if given.get("token", TOKEN) != TOKEN:
        yield "the gate's step is given another token than the job's"
    if given.get("comment", False) not in (True, False, "true", "false"):
        yield "the gate's step is given another comment than true or false"


def _checkout(step: Mapping[str, Any]) -> Iterator[str]:
    """The default branch, whatever the event: in a merge group git would otherwise check out what is to be judged."""
    uses, wanted = step.get("uses"), {"ref": DEFAULT_BRANCH, "path": "default-branch", "persist-credentials": False}
    if not isinstance(uses, str) or _CHECKOUT.fullmatch(uses) is None:
        yield f"its first step is no checkout by a full commit id: {_words(step)}"
    if step.keys() - {"uses", "with", "name"} or step.get("with") != wanted:
        yield "its checkout is not of the default branch alone, without credentials"


def _with(step: Mapping[str, Any]) -> Mapping[str, Any]:
    given = step.get("with")
    return given if isinstance(given, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _words(step: Any) -> str:
    if not isinstance(step, dict):
        return repr(step)[:100]
    return str(step.get("uses") or step.get("name") or step.get("run") or ", ".join(map(str, step)))[:100]
