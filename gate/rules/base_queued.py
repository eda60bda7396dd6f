"""The task stands in queued/ on the base branch, with a file that reads, and nowhere else.

Why: the base branch is the only authority. A task that base does not queue was invented on the branch, is finished
already, or was withdrawn by the operator while the work went on.

Fix: work on a task that `swarm tasks --ready` lists. A new task is merged to base by an operator first.
"""

from __future__ import annotations

from claims.board.task import State
from gate.evidence import Evidence
from gate.tree import shown
from gate.verdict import Finding, Ruling

RULE = "base-queued"


def judge(evidence: Evidence) -> Ruling:
    subject = evidence.subject
    if subject is None:
        return Ruling((Finding(RULE, "there is no task that base could have queued", fix="swarm tasks --ready"),))
    path = shown(subject.queued_path)
    if subject.fault is not None:
        message = f"base's file of the task does not read: {subject.fault.message}"
        fix = "the operator mends the file on base; `swarm-gate board` says what is wrong with it"
        return Ruling((Finding(RULE, message, path, fix=fix),))
    if subject.places == (State.QUEUED,) and subject.base is not None:
        return Ruling()
    if State.DONE in subject.places:
        message = f"{subject.id} is in done/ on base already"
    elif not subject.places:
        message = f"base has no task {subject.id}: it was made up on this branch"
    else:
        where = ", ".join(place.folder for place in subject.places)
        message = f"{subject.id} is not queued on base but in {where}"
    return Ruling((Finding(RULE, message, path, fix="swarm tasks --ready"),))
