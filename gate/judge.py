"""Evidence in, verdict out. A rule that raises is an error, and an error is never a pass."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

from claims.board.config import History
from claims.clock import format_instant
from claims.names import ObjectId
from gate.evidence import Evidence, Facts
from gate.kinds import RULES_OF, Kind, kind_of
from gate.landing import NoLanding
from gate.on_record import OnRecord, heads_claims
from gate.paths import only_on_the_way
from gate.rules import RULES, id_of
from gate.tree import shown
from gate.verdict import ClaimUsed, Finding, Outcome, Remark, Ruling, Side, Verdict

#: The level of trust in claims: anyone who can push can write one, so it shows intent, not identity.
TRUST = "recorded"


def judge(evidence: Evidence, rules: Sequence[ModuleType] = RULES) -> Verdict:
    """Run every rule that applies to the kind of pull request."""
    kind = kind_of(evidence)
    outcomes: dict[str, Outcome] = {}
    findings: list[Finding] = []
    remarks = _remarks(evidence, kind)
    for rule in rules:
        name = id_of(rule)
        if name not in RULES_OF[kind]:
            outcomes[name] = Outcome.NOT_APPLICABLE
            continue
        outcomes[name], ruling = _run(rule, name, evidence)
        findings += ruling.findings
        remarks += ruling.remarks
    for name in RULES_OF[kind]:
        outcomes.setdefault(name, Outcome.ERROR)  # a rule that is not there has not passed
    claim = heads_claims(evidence)[-1:] if kind is Kind.IMPLEMENTATION else []
    return Verdict(
        kind=kind.value,
        trust=TRUST,
        base=_base(evidence.facts, evidence.landing.base),
        head=_head(evidence.facts, evidence.landing.head),
        outcomes=outcomes,
        task=evidence.subject.id if evidence.subject is not None and kind is Kind.IMPLEMENTATION else None,
        claim=_claim_used(claim[0]) if claim else None,
        findings=list(dict.fromkeys(findings)),
        remarks=remarks,
    )


def judge_nothing(facts: Facts, base: ObjectId, head: ObjectId, reason: NoLanding) -> Verdict:
    """The verdict where nothing lands, or it is not clear what: the landing code is the finding, every rule is n/a."""
    return Verdict(
        kind="empty" if reason.code == "no-change" else "unknown",
        trust=TRUST,
        base=_base(facts, base),
        head=_head(facts, head),
        outcomes={id_of(rule): Outcome.NOT_APPLICABLE for rule in RULES},
        findings=[Finding(reason.code, reason.message, fix=reason.fix)],
    )


def _run(rule: ModuleType, name: str, evidence: Evidence) -> tuple[Outcome, Ruling]:
    try:
        ruling: Ruling = rule.judge(evidence)
    except Exception as bug:  # noqa: BLE001 - whatever a rule does, the gate fails closed
        message = f"the rule could not decide: {type(bug).__name__}: {bug}"
        return Outcome.ERROR, Ruling((Finding(name, message),))
    return (Outcome.FAIL if ruling.findings else Outcome.PASS), ruling


def _remarks(evidence: Evidence, kind: Kind) -> list[Remark]:
    remarks: list[Remark] = []
    if kind is Kind.HOTFIX:
        remarks.append(Remark("hotfix", "an operator lands code that no task authorised"))
    if kind in (Kind.PLANNING, Kind.EXEMPT, Kind.HOTFIX) and evidence.facts.verified is None:
        message = f"whether every commit is {evidence.facts.author}'s is for GitHub to say; here it was not checked"
        remarks.append(Remark(kind.value, message))
    gate = evidence.board.config.gate
    taskless = kind is Kind.IMPLEMENTATION and evidence.subject is None
    if taskless and evidence.facts.author is None and (gate.operators or gate.exempt):
        message = "planning, exempt and hotfix go by the author, who is not known here: --author LOGIN says who it is"
        remarks.append(Remark("one-task", message))
    if gate.history is History.SQUASH:
        paths = [shown(judged.path) for judged in only_on_the_way(evidence.landing)]
        if paths:
            named = ", ".join(paths[:10]) + (f" and {len(paths) - 10} more" if len(paths) > 10 else "")
            remarks.append(
                Remark("paths-inside", f"only commits on the way touch {named}: squashed, nothing of it lands")
            )
    return remarks


def _base(facts: Facts, commit: ObjectId) -> Side:
    return Side(facts.base_branch, commit)


def _head(facts: Facts, commit: ObjectId) -> Side:
    return Side(facts.head_branch, commit, facts.head_repository if facts.fork else None)


def _claim_used(one: OnRecord) -> ClaimUsed:
    claim = one.claim
    return ClaimUsed(
        claim.agent,
        claim.branch,
        format_instant(claim.claimed_at),
        format_instant(claim.expires_at),
        one.ref,
        one.outcome,
    )
