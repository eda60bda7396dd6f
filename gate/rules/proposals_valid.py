"""Every new proposal is an ordinary file that reads, is open, and is raised against a plan that base has.

Why: proposals are the one thing that anybody may add to the board. What lands there has to be readable by the operator
and must not pretend to have been decided; it hides nothing.

Fix: correct the file; `swarm-gate board` says what is wrong with it.
"""

from __future__ import annotations

import re

from claims.board.proposal import ProposalStatus, parse_proposal
from claims.errors import Undecided
from gate.evidence import Evidence
from gate.judged import is_new_proposal, judged_paths
from gate.tree import FILE, shown
from gate.verdict import Finding, Ruling

RULE = "proposals-valid"

#: What ends up in no reader's sight: controls, which make git take the file for binary and show no difference of it;
#: marks that reorder a line; letters of tags, which nobody sees and programs read.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")


def judge(evidence: Evidence) -> Ruling:
    findings: list[Finding] = []
    for judged in judged_paths(evidence):
        if is_new_proposal(judged):
            after = judged.change.after
            assert after is not None
            message = _objection(evidence, judged.path, after.mode)
            fix = "swarm-gate board"
            if message is None:
                message = _hidden(evidence.proposals[judged.path])
                fix = f"LC_ALL=C sed -n l {shown(judged.path)}"
            if message is not None:
                findings.append(Finding(RULE, message, shown(judged.path), fix=fix))
    return Ruling(tuple(findings))


def _objection(evidence: Evidence, path: bytes, mode: int) -> str | None:
    if mode != FILE:
        return f"a proposal of mode {mode:06o}, not {FILE:06o}"
    data = evidence.proposals.get(path)
    if data is None:
        return "a proposal that is too large, or was not read"
    try:
        proposal = parse_proposal(data, shown(path))
    except Undecided as wrong:
        return f"the proposal does not read: {wrong.message}"
    if proposal.status is not ProposalStatus.OPEN or proposal.folded_into is not None:
        return f"a new proposal is open; this one is {proposal.status.value}"
    revision = evidence.board.plan.revision if evidence.board.plan is not None else 0
    if proposal.base_plan_revision > revision:
        return f"it is raised against plan revision {proposal.base_plan_revision}; base is at {revision}"
    return None


def _hidden(data: bytes | None) -> str | None:
    """What a proposal that reads hides from whoever reads it."""
    unseen = _UNSEEN.search((data or b"").decode("utf-8").replace("\r\n", "\n"))
    return f"the proposal has the character U+{ord(unseen.group()):04X}, which is not seen" if unseen else None
