"""The file that would land in done/ reads as a valid task with `status: done`.

Why: the state is told twice, by folder and by `status`; a board on which they disagree cannot be read by anybody.

Fix: write `status: done` in the file, and leave everything else of its front matter alone.
"""

from __future__ import annotations

import re

from claims.board.task import parse_task
from claims.errors import Undecided
from gate.evidence import Evidence, Subject
from gate.fixes import move_afresh
from gate.tree import shown
from gate.verdict import Finding, Ruling

RULE = "state-agrees"


def judge(evidence: Evidence) -> Ruling:
    subject = evidence.subject
    if subject is None or subject.landed_file is None:
        return Ruling((Finding(RULE, "no task file would land in done/ that could be read"),))
    wrong = _objection(subject, subject.landed_file)
    if wrong is None:
        return Ruling()
    path = shown(subject.done_path)
    return Ruling(
        (Finding(RULE, f"the file that would land does not read: {wrong}", path, fix=_fix(evidence, subject)),)
    )


def _objection(subject: Subject, data: bytes) -> str | None:
    try:
        parse_task(data, subject.done_path.decode("ascii"))
    except Undecided as wrong:
        # The finding has the path already.
        return re.sub(rf"^{re.escape(shown(subject.done_path))}:(?=[0-9])", "line ", wrong.message)
    return None


def _fix(evidence: Evidence, subject: Subject) -> str:
    """Correct the status where that is all there is to correct; else take the file from base anew."""
    corrected = re.sub(rb"^status: .*$", b"status: done", subject.landed_file or b"", count=1, flags=re.MULTILINE)
    if _objection(subject, corrected) is not None:
        return move_afresh(evidence, subject)
    path = shown(subject.done_path)
    # Not every sed edits in place without a suffix.
    edit = f"sed -i.bak '1,/^status: /s/^status: .*$/status: done/' {path} && rm {path}.bak"
    return f"{edit} && git add {path}"
