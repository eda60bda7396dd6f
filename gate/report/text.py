"""A verdict for people: a line for each finding, each with its fix, then what applied. Control characters stay out."""

from __future__ import annotations

from collections.abc import Iterator

from claims.git import printable
from gate.verdict import Finding, Outcome, Verdict

_NOT_CHECKED = "anyone who can push can write a claim: it shows intent, not identity"


def lines(verdict: Verdict) -> Iterator[str]:
    """The report, line by line, without control characters."""
    yield from (_safe(line) for line in _lines(verdict))


def _lines(verdict: Verdict) -> Iterator[str]:
    for finding in verdict.findings:
        yield _finding(finding)
        if finding.fix:
            yield f"  fix: {finding.fix}"
    for remark in verdict.remarks:
        yield f"notice[{remark.rule}]: {remark.message}"
    subject = f" of {verdict.task}" if verdict.task is not None else ""
    yield f"verdict: {verdict.word} ({verdict.kind}{subject})"
    head = verdict.head.branch or verdict.head.commit[:12]
    yield f"  head {head} at {verdict.head.commit[:12]}, base {verdict.base.branch} at {verdict.base.commit[:12]}"
    if verdict.claim is not None:
        claim = verdict.claim
        ended = f", {claim.outcome}" if claim.outcome else ""
        yield f"  claim of {claim.agent} on {claim.branch} at {claim.claimed_at}{ended}"
    yield f"  trust: {verdict.trust} ({_NOT_CHECKED})"
    yield f"  rules: {_counts(verdict)}"


def _finding(finding: Finding) -> str:
    where = finding.path or finding.ref
    return f"fail[{finding.rule}]: {where + ': ' if where else ''}{finding.message}"


def _counts(verdict: Verdict) -> str:
    outcomes = list(verdict.outcomes.values())
    return ", ".join(f"{outcomes.count(one)} {one.value}" for one in Outcome if one in outcomes)


def _safe(line: str) -> str:
    return printable(line, 4000)
