"""The claims on record for one task, put in order: which serve, which overtook, which is whose.

`docs/protocol.md` says what a record is and when a claim has ended; here it is only read, and nothing is trusted that
the strict reader refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from claims.clock import MAX_SKEW
from claims.ledger import ENDS, Entry
from claims.names import RefName
from claims.record import Claim
from claims.values import dataclass
from gate.evidence import Evidence, Facts, Records


@dataclass(frozen=True, slots=True)
class OnRecord:
    """One claim with its latest record: held, or closed. `ref` is where that record was read."""

    claim: Claim
    ref: RefName
    held: bool

    @property
    def outcome(self) -> str | None:
        return self.claim.closed.outcome if self.claim.closed is not None else None


def claims_on_record(records: Records, now: datetime) -> list[OnRecord]:
    """Every claim once, oldest first; a held one is newer than any closed one.

    Records dated more than five minutes ahead of the clock neither serve nor overtake and are left out; so is a claim
    that was reopened.
    """
    closed: dict[tuple[object, ...], OnRecord] = {}
    reopened: set[tuple[object, ...]] = set()
    ended: set[tuple[object, ...]] = set()
    entries = (*records.archived, *records.log, *([records.at] if records.at is not None else []))
    for entry in entries:
        claim = entry.claim
        if claim is None or claim.closed is None:
            continue
        if claim.closed.outcome == "reopened":
            reopened.add(claim.identity)
        if claim.closed.outcome in ENDS:
            ended.add(claim.identity)
        closed[claim.identity] = OnRecord(claim, entry.ref, held=False)
    found = [one for identity, one in closed.items() if identity not in reopened and not _ahead(one.claim, now)]
    found.sort(key=lambda one: one.claim.claimed_at)
    at = records.at
    if at is not None and at.claim is not None and at.claim.closed is None and at.claim.identity not in ended:
        found = [one for one in found if one.claim.identity != at.claim.identity]
        if not _ahead(at.claim, now):
            found.append(OnRecord(at.claim, at.ref, held=True))
    return found


def is_heads(claim: Claim, facts: Facts) -> bool:
    """Whether a claim names the head branch of the pull request, in the head's own repository.

    Without `repository` a claim means the base repository: a fork's branch of the same name is another branch.
    """
    if facts.head_branch is None or claim.branch != facts.head_branch:
        return False
    if facts.fork:
        return claim.repository is not None and claim.repository == facts.head_repository_id
    return claim.repository is None or claim.repository == facts.head_repository_id


def heads_claims(evidence: Evidence) -> list[OnRecord]:
    """The claims on record of the head branch, oldest first."""
    if evidence.records is None:
        return []
    return [
        one for one in claims_on_record(evidence.records, evidence.facts.now) if is_heads(one.claim, evidence.facts)
    ]


def unbroken_run(evidence: Evidence) -> list[OnRecord]:
    """The head branch's claims since somebody else's last one, oldest first: one stretch of work."""
    if evidence.records is None:
        return []
    run: list[OnRecord] = []
    for one in reversed(claims_on_record(evidence.records, evidence.facts.now)):
        if not is_heads(one.claim, evidence.facts):
            break
        run.insert(0, one)
    return run


def unreadable(records: Records) -> Sequence[Entry]:
    """The records that do not read as claims."""
    at = [records.at] if records.at is not None else []
    return [entry for entry in (*records.archived, *records.log, *at) if entry.claim is None]


def _ahead(claim: Claim, now: datetime) -> bool:
    return claim.claimed_at > now + MAX_SKEW
