"""Outside the authority block the task's file differs from base's in the status line, in what completes it, or by text
appended to its body, and in nothing else.

Why: the criteria of a task are frozen by its claim. Whoever does the work does not rewrite what counts as done.

Fix: put the file back as base has it, change `status`, and append what there is to say at its end.
"""

from __future__ import annotations

from claims.errors import Undecided
from gate.evidence import Evidence
from gate.fixes import move_afresh
from gate.task_text import cut, difference, is_appended
from gate.tree import shown
from gate.verdict import Finding, Ruling

RULE = "task-unchanged"


def judge(evidence: Evidence) -> Ruling:
    subject = evidence.subject
    if subject is None or subject.base_file is None:
        return Ruling((Finding(RULE, "base has no queued file of the task to compare with"),))
    path = shown(subject.done_path)
    if subject.landed_file is None:
        return Ruling((Finding(RULE, "no file would land that could be compared with base's", path),))
    try:
        base = cut(subject.base_file, shown(subject.queued_path))
        landed = cut(subject.landed_file, path)
    except Undecided as wrong:
        message = f"it cannot be compared: {wrong.message}"
        return Ruling((Finding(RULE, message, path, fix=move_afresh(evidence, subject)),))
    findings: list[Finding] = []
    fix = move_afresh(evidence, subject)
    if base.rest != landed.rest:
        message = f"the front matter is not base's: {difference(base.rest, landed.rest)}"
        findings.append(Finding(RULE, message, path, fix=fix))
    if not is_appended(base.body, landed.body):
        findings.append(Finding(RULE, "the body is not base's with text appended to it", path, fix=fix))
    return Ruling(tuple(findings))
