"""The newest claim on record for the task is this branch's: nobody has taken it over since.

Why: a lease that ran out may be stolen. Whoever holds the task then goes on with it, and the work that was overtaken
would land on top of theirs.

Fix: see who has it with `swarm show ID`; where the task is free again, claim it again and push.
"""

from __future__ import annotations

from claims.clock import format_instant
from gate.evidence import Evidence
from gate.on_record import claims_on_record, heads_claims, is_heads
from gate.verdict import Finding, Remark, Ruling

RULE = "claim-current"


def judge(evidence: Evidence) -> Ruling:
    records, subject, now = evidence.records, evidence.subject, evidence.facts.now
    if records is None or subject is None:
        return Ruling()
    fix = f"swarm show {subject.id}"
    if records.at is not None and records.at.claim is None:
        message = f"the live claim on {subject.id} cannot be read, so it may be newer: {records.at.fault}"
        return Ruling((Finding(RULE, message, ref=records.at.ref, fix=fix),))
    found = claims_on_record(records, now)
    if not found:
        return Ruling()
    newest = found[-1]
    claim = newest.claim
    if not is_heads(claim, evidence.facts):
        message = f"{claim.agent} claimed {subject.id} for {claim.branch} at {format_instant(claim.claimed_at)}"
        why = "this work was overtaken" if heads_claims(evidence) else "this branch has none"
        return Ruling((Finding(RULE, f"{message}: {why}", ref=newest.ref, fix=fix),))
    if newest.held and claim.expired(now):
        message = f"the claim expired at {format_instant(claim.expires_at)}; nobody has taken it"
        return Ruling(remarks=(Remark(RULE, message),))
    return Ruling()
