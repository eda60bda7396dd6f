"""A protected path is touched only where the authority names it byte for byte.

Why: workflows, code owners, submodule and attribute files decide what runs and who reviews. No wildcard and no folder
grants them by accident.

Fix: put the path back as base has it, or have the operator name it in the task's authority.
"""

from __future__ import annotations

from claims.board.authority import is_protected
from gate.evidence import Evidence
from gate.fixes import put_back
from gate.judged import exemption_of, granting, judged_paths
from gate.kinds import Kind, kind_of
from gate.tree import shown
from gate.verdict import Finding, Ruling

RULE = "protected-paths"


def judge(evidence: Evidence) -> Ruling:
    extra = evidence.board.config.gate.protected
    findings = [
        Finding(
            RULE,
            f"protected, and not named in full{judged.where}",
            shown(judged.path),
            fix=put_back(evidence, judged),
        )
        for judged in judged_paths(evidence)
        if is_protected(judged.path, extra) and not _is_named(evidence, judged.path)
    ]
    return Ruling(tuple(findings))


def _is_named(evidence: Evidence, path: bytes) -> bool:
    if kind_of(evidence) is Kind.EXEMPT:
        exemption = exemption_of(evidence)
        return exemption is not None and any(pattern.text.encode() == path for pattern in exemption.paths)
    authority = granting(evidence)
    return authority is not None and authority.names_exactly(path)
