"""What lands in done/ is an ordinary, non-executable file under the task's own name.

Why: a link, a folder or a submodule of that name would put something else where readers expect the task.

Fix: move the file with `git mv`, and do not change its mode.
"""

from __future__ import annotations

from gate.evidence import Evidence
from gate.fixes import move, move_afresh
from gate.tree import EXECUTABLE, FILE, shown
from gate.verdict import Finding, Ruling

RULE = "task-identity"


def judge(evidence: Evidence) -> Ruling:
    subject = evidence.subject
    if subject is None:
        return Ruling((Finding(RULE, "no task would land in done/"),))
    path, entry = shown(subject.done_path), subject.landed_entry
    if entry is None:
        message = "the task's file would not be in done/"
        return Ruling((Finding(RULE, message, path, fix=move(evidence, subject)),))
    if entry.mode != FILE:
        message = f"the task's file would have mode {entry.mode:06o}, not {FILE:06o}"
        fix = f"chmod 644 {path} && git add {path}" if entry.mode == EXECUTABLE else move_afresh(evidence, subject)
        return Ruling((Finding(RULE, message, path, fix=fix),))
    return Ruling()
