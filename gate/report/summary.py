"""A verdict as Markdown: for the summary of a job and, shorter, for the comment on a pull request.

The verdict comes first, so that whatever is cut off at the end, it is not that. Every word that a pull request could
have chosen goes through `escape`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from claims.errors import EXIT_CONFLICT, SwarmError
from gate.report.escape import code, markdown
from gate.verdict import Finding, Outcome, Remark, Side, Verdict

#: Bytes of a job's summary: GitHub drops a larger one whole.
MAX_SUMMARY = 1024 * 1024
_MAX_WORD = 400
_MAX_TEXT = 2_000
#: Bytes that are kept for saying what was left out.
_RESERVE = 300

_SIGNS = {"pass": "✅", "fail": "❌", "error": "⚠️"}
_TRUST = "anyone who can push can write a claim: it shows intent, not identity"


def summary(results: Sequence[Verdict | SwarmError], limit: int = MAX_SUMMARY) -> str:
    """The results as Markdown of at most `limit` bytes, whole lines only; the last says how many were left out."""
    lines = [line for head in _heads(results) for line in head]
    lines += [line for number, result in enumerate(results, 1) for line in _section(result, number, len(results))]
    return fitted(lines, limit)


def fitted(lines: Sequence[str], limit: int) -> str:
    """The lines that fit into `limit` bytes of UTF-8."""
    text = "".join(f"{line}\n" for line in lines)
    if len(text.encode("utf-8")) <= limit:
        return text
    kept: list[str] = []
    room = limit - _RESERVE
    for line in lines:
        room -= len(line.encode("utf-8")) + 1
        if room < 0:
            break
        kept.append(line)
    kept += ["", f"… and {len(lines) - len(kept)} more lines, which would not fit here: the job's log has more."]
    return "".join(f"{line}\n" for line in kept)


def word_of(results: Sequence[Verdict | SwarmError]) -> str:
    """`pass` only where there is something and all of it passes; an error goes before a fail."""
    words = {"error" if isinstance(one, SwarmError) else one.word for one in results}
    return next((word for word in ("error", "fail") if word in words), "pass" if words == {"pass"} else "error")


def _heads(results: Sequence[Verdict | SwarmError]) -> Iterator[list[str]]:
    word = word_of(results)
    yield [f"## {_SIGNS[word]} swarm-gate: {word}", ""]
    if len(results) > 1:
        rows = [[str(number), *_row(one)] for number, one in enumerate(results, 1)]
        yield [*_table(["unit", "verdict", "head", "task"], rows), ""]


def _row(result: Verdict | SwarmError) -> list[str]:
    if isinstance(result, SwarmError):
        return [f"{_SIGNS['error']} error", "", ""]
    return [f"{_SIGNS[result.word]} {result.word}", _side(result.head), code(result.task or "", _MAX_WORD)]


def _section(result: Verdict | SwarmError, number: int, count: int) -> Iterator[str]:
    if count > 1:
        yield f"### Unit {number}"
        yield ""
    if isinstance(result, SwarmError):
        yield from _error(result)
        return
    yield from _verdict(result)


def _error(error: SwarmError) -> Iterator[str]:
    moved = error.exit == EXIT_CONFLICT
    yield f"{'Something moved meanwhile' if moved else 'It could not be decided'}: {code(error.code, _MAX_WORD)}"
    yield ""
    yield markdown(error.message, _MAX_TEXT)
    if error.hint is not None:
        yield ""
        yield f"Next: {code(error.hint, _MAX_TEXT)}"
    yield ""


def _verdict(verdict: Verdict) -> Iterator[str]:
    task = f" of {code(verdict.task, _MAX_WORD)}" if verdict.task is not None else ""
    yield f"**{verdict.word}**: {markdown(verdict.kind, _MAX_WORD)}{task}"
    yield ""
    first, *rest = _facts(verdict)
    yield from _table(first, rest)
    yield ""
    if verdict.findings:
        yield f"**{len(verdict.findings)} finding{'' if len(verdict.findings) == 1 else 's'}**"
        yield ""
        yield from _table(["rule", "where", "what", "fix"], [_finding(one) for one in verdict.findings])
        yield ""
    if verdict.remarks:
        yield "**Notices**"
        yield ""
        yield from _table(["rule", "what"], [_remark(one) for one in verdict.remarks])
        yield ""
    yield "<details><summary>Rules</summary>"
    yield ""
    outcomes = [[code(rule, _MAX_WORD), _outcome(one)] for rule, one in verdict.outcomes.items()]
    yield from _table(["rule", "outcome"], outcomes)
    yield ""
    yield "</details>"
    yield ""


def _facts(verdict: Verdict) -> Iterator[list[str]]:
    yield ["head", _side(verdict.head)]
    yield ["base", _side(verdict.base)]
    claim = verdict.claim
    if claim is not None:
        ended = f", {markdown(claim.outcome, _MAX_WORD)}" if claim.outcome else ""
        made = f"made {markdown(claim.claimed_at, _MAX_WORD)}{ended}"
        yield ["claim", f"of {code(claim.agent, _MAX_WORD)} for {code(claim.branch, _MAX_WORD)}, {made}"]
    yield ["trust", f"{markdown(verdict.trust, _MAX_WORD)} ({_TRUST})"]


def _side(side: Side) -> str:
    where = f"{side.repository}:{side.branch or '(no branch)'}" if side.repository else side.branch or "(no branch)"
    return f"{code(where, _MAX_WORD)} at {code(side.commit[:12], _MAX_WORD)}"


def _finding(finding: Finding) -> list[str]:
    fix = finding.fix or ""
    # Half of a command would do something else.
    shown = code(fix, _MAX_TEXT) if len(fix) <= _MAX_TEXT else "a command too long for this table"
    where = finding.path if finding.path is not None else finding.ref or ""
    return [code(finding.rule, _MAX_WORD), code(where, _MAX_WORD), markdown(finding.message, _MAX_TEXT), shown]


def _remark(remark: Remark) -> list[str]:
    return [code(remark.rule, _MAX_WORD), markdown(remark.message, _MAX_TEXT)]


def _outcome(outcome: Outcome) -> str:
    return f"**{outcome.value}**" if outcome in (Outcome.FAIL, Outcome.ERROR) else markdown(outcome.value, _MAX_WORD)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
