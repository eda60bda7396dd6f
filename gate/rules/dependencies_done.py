"""Every task that this one depends on is in done/ on base; for an integration task also all others of its milestone.

Why: the plan's order is kept by what has been merged, not by what is about to be.

Fix: wait until the dependency is merged, then let the gate judge again.
"""

from __future__ import annotations

from claims.board.task import State
from gate.evidence import Evidence
from gate.verdict import Finding, Ruling

RULE = "dependencies-done"


def judge(evidence: Evidence) -> Ruling:
    subject = evidence.subject
    if subject is None or subject.base is None:
        return Ruling()
    findings = [
        Finding(
            RULE,
            f"{subject.id} needs {other}, which is {state.value if state else 'nowhere'} on base, not done",
            fix=f"swarm show {other}",
        )
        for other, state in subject.dependencies.items()
        if state is not State.DONE
    ]
    return Ruling(tuple(findings))
