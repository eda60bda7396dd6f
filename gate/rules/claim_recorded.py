"""A valid claim for the task, live or in the log, names this head branch in the head's own repository.

Why: the claim says who set out to do this, for which branch, before it was done. Without one two agents may have done
the same, and the one who asked was refused in favour of the one who did not.

Fix: claim the task before working on it, with `swarm claim ID --agent NAME` on the branch; for a fork a maintainer
claims with `--branch` and `--repository`.
"""

from __future__ import annotations

from gate.evidence import Evidence
from gate.on_record import heads_claims, unreadable
from gate.verdict import Finding, Remark, Ruling

RULE = "claim-recorded"


def judge(evidence: Evidence) -> Ruling:
    subject, records, facts = evidence.subject, evidence.records, evidence.facts
    if subject is None or records is None:
        return Ruling((Finding(RULE, "there is no task that a claim could be on", fix="swarm tasks --ready"),))
    faulty = [f"{entry.ref} does not read as a claim: {entry.fault}" for entry in unreadable(records)]
    if heads_claims(evidence):
        return Ruling(remarks=tuple(Remark(RULE, message) for message in faulty))
    if facts.head_branch is None:
        message = "the head branch is not known, so no claim can name it"
    else:
        where = f" of repository {facts.head_repository_id}" if facts.fork else ""
        message = f"no claim on {subject.id} is on record for the branch {facts.head_branch}{where}"
    fix = f"swarm claim {subject.id} --agent NAME"
    if facts.fork and facts.head_branch is not None:
        fix += f" --branch {facts.head_branch} --repository {facts.head_repository_id or 'ID'}"
    return Ruling((Finding(RULE, "; ".join([message, *faulty]), fix=fix),))
