"""Every path is within what `gate.exempt` on base grants to the author.

Why: a bot's pull requests need no task because the operator said which files they may touch, and no others.

Fix: the operator widens the entry on base, or a task and a claim stand behind the change.
"""

from __future__ import annotations

from gate.evidence import Evidence
from gate.fixes import put_back
from gate.judged import exemption_of, judged_paths
from gate.tree import shown
from gate.verdict import Finding, Ruling

RULE = "exempt-paths"


def judge(evidence: Evidence) -> Ruling:
    exemption = exemption_of(evidence)
    findings = [
        Finding(
            RULE,
            f"outside what the author is exempt for{judged.where}",
            shown(judged.path),
            fix=put_back(evidence, judged),
        )
        for judged in judged_paths(evidence)
        if exemption is None or not any(pattern.covers(judged.path) for pattern in exemption.paths)
    ]
    return Ruling(tuple(findings))
