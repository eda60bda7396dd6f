"""The file that would land in done/ reads as a valid task with `status: done`.

Why: the state is told twice, by folder and by `status`; a board on which they disagree cannot be read by anybody.

Fix: write `status: done` in the file, and leave everything else of its front matter alone.
"""

from __future__ import annotations

from claims.board.task import parse_task
from claims.errors import Undecided
from gate.evidence import Evidence
from gate.tree import shown
from gate.verdict import Finding, Ruling

RULE = "state-agrees"


def judge(evidence: Evidence) -> Ruling:
    subject = evidence.subject
    if subject is None or subject.landed_file is None:
        return Ruling((Finding(RULE, "no task file would land in done/ that could be read"),))
    path = shown(subject.done_path)
    try:
        parse_task(subject.landed_file, subject.done_path.decode("ascii"))
    except Undecided as wrong:
        fix = f"sed -i 's/^status: .*$/status: done/' {path}"
        return Ruling((Finding(RULE, f"the file that would land does not read: {wrong.message}", path, fix=fix),))
    return Ruling()
