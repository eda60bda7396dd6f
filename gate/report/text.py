"""A verdict for people: a line for each finding, each with its fix, then what was judged, and the verdict last.

Whatever the head named comes out without control, format and bidirectional characters, and a report has an end: of
one rule's findings the first are told, and how many more there are. `--json` has them all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from claims.git import printable
from gate.verdict import Finding, Outcome, Remark, Side, Verdict

#: Findings of one rule, and notices, that are told.
MAX_TOLD = 20
#: Characters of a line. A command that is longer is not shown: half of it would do something else.
MAX_LINE = 2_000
#: Characters of a path before a message: its two ends are shown.
_MAX_PATH = 400

_TRUST = "anyone who can push can write a claim: it shows intent, not identity"
_ALL = "--json has them all"


def lines(verdict: Verdict) -> Iterator[str]:
    """The report, line by line, without control characters."""
    for rule, findings in _by_rule(verdict.findings).items():
        for finding in findings[:MAX_TOLD]:
            yield from _finding(finding)
        if len(findings) > MAX_TOLD:
            yield f"fail[{rule}]: and {len(findings) - MAX_TOLD} more ({_ALL})"
    yield from _notices(verdict.remarks)
    yield from _facts(verdict)
    yield _line(_verdict(verdict))


def _by_rule(findings: Sequence[Finding]) -> dict[str, list[Finding]]:
    found: dict[str, list[Finding]] = {}
    for finding in findings:
        found.setdefault(finding.rule, []).append(finding)
    return found


def _finding(finding: Finding) -> Iterator[str]:
    where = _shortened(finding.path) if finding.path is not None else finding.ref
    yield _line(f"fail[{finding.rule}]: {where + ': ' if where else ''}{finding.message}")
    if finding.fix is None:
        return
    fix = f"  fix: {finding.fix}"
    yield _line(fix) if len(fix) <= MAX_LINE else f"  fix: a command too long for this report ({_ALL})"


def _notices(remarks: Sequence[Remark]) -> Iterator[str]:
    for remark in remarks[:MAX_TOLD]:
        yield _line(f"notice[{remark.rule}]: {remark.message}")
    if len(remarks) > MAX_TOLD:
        yield f"notice: and {len(remarks) - MAX_TOLD} more ({_ALL})"


def _facts(verdict: Verdict) -> Iterator[str]:
    """What was judged, in the same order each time, a fact a line."""
    yield _line(f"head   {_side(verdict.head)}")
    yield _line(f"base   {_side(verdict.base)}")
    if verdict.claim is not None:
        claim = verdict.claim
        ended = f", {claim.outcome}" if claim.outcome else ""
        yield _line(f"claim  of {claim.agent} for {claim.branch}, made {claim.claimed_at}{ended}")
    yield f"trust  {verdict.trust} ({_TRUST})"
    yield _line(f"rules  {_rules(verdict)}")


def _side(side: Side) -> str:
    named = side.branch or "(no branch)"
    return f"{side.repository + ':' if side.repository else ''}{named} at {side.commit[:12]}"


def _rules(verdict: Verdict) -> str:
    """The rules that did not pass by name, the others by number."""
    by_outcome = {one: [rule for rule, outcome in verdict.outcomes.items() if outcome is one] for one in Outcome}
    named = [f"{' '.join(by_outcome[one])}: {one.value}" for one in (Outcome.ERROR, Outcome.FAIL) if by_outcome[one]]
    counted = [f"{len(by_outcome[one])} {one.value}" for one in (Outcome.PASS, Outcome.NOT_APPLICABLE)]
    return "; ".join([*named, ", ".join(counted)])


def _verdict(verdict: Verdict) -> str:
    kind = f"{verdict.kind} of {verdict.task}" if verdict.task is not None else verdict.kind
    if verdict.word == "pass":
        return f"verdict: pass ({kind})"
    count = len(verdict.findings)
    return f"verdict: {verdict.word.upper()} ({kind}), {count} finding{'' if count == 1 else 's'}"


def _shortened(path: str) -> str:
    """A long path by its two ends: the folder and the name tell most."""
    half = _MAX_PATH // 2
    return path if len(path) <= _MAX_PATH else f"{path[:half]} … {path[-half:]}"


def _line(text: str) -> str:
    """`text` on one line that nothing in it can move or reorder, and that says so where it was cut."""
    safe = printable(text, MAX_LINE + 1)
    return safe if len(safe) <= MAX_LINE else f"{safe[: MAX_LINE - 2]} …"
