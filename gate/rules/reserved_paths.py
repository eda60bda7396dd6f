"""Under .agents/, nothing changes but the one move of the task and new proposals.

Why: the board says what may be done. No authority reaches it, or a task could widen its own, queue others or approve
the plan.

Fix: put the path back as base has it. What should change on the board goes into a proposal, or to the operator.
"""

from __future__ import annotations

from claims.board.authority import is_reserved
from gate.evidence import Evidence
from gate.fixes import put_back
from gate.judged import is_new_proposal, is_task_file, is_the_move, judged_paths
from gate.kinds import Kind, kind_of
from gate.tree import shown
from gate.verdict import Finding, Ruling

RULE = "reserved-paths"


def judge(evidence: Evidence) -> Ruling:
    implements = kind_of(evidence) is Kind.IMPLEMENTATION
    findings: list[Finding] = []
    for judged in judged_paths(evidence):
        if not is_reserved(judged.path):
            continue
        # Task files are for one-task to judge, where there is one.
        allowed = is_the_move(evidence, judged.path) or is_new_proposal(judged) or is_task_file(judged.path)
        if not (implements and allowed):
            message = f"reserved: .agents/ is not for this pull request to change{judged.where}"
            findings.append(Finding(RULE, message, shown(judged.path), fix=put_back(evidence, judged)))
    return Ruling(tuple(findings))
