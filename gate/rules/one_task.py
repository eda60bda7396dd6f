"""A pull request that implements something moves exactly one task file from queued/ to done/, and no other task file.

Why: the task is what the work answers to. Two tasks in one pull request share one claim and one authority between
them; a task written straight into done/ answers to nobody; an edit to another task changes what others may do.

Fix: move the task that you claimed with `git mv .agents/tasks/queued/ID.md .agents/tasks/done/ID.md` (`swarm check` on
the branch of the claim prints the commands), put every other task file back as base has it, and leave further tasks to
further pull requests.
"""

from __future__ import annotations

from claims.board.task import State
from gate.evidence import Evidence, Subject
from gate.fixes import move, put_back
from gate.judged import is_task_file, is_the_move, judged_paths
from gate.paths import Judged
from gate.tree import Change, shown
from gate.verdict import Finding, Ruling

RULE = "one-task"


def judge(evidence: Evidence) -> Ruling:
    findings = [_no_task(evidence)] if evidence.subject is None else _no_move(evidence, evidence.subject)
    for judged in judged_paths(evidence):
        if is_task_file(judged.path) and not is_the_move(evidence, judged.path):
            message = f"another task file is {_how(judged.change)}{judged.where}"
            findings.append(Finding(RULE, message, shown(judged.path), fix=put_back(evidence, judged)))
    return Ruling(tuple(findings))


def _no_task(evidence: Evidence) -> Finding:
    done = sum(_appears_in_done(change) for change in evidence.landing.landed)
    message = "no task moves from queued/ to done/"
    if done > 1:
        message = f"{done} files would be new in done/, and exactly one task moves there from queued/"
    return Finding(RULE, message, fix="swarm check   # prints the commands that move the task of this branch's claim")


def _no_move(evidence: Evidence, subject: Subject) -> list[Finding]:
    """What is wrong with the one move: nothing, or one finding."""
    landed = {change.path: change for change in evidence.landing.landed}
    leaves, arrives = landed.get(subject.queued_path), landed.get(subject.done_path)
    if leaves is not None and leaves.after is None and arrives is not None and arrives.before is None:
        return []
    queued, done = shown(subject.queued_path), shown(subject.done_path)
    if arrives is None or arrives.after is None:
        wrong = "it would be in neither"
        fix = move(evidence, subject)
    elif arrives.before is not None:
        wrong = "it is in done/ on base already"
        fix = put_back(evidence, Judged(subject.done_path, arrives))
    elif State.QUEUED in subject.places:
        wrong, fix = "it would be in both", f"git rm -f -- {queued}"
    else:
        wrong, fix = "it was never in queued/ on base", put_back(evidence, Judged(subject.done_path, arrives))
    message = f"{subject.id} does not move from queued/ to done/: {wrong}"
    return [Finding(RULE, message, done, fix=fix)]


def _appears_in_done(change: Change) -> bool:
    return (
        change.path.startswith(b".agents/tasks/done/")
        and is_task_file(change.path)
        and change.before is None
        and change.after is not None
    )


def _how(change: Change) -> str:
    return "added" if change.before is None else "removed" if change.after is None else "edited"
