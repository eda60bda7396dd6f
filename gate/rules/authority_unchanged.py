"""The authority block that would land is the same bytes as base's.

Why: the authority is the operator's. Only base's copy is ever read; one that differs on the branch was meant to widen
it for this task or to mislead whoever reads it next.

Fix: put the block back as base has it. A wider authority is asked for with a proposal.
"""

from __future__ import annotations

from claims.errors import Undecided
from gate.evidence import Evidence
from gate.fixes import move_afresh
from gate.task_text import cut, difference
from gate.tree import shown
from gate.verdict import Finding, Ruling

RULE = "authority-unchanged"


def judge(evidence: Evidence) -> Ruling:
    subject = evidence.subject
    if subject is None or subject.base_file is None:
        return Ruling((Finding(RULE, "base has no queued file of the task, so it grants no authority"),))
    path = shown(subject.done_path)
    if subject.landed_file is None:
        return Ruling((Finding(RULE, "no file would land whose authority could be compared", path),))
    try:
        base = cut(subject.base_file, shown(subject.queued_path))
        landed = cut(subject.landed_file, path)
    except Undecided as wrong:
        message = f"it cannot be compared: {wrong.message}"
        return Ruling((Finding(RULE, message, path, fix=move_afresh(evidence, subject)),))
    if base.authority == landed.authority:
        return Ruling()
    differs = difference(base.authority.splitlines(), landed.authority.splitlines())
    message = f"the authority block is not base's: {differs}"
    return Ruling((Finding(RULE, message, path, fix=move_afresh(evidence, subject)),))
