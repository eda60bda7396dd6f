"""Does base still support a claim: the same plan revision, the same task, still queued."""

from __future__ import annotations

from claims.board.board import Board
from claims.board.task import State
from claims.errors import Refused, SwarmError
from claims.operations.candidate import read_candidate
from claims.record import Claim


def objections(board: Board, claim: Claim) -> list[SwarmError]:
    """Why base no longer supports a claim: `plan-moved`, `task-not-queued`, `task-changed`, or a broken file."""
    candidate = read_candidate(board, claim.task)
    found: list[SwarmError] = [*candidate.faults]
    broken_plan = any(fault.code == "malformed-plan" for fault in found)
    if not broken_plan and candidate.plan_revision != claim.plan_revision:
        message = f"{claim.task} was claimed under plan revision {claim.plan_revision}; "
        message += f"base is at {candidate.plan_revision}"
        hint = f"swarm release {claim.task} --reason 'plan moved' && swarm claim {claim.task} --agent {claim.agent}"
        found.append(Refused("plan-moved", message, hint))
    if candidate.state is not State.QUEUED:
        where = f"is {candidate.state.value}" if candidate.state else "is gone"
        message = f"{claim.task} {where} on base, no longer queued"
        found.append(Refused("task-not-queued", message, f"swarm release {claim.task} --reason TEXT"))
    elif candidate.task is not None and claim.task_digest not in (None, candidate.task.digest):
        message = f"{claim.task} was changed on base since it was claimed"
        hint = f"swarm show {claim.task}, then: swarm release {claim.task} --reason 'task changed'"
        found.append(Refused("task-changed", message, hint))
    return found
