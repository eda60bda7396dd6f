"""The gate's fixtures: each is built as a real repository and judged, and has the verdict that it says it has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gate.rules import RULES, id_of
from tests.support.fixture_repo import build, disagreements, judge
from tests.support.fixtures import FixtureError, found, load

FIXTURES = found()
#: Fixtures that the gate does not come to the right verdict on yet, and why.
_OPEN: dict[str, str] = {}


def _with_marks(path: str) -> Any:
    reason = _OPEN.get(path)
    return pytest.param(path, marks=[pytest.mark.xfail(reason=reason, strict=True)] if reason else [])


@pytest.mark.parametrize("path", [_with_marks(path) for path in FIXTURES])
def test_the_verdict_is_the_expected_one(path: str, tmp_path: Path) -> None:
    fixture = load(path)
    name = path.rpartition("/")[2]
    if path.startswith("gate/"):
        assert name.startswith(f"{fixture.expect['verdict']}-"), "the file's name says another verdict"
    repo = build(fixture, tmp_path / "repository")
    assert not disagreements(fixture, judge(fixture, repo)), fixture.about


@pytest.mark.parametrize("rule", [id_of(rule) for rule in RULES])
def test_every_rule_has_a_fixture_that_fails_and_its_twin_that_passes(rule: str) -> None:
    here = {path: load(path) for path in FIXTURES if path.startswith(f"gate/{rule}/")}
    twins = 0
    for path, failing in here.items():
        folder, _, name = path.rpartition("/")
        if not name.startswith("fail-"):
            continue
        assert {finding["rule"] for finding in failing.expect["findings"]} >= {rule}, path
        twin = here.get(f"{folder}/pass-{name[len('fail-') :]}")
        twins += twin is not None and (twin.extends == path or failing.extends == twin.path)
    assert twins


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("about: x\nexpect: {verdict: pass}\nhaed: []\n", "there is no member 'haed'"),
        ("about: x\nexpect: {verdict: pass}\nhead: [{wirte: {}}]\n", "head, commit 1: there is no member 'wirte'"),
        ("about: x\nexpect: {verdict: pass}\nclaims: [{closed: {when: 1}}]\n", "there is no member 'when'"),
        ("about: x\nexpect: {verdict: pass}\nfacts: {auhtor: a}\n", "facts: there is no member 'auhtor'"),
        ("about: x\nexpect: {verdict: pass}\nboard: {tasks: 1}\n", "wrong type"),
        ("about: x\nexpect: {verdict: fail}\n", "a failure has findings"),
        ("about: x\nexpect: {verdict: fail, findings: [{rules: x}]}\n", "there is no member 'rules'"),
        ("about: x\n", "expect missing"),
        ("about: x\nexpect: {verdict: pass}\nextends: gate/x/pass-x.yaml\n", "extends itself"),
        ("- x\n", "not a mapping"),
        ("a: [\n", "pass-x.yaml"),
    ],
)
def test_a_fixture_that_says_what_none_can_say_is_an_error_that_names_it(
    tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "gate" / "x" / "pass-x.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert found(tmp_path) == ["gate/x/pass-x.yaml"]
    with pytest.raises(FixtureError) as caught:
        load("gate/x/pass-x.yaml", tmp_path)
    assert "gate/x/pass-x.yaml" in str(caught.value) and message in str(caught.value)
