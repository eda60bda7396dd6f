"""The plan on base is approved, the manifest is for its revision, and it releases the task; its review was not overdue.

Why: an agent works on what the operator has released. A plan that moved on may want the work no more.

Fix: nothing on the branch helps: the operator approves the plan, brings the manifest in line, or activates the
milestone; a task whose review is overdue is reviewed and claimed again.
"""

from __future__ import annotations

from claims.board.plan import Manifest, MilestoneStatus, Plan, PlanStatus
from claims.names import TaskId
from gate.evidence import Evidence
from gate.on_record import unbroken_run
from gate.verdict import Finding, Ruling

RULE = "plan-current"
FIX = "the operator brings plan and manifest in line"


def judge(evidence: Evidence) -> Ruling:
    board, subject = evidence.board, evidence.subject
    messages = [fault.message for fault in board.faults]
    if not messages and (board.plan is None) != (board.manifest is None):
        messages.append("base has only one of plan.md and manifest.yaml: it needs both or neither")
    if board.plan is not None and board.manifest is not None:
        messages += _disagreements(board.plan, board.manifest)
        if subject is not None:
            messages += _not_released(board.manifest, subject.id)
    messages += _overdue(evidence)
    return Ruling(
        tuple(Finding(RULE, message, fix="the operator brings plan and manifest in line") for message in messages)
    )


def _disagreements(plan: Plan, manifest: Manifest) -> list[str]:
    messages: list[str] = []
    if plan.status is not PlanStatus.APPROVED:
        messages.append(f"plan revision {plan.revision} is a {plan.status.value}, not approved")
    if manifest.plan_revision != plan.revision:
        messages.append(f"the manifest is for plan revision {manifest.plan_revision}, the plan is at {plan.revision}")
    return messages


def _not_released(manifest: Manifest, task: TaskId) -> list[str]:
    milestone = manifest.milestone_of(task)
    if milestone is None:
        return [f"no milestone of the manifest lists {task}"]
    fine = [MilestoneStatus.ACTIVE, *([MilestoneStatus.INTEGRATING] if milestone.integration == task else [])]
    if milestone.status in fine:
        return []
    return [f"milestone {milestone.id} of {task} is {milestone.status.value}"]


def _overdue(evidence: Evidence) -> list[str]:
    task = evidence.subject.base if evidence.subject is not None else None
    run = unbroken_run(evidence)
    if task is None or task.review_by is None or not run:
        return []
    claimed = run[-1].claim.claimed_at.date()
    return (
        [f"{task.id} was claimed on {claimed}, after its review was due on {task.review_by}"]
        if claimed > task.review_by
        else []
    )
