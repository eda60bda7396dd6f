"""Proposals: what agents found out and want decided. board.md, "Proposal"."""

from __future__ import annotations

from enum import Enum

from claims.board import fields
from claims.board.node import Malformed
from claims.board.strict_yaml import split_front_matter
from claims.names import AgentName, ProposalId, TaskId, parse_agent, parse_proposal_id, parse_task_id
from claims.values import dataclass

FOLDER = ".agents/proposals"
CODE = "malformed-task"

_MAX_REVISION = 2**31 - 1
_KEYS = ("id", "title", "base_plan_revision", "severity", "status", "raised_by", "task", "folded_into")


class Severity(str, Enum):
    LOCAL = "local"
    ORDERING = "ordering"
    SCOPE = "scope"
    ENDGOAL = "endgoal"


class ProposalStatus(str, Enum):
    OPEN = "open"
    FOLDED = "folded"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proposal as its file says it; `folded_into` is the plan revision that took it up."""

    id: ProposalId
    title: str
    base_plan_revision: int
    severity: Severity
    status: ProposalStatus
    raised_by: AgentName
    task: TaskId | None
    folded_into: int | None
    body: str


def parse_proposal(data: bytes, path: str) -> Proposal:
    """Read a proposal; `path` ends in `<id>.md`. Raises Undecided("malformed-task") with `path:line: …`."""
    front = split_front_matter(data, path, CODE)
    try:
        known = fields.Fields(front.root, 1, "a proposal", _KEYS)
        proposal = Proposal(
            id=known.required("id", fields.parsed(parse_proposal_id)),
            title=known.required("title", fields.line_of_text),
            base_plan_revision=known.required("base_plan_revision", fields.integer(0, _MAX_REVISION)),
            severity=known.required("severity", fields.one_of(Severity)),
            status=known.required("status", fields.one_of(ProposalStatus)),
            raised_by=known.required("raised_by", fields.parsed(parse_agent)),
            task=known.optional("task", fields.parsed(parse_task_id), None),
            folded_into=known.optional("folded_into", fields.integer(1, _MAX_REVISION), None),
            body=front.body,
        )
        _check(proposal, path, known)
    except Malformed as wrong:
        raise wrong.at(path, CODE) from None
    return proposal


def _check(proposal: Proposal, path: str, known: fields.Fields) -> None:
    name = path.rpartition("/")[2]
    if name != f"{proposal.id}.md":
        raise Malformed(known.line("id"), f"`id`: {proposal.id}, but the file is named {name}")
    if (proposal.status is ProposalStatus.FOLDED) != (proposal.folded_into is not None):
        raise Malformed(known.line("status"), "`folded_into` stands with `status: folded`, and only there")
