"""Findings and the verdict. A verdict with an error in it cannot be a pass, nor can one in which no rule applied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

from claims.names import ObjectId, RefName, TaskId
from claims.values import dataclass, field


class Outcome(str, Enum):
    """What one rule made of a pull request."""

    PASS = "pass"  # noqa: S105 - not a password
    FAIL = "fail"
    ERROR = "error"
    NOT_APPLICABLE = "n/a"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong: what is and what was expected in `message`, and in `fix` the command to run next.

    `rule` is a rule's id or a landing code. `path` is a path's bytes as text, with `\\xNN` where they are not UTF-8.
    """

    rule: str
    message: str
    path: str | None = None
    ref: RefName | None = None
    fix: str | None = None

    def to_json(self) -> dict[str, Any]:
        members = {"rule": self.rule, "message": self.message, "path": self.path, "ref": self.ref, "fix": self.fix}
        return {name: value for name, value in members.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Remark:
    """A notice: what a reader should know although it fails nothing."""

    rule: str
    message: str

    def to_json(self) -> dict[str, Any]:
        return {"rule": self.rule, "message": self.message}


@dataclass(frozen=True, slots=True)
class Ruling:
    """What a rule returns: its findings (none: it passes) and its notices."""

    findings: tuple[Finding, ...] = ()
    remarks: tuple[Remark, ...] = ()


@dataclass(frozen=True, slots=True)
class Side:
    """The base or the head of a pull request, for the output."""

    branch: str | None
    commit: ObjectId
    repository: str | None = None


@dataclass(frozen=True, slots=True)
class ClaimUsed:
    """The claim on record that a pull request rests on, for the output."""

    agent: str
    branch: str
    claimed_at: str
    expires_at: str
    ref: RefName
    outcome: str | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judgement of one pull request."""

    kind: str
    trust: str
    base: Side
    head: Side
    outcomes: Mapping[str, Outcome]
    task: TaskId | None = None
    claim: ClaimUsed | None = None
    findings: Sequence[Finding] = ()
    remarks: Sequence[Remark] = field(default=())

    @property
    def word(self) -> str:
        """`pass` only if every rule that applied ran and found nothing, and at least one applied."""
        outcomes = set(self.outcomes.values())
        if Outcome.ERROR in outcomes:
            return "error"
        if self.findings or Outcome.FAIL in outcomes or Outcome.PASS not in outcomes:
            return "fail"
        return "pass"

    def to_json(self) -> dict[str, Any]:
        """The object that `swarm-gate pr --json` prints for a pass or a fail."""
        claim = self.claim
        return {
            "version": 1,
            "verdict": self.word,
            "kind": self.kind,
            "trust": self.trust,
            "base": {"branch": self.base.branch, "commit": self.base.commit},
            "head": {"branch": self.head.branch, "commit": self.head.commit, "repository": self.head.repository},
            "task": self.task,
            "claim": None
            if claim is None
            else {
                "agent": claim.agent,
                "branch": claim.branch,
                "claimedAt": claim.claimed_at,
                "expiresAt": claim.expires_at,
                "ref": claim.ref,
                "outcome": claim.outcome,
            },
            "findings": [finding.to_json() for finding in self.findings],
            "notices": [remark.to_json() for remark in self.remarks],
            "rules": {rule: outcome.value for rule, outcome in self.outcomes.items()},
        }
