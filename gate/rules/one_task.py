"""A pull request that implements something moves exactly one task file from queued/ to done/, and no other task file.

Why: the task is what the work answers to. Two tasks in one pull request share one claim and one authority between
them; a task written straight into done/ answers to nobody; an edit to another task changes what others may do.

Fix: move the task that you claimed with `git mv .agents/tasks/queued/ID.md .agents/tasks/done/ID.md`, put every other
task file back as base has it, and leave further tasks to further pull requests.
"""

from __future__ import annotations

from gate.evidence import Evidence
from gate.judged import is_task_file, is_the_move, judged_paths
from gate.tree import shown
from gate.verdict import Finding, Ruling

RULE = "one-task"


def judge(evidence: Evidence) -> Ruling:
    findings: list[Finding] = []
    subject = evidence.subject
    landed = {change.path: change for change in evidence.landing.landed}
    if subject is None:
        findings.append(
            Finding(
                RULE, "no task moves from queued/ to done/", fix="git mv .agents/tasks/queued/ID.md .agents/tasks/done/"
            )
        )
    else:
        leaves, arrives = landed.get(subject.queued_path), landed.get(subject.done_path)
        if leaves is None or leaves.after is not None or arrives is None or arrives.before is not None:
            message = f"{subject.id} does not move from queued/ to done/: one file has to leave the one for the other"
            fix = f"git mv {subject.queued_path.decode()} {subject.done_path.decode()}"
            findings.append(Finding(RULE, message, shown(subject.done_path), fix=fix))
    for judged in judged_paths(evidence):
        if is_task_file(judged.path) and not is_the_move(evidence, judged.path):
            change = judged.change
            message = f"another task file is {_how(change.before is None, change.after is None)}{judged.where}"
            fix = "git checkout BASE -- PATH, or git rm PATH where base lacks it"
            findings.append(Finding(RULE, message, shown(judged.path), fix=fix))
    return Ruling(tuple(findings))


def _how(added: bool, removed: bool) -> str:
    return "added" if added else "removed" if removed else "edited"
