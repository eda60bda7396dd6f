"""The plan on base is approved, the manifest is for its revision, and it releases the task; its review was not overdue.

Why: an agent works on what the operator has released. A plan that moved on may want the work no more.

Fix: nothing on the branch helps: on base, the operator approves the plan, brings the manifest in line, or activates
the milestone; a task whose review is overdue is reviewed and claimed again.
"""

from __future__ import annotations

from claims.board.plan import Manifest, MilestoneStatus, Plan, PlanStatus
from claims.names import TaskId
from gate.evidence import Evidence
from gate.on_record import unbroken_run
from gate.tree import shown
from gate.verdict import Finding, Ruling

RULE = "plan-current"


def judge(evidence: Evidence) -> Ruling:
    board, subject = evidence.board, evidence.subject
    found = [_finding(fault.message, "corrects the file; `swarm-gate board` says the same") for fault in board.faults]
    if not found and (board.plan is None) != (board.manifest is None):
        missing = "plan.md" if board.plan is None else "manifest.yaml"
        message = "base has only one of plan.md and manifest.yaml: it needs both or neither"
        found.append(_finding(message, f"adds .agents/{missing}"))
    if board.plan is not None and board.manifest is not None:
        found += _disagreements(board.plan, board.manifest)
        if subject is not None:
            found += _not_released(board.manifest, subject.id)
    return Ruling((*found, *_overdue(evidence)))


def _finding(message: str, what: str) -> Finding:
    return Finding(RULE, message, fix=f"on base, the operator {what}")


def _disagreements(plan: Plan, manifest: Manifest) -> list[Finding]:
    found: list[Finding] = []
    if plan.status is not PlanStatus.APPROVED:
        message = f"plan revision {plan.revision} is a {plan.status.value}, not approved"
        found.append(_finding(message, "writes `status: approved` in .agents/plan.md"))
    if manifest.plan_revision != plan.revision:
        message = f"the manifest is for plan revision {manifest.plan_revision}, the plan is at {plan.revision}"
        found.append(_finding(message, f"writes `plan_revision: {plan.revision}` in .agents/manifest.yaml"))
    return found


def _not_released(manifest: Manifest, task: TaskId) -> list[Finding]:
    milestone = manifest.milestone_of(task)
    if milestone is None:
        message = f"no milestone of the manifest lists {task}"
        return [_finding(message, "lists it in an active milestone of .agents/manifest.yaml, or withdraws it")]
    fine = [MilestoneStatus.ACTIVE, *([MilestoneStatus.INTEGRATING] if milestone.integration == task else [])]
    if milestone.status in fine:
        return []
    message = f"milestone {milestone.id} of {task} is {milestone.status.value}"
    return [_finding(message, f"makes it {fine[-1].value} in .agents/manifest.yaml")]


def _overdue(evidence: Evidence) -> list[Finding]:
    subject = evidence.subject
    run = unbroken_run(evidence)
    if subject is None or subject.base is None or subject.base.review_by is None or not run:
        return []
    due, claimed = subject.base.review_by, run[-1].claim.claimed_at.date()
    if claimed <= due:
        return []
    message = f"{subject.id} was claimed on {claimed}, after its review was due on {due}"
    return [
        _finding(message, f"reviews {shown(subject.queued_path)} and sets a later review_by; then it is claimed again")
    ]
