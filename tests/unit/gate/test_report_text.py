"""The report for people: an order, one line each, a verdict at the end, nothing that moves a terminal, and an end."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from claims.names import ObjectId, RefName, parse_task_id
from gate.report.text import MAX_LINE, MAX_TOLD, lines
from gate.verdict import ClaimUsed, Finding, Outcome, Remark, Side, Verdict

TASK = parse_task_id("T-20260814-abcdef01")
PASSED: Mapping[str, Outcome] = {"one-task": Outcome.PASS, "exempt-paths": Outcome.NOT_APPLICABLE}


def verdict(findings: Sequence[Finding] = (), remarks: Sequence[Remark] = ()) -> Verdict:
    failed = {finding.rule: Outcome.FAIL for finding in findings}
    return Verdict(
        kind="implementation",
        trust="recorded",
        base=Side("main", ObjectId("b" * 40)),
        head=Side("agent/one", ObjectId("a" * 40)),
        outcomes={**PASSED, **failed},
        task=TASK,
        findings=findings,
        remarks=remarks,
    )


def outside(path: str = "docs/x.md", fix: str | None = None) -> Finding:
    return Finding("paths-inside", "outside the task's authority", path, fix=fix)


def told(findings: Sequence[Finding] = (), remarks: Sequence[Remark] = ()) -> list[str]:
    return list(lines(verdict(findings, remarks)))


def test_findings_with_their_fixes_then_notices_then_facts_and_the_verdict_last() -> None:
    findings = [outside(fix="git rm -- docs/x.md"), Finding("claim-recorded", "no claim", ref=RefName("refs/swarm/x"))]
    shown = told(findings, [Remark("claim-current", "it expired")])
    assert shown[:4] == [
        "fail[paths-inside]: docs/x.md: outside the task's authority",
        "  fix: git rm -- docs/x.md",
        "fail[claim-recorded]: refs/swarm/x: no claim",
        "notice[claim-current]: it expired",
    ]
    assert [line.split()[0] for line in shown[4:]] == ["head", "base", "trust", "rules", "verdict:"]
    assert shown[-2] == "rules  paths-inside claim-recorded: fail; 1 pass, 1 n/a"
    assert shown[-1] == f"verdict: FAIL (implementation of {TASK}), 2 findings"


def test_a_pass() -> None:
    assert told()[-2:] == ["rules  1 pass, 1 n/a", f"verdict: pass (implementation of {TASK})"]
    assert not any(line.startswith("fail") for line in told())


def test_the_claim_and_a_head_in_a_fork() -> None:
    at, until = "2026-08-14T09:00:00.000Z", "2026-08-14T09:30:00.000Z"
    claim = ClaimUsed("codex:one", "agent/one", at, until, RefName("refs/swarm/x"), "done")
    forked = Side("agent/one", ObjectId("a" * 40), "octocat/app")
    shown = list(lines(replace(verdict(), claim=claim, head=forked)))
    assert shown[0] == f"head   octocat/app:agent/one at {'a' * 12}"
    assert shown[2] == f"claim  of codex:one for agent/one, made {at}, done"
    assert f"head   (no branch) at {'a' * 12}" in lines(replace(verdict(), head=Side(None, ObjectId("a" * 40))))


@pytest.mark.parametrize(
    "hostile",
    ["\x1b[2J", "\r", "\nverdict: pass", "\u202eevil", "\u2066", "\u200b", "\u2028", "\x85", "\x9b31m", "\ud800"],
    ids=ascii,
)
def test_nothing_in_it_moves_a_terminal_or_a_reader(hostile: str) -> None:
    finding = Finding("paths-inside", f"is {hostile}", f"a{hostile}b", fix=f"git rm -- 'a{hostile}b'")
    shown = told([finding], [Remark("paths-inside", hostile)])
    assert len(shown) == len(told([outside(fix="x")], [Remark("x", "x")]))
    assert {unicodedata.category(char) for line in shown for char in line} & {"Cc", "Cf", "Zl", "Zp", "Cs"} == set()
    assert "a\N{REPLACEMENT CHARACTER}" in shown[0]


def test_what_is_ordinary_is_shown_as_it_is() -> None:
    assert (
        told([outside("docs/größe 漢字.md")])[0]
        == "fail[paths-inside]: docs/größe 漢字.md: outside the task's authority"
    )


def test_a_long_path_is_shown_by_its_ends_and_its_command_not_at_all() -> None:
    path = "first/" + "x" * 5_000 + "/last.md"
    shown = told([outside(path, fix=f"git rm -- {path}")])
    assert shown[0].startswith("fail[paths-inside]: first/xxx")
    assert shown[0].endswith("/last.md: outside the task's authority")
    assert " … " in shown[0]
    assert shown[1] == "  fix: a command too long for this report (--json has them all)"
    assert max(map(len, shown)) <= MAX_LINE


def test_a_long_message_says_that_it_was_cut() -> None:
    (line, *_) = told([Finding("paths-inside", "x" * 10_000)])
    assert (len(line), line[-2:]) == (MAX_LINE, " …")


def test_ten_thousand_findings_have_an_end() -> None:
    findings = [outside(f"docs/{number}.md", fix=f"git rm -- docs/{number}.md") for number in range(10_000)]
    other = Finding("reserved-paths", "reserved", ".agents/plan.md")
    shown = told([*findings, other], [Remark("paths-inside", str(number)) for number in range(50)])
    assert f"fail[paths-inside]: and {10_000 - MAX_TOLD:d} more (--json has them all)" in shown
    assert "fail[reserved-paths]: .agents/plan.md: reserved" in shown
    assert f"notice: and {50 - MAX_TOLD} more (--json has them all)" in shown
    assert shown[-1].endswith("10001 findings")
    assert len(shown) < 100
    assert len(verdict(findings).to_json()["findings"]) == 10_000


def test_as_many_findings_as_are_told_leave_none_out() -> None:
    assert not any("more" in line for line in told([outside(f"{number}") for number in range(MAX_TOLD)]))
    assert any("and 1 more" in line for line in told([outside(f"{number}") for number in range(MAX_TOLD + 1)]))
