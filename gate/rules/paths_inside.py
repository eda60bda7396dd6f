"""Every path that would land, or that a commit touches, lies inside the task's authority on base.

Why: the authority is what the operator agreed to have changed. What is outside it was not asked for, and another
agent may be at work there.

Fix: put the path back as base has it, or ask for a wider authority with a proposal.
"""

from __future__ import annotations

from claims.board.authority import is_reserved
from gate.evidence import Evidence
from gate.judged import granting, judged_paths
from gate.tree import shown
from gate.verdict import Finding, Ruling

RULE = "paths-inside"
FIX = "git checkout BASE -- PATH"


def judge(evidence: Evidence) -> Ruling:
    authority = granting(evidence)
    findings = [
        Finding(
            RULE, f"outside the task's authority{judged.where}", shown(judged.path), fix="git checkout BASE -- PATH"
        )
        for judged in judged_paths(evidence)
        if not is_reserved(judged.path) and (authority is None or not authority.covers(judged.path))
    ]
    return Ruling(tuple(findings))
