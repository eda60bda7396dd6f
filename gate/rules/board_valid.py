"""The board as it would land is valid: every file reads, and they agree with each other.

Why: planning is the operator's own way past the other rules. A board with two copies of a task, a dependency on nothing
or a milestone of the wrong revision stops every agent, and the pull request that broke it is the cheapest to mend.

Fix: mend what is named; `swarm-gate board` says the same of the working tree before you push.
"""

from __future__ import annotations

from claims.board.survey import Remark as OfBoard
from gate.evidence import Evidence
from gate.tree import shown
from gate.verdict import Finding, Remark, Ruling

RULE = "board-valid"


def judge(evidence: Evidence) -> Ruling:
    report = evidence.landed_board
    if report is None:
        raise LookupError("the board as it would land was not read")
    return Ruling(
        tuple(Finding(RULE, one.message, _shown(one), fix=one.fix or "swarm-gate board") for one in report.faults),
        tuple(Remark(RULE, f"{_shown(one)}: {one.message}") for one in report.notices),
    )


def _shown(of: OfBoard) -> str:
    return shown(of.path.encode("utf-8", "surrogateescape"))
