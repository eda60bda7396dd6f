"""A valid claim for the task, live or in the log, names this head branch in the head's own repository.

Why: the claim says who set out to do this, for which branch, before it was done. Without one two agents may have done
the same, and the one who asked was refused in favour of the one who did not.

Fix: claim the task before working on it, with `swarm claim ID --agent NAME` on the branch. Where the work is done
already, claim on a new branch and bring it there; where the claim is another branch's of yours, bring it to that one.
For a fork a maintainer claims with `--branch` and `--repository`.
"""

from __future__ import annotations

import shlex

from claims.board.task import State
from gate.evidence import Evidence, Subject
from gate.fixes import claim_afresh
from gate.on_record import claims_on_record, heads_claims, unreadable
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
    return Ruling((Finding(RULE, "; ".join([message, *faulty]), fix=_fix(evidence, subject)),))


def _fix(evidence: Evidence, subject: Subject) -> str:
    facts, records = evidence.facts, evidence.records
    if State.QUEUED not in subject.places:
        return "swarm tasks --ready"
    if facts.fork:
        branch, repository = shlex.quote(facts.head_branch or "BRANCH"), facts.head_repository_id or "ID"
        return f"swarm claim {subject.id} --agent NAME --branch {branch} --repository {repository}   # a maintainer"
    held = [one.claim for one in claims_on_record(records, facts.now) if one.held] if records is not None else []
    if facts.head_branch is None:
        return "say which branch it is: --head-branch NAME"
    if held and held[0].repository is None:
        onto, head = shlex.quote(held[0].branch), evidence.landing.head[:12]
        return f"git switch {onto} && git merge --no-edit {head}   # if that claim is yours"
    return claim_afresh(evidence, subject)
