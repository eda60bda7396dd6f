"""The claim was made for what base has now: its plan revision, task digest, locks and reservation; on a fresh branch.

Why: a claim on another plan, or on a task that was changed since, says nothing about this one. A branch that already
had work of its own when it was claimed was begun without a claim. Times that cannot be are forged.

Fix: let go of the claim and claim again. Where the branch had work before its claim, or the times cannot be, claim on a
new branch off the base branch as it is now, and bring the work there.
"""

from __future__ import annotations

from claims.board.task import Task
from claims.clock import MAX_SKEW
from claims.record import Claim
from gate.evidence import Evidence, Subject
from gate.fixes import claim_afresh
from gate.on_record import OnRecord, unbroken_run
from gate.verdict import Finding, Ruling

RULE = "claim-binds"


def judge(evidence: Evidence) -> Ruling:
    subject, run = evidence.subject, unbroken_run(evidence)
    if subject is None or not run:
        return Ruling()
    newest, first = run[-1], run[0]
    outdated = _differences(newest.claim, subject.base) if subject.base is not None else []
    revision = evidence.board.plan.revision if evidence.board.plan is not None else 0
    if newest.claim.plan_revision != revision:
        outdated.append(f"it was made under plan revision {newest.claim.plan_revision}, base is at {revision}")
    unsound = _work_before(evidence, first.claim)
    unsound += [message for one in run for message in _impossible(evidence, one)]
    let_go = _let_go(subject, newest)
    again, afresh = f"{let_go}swarm claim {subject.id}", f"{let_go}{claim_afresh(evidence, subject)}"
    found = [(message, again) for message in outdated] + [(message, afresh) for message in unsound]
    return Ruling(
        tuple(Finding(RULE, f"the claim does not bind: {message}", ref=newest.ref, fix=fix) for message, fix in found)
    )


def _let_go(subject: Subject, newest: OnRecord) -> str:
    """The command that has to come before another claim: a held or finished one is in its way."""
    reason = "--reason 'the claim does not bind'"
    if newest.held:
        return f"swarm release {subject.id} {reason} && "
    return f"swarm reopen {subject.id} {reason} && " if newest.outcome == "done" else ""


def _differences(claim: Claim, task: Task) -> list[str]:
    messages: list[str] = []
    if claim.task_digest is not None and claim.task_digest != task.digest:
        messages.append("the task was changed on base since it was claimed")
    if claim.locks != tuple(sorted(set(task.locks))):
        messages.append(f"it holds the locks {list(claim.locks)}, the task declares {sorted(set(task.locks))}")
    if task.reserved_for is not None and task.reserved_for != claim.agent:
        messages.append(f"the task is reserved for {task.reserved_for}, it was claimed by {claim.agent}")
    return messages


def _work_before(evidence: Evidence, first: Claim) -> list[str]:
    tip = first.branch_commit
    if tip is None or evidence.in_base_history.get(tip, False):
        return []
    return [f"claimed after the work: the branch was at {tip[:12]}, which base lacks, when it was claimed"]


def _impossible(evidence: Evidence, one: OnRecord) -> list[str]:
    claim, messages = one.claim, []
    if not evidence.in_base_history.get(claim.base_commit, False):
        messages.append(f"its baseCommit {claim.base_commit[:12]} is not in the history of base")
    if claim.closed is not None and not claim.claimed_at <= claim.closed.at <= evidence.facts.now + MAX_SKEW:
        messages.append("it was closed before it was made, or in the future")
    return messages
