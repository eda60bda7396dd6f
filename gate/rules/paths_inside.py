"""Every path that would land, or that a commit touches, lies inside the task's authority on base.

Why: the authority is what the operator agreed to have changed. What is outside it was not asked for, and another
agent may be at work there.

Fix: put the path back as base has it, or ask for a wider authority with a proposal. Where the pull request moves no
task, no path is inside: mend that first, and leave the paths as they are.
"""

from __future__ import annotations

from claims.board.authority import is_reserved
from gate.evidence import Evidence
from gate.fixes import put_back
from gate.judged import granting, judged_paths
from gate.tree import shown
from gate.verdict import Finding, Ruling

RULE = "paths-inside"


def judge(evidence: Evidence) -> Ruling:
    authority = granting(evidence)
    outside = [
        judged
        for judged in judged_paths(evidence)
        if not is_reserved(judged.path) and (authority is None or not authority.covers(judged.path))
    ]
    # Without a task the work may be fine: nobody should be told to throw it away.
    why = "outside the task's authority" if authority is not None else "outside: no task on base grants it"
    return Ruling(
        tuple(
            Finding(
                RULE,
                why + judged.where,
                shown(judged.path),
                fix=put_back(evidence, judged) if authority is not None else None,
            )
            for judged in outside
        )
    )
