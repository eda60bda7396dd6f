"""A verdict in which a rule could not decide, as the error that it is."""

from __future__ import annotations

from claims.errors import Undecided
from gate.verdict import Outcome, Verdict


def fault_of(verdict: Verdict) -> Undecided | None:
    """The error that a verdict of `error` is; None for a pass or a fail."""
    if verdict.word != "error":
        return None
    broken = [rule for rule, outcome in verdict.outcomes.items() if outcome is Outcome.ERROR]
    words = "; ".join(finding.message for finding in verdict.findings if finding.rule in broken)
    return Undecided("unexpected", f"{', '.join(broken)}: {words}", "SWARM_DEBUG=1 shows the traceback")
