"""The gate's fixtures: each is built as a real repository and judged, and has the verdict that it says it has."""

from __future__ import annotations

import ast
import re
from dataclasses import fields
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from gate import names
from gate.rules import RULES, id_of
from tests.support.fixture_repo import MERGE, build, disagreements, judge
from tests.support.fixtures import Fixture, FixtureError, found, load
from tests.support.swarm import swarm_gate

FIXTURES = found()
#: Fixtures that the gate does not come to the right verdict on yet, and why.
_OPEN: dict[str, str] = {}
LANDING_CODES = (
    "no-change",
    "no-common-history",
    "base-ambiguous",
    "landing-conflict",
    "landing-ambiguous",
    "landing-mismatch",
)
#: Functions of rules that take what is wrong first, and then what mends it.
_TOLD_FIRST = ("_finding",)
#: Messages that no fixture can bring about, and what tests them instead.
_ELSEWHERE = {
    "the claim expired at": "a notice: incidents/expired-and-not-replaced.yaml",
    "an entry of mode": "git tells every mode that it does not write as one that it does: gate/trees.py finds those",
    "the board as it would land was not read": "an error, not a finding",
}


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
    folder = f"gate/{rule}"
    failing = [path for path in FIXTURES if path.startswith(f"{folder}/fail-")]
    for path in failing:
        assert {finding["rule"] for finding in load(path).expect["findings"]} >= {rule}, path
    assert any(path.replace("/fail-", "/pass-") in FIXTURES for path in failing)


@pytest.mark.parametrize("code", LANDING_CODES)
def test_every_landing_code_has_a_fixture_that_fails_and_its_twin_that_passes(code: str) -> None:
    assert {finding["rule"] for finding in load(f"gate/landing/fail-{code}.yaml").expect["findings"]} == {code}
    assert f"gate/landing/pass-{code}.yaml" in FIXTURES


def test_every_folder_is_a_rule_or_landings_or_kinds() -> None:
    folders = {path.split("/")[1] for path in FIXTURES if path.startswith("gate/")}
    assert folders == {id_of(rule) for rule in RULES} | {"landing", "kinds"}


@pytest.mark.parametrize("path", [path for path in FIXTURES if re.match("gate/.*/fail-", path)])
def test_one_thing_is_changed_between_what_fails_and_what_passes(path: str) -> None:
    """By one of its `extends`, in whichever direction: one member differs from a fixture of the folder that passes."""
    failing = load(path)
    folder = path.rpartition("/")[0]
    passing = [load(one) for one in FIXTURES if one.startswith(f"{folder}/pass-")]
    assert any(one.path == failing.extends or one.extends == path for one in passing)
    assert min(len(_differences(failing, one)) for one in passing) == 1


def _differences(one: Fixture, other: Fixture) -> list[str]:
    told = ("path", "extends", "about", "expect")
    return [
        field.name
        for field in fields(one)
        if field.name not in told and getattr(one, field.name) != getattr(other, field.name)
    ]


@pytest.mark.parametrize("rule", RULES, ids=id_of)
def test_every_message_of_a_rule_is_told_by_a_fixture(rule: ModuleType) -> None:
    expected = [
        finding["message"]
        for path in FIXTURES
        for finding in load(path).expect.get("findings", [])
        if finding["rule"] == id_of(rule) and "message" in finding
    ]
    untold = [
        text
        for source in [rule, *([names] if id_of(rule) == "paths-safe" else [])]
        for text in _messages(Path(str(source.__file__)).read_text("utf-8"))
        if text not in _ELSEWHERE and not any(part in text or text in part for part in expected)
    ]
    assert not untold


def _messages(source: str) -> list[str]:
    """The longest fixed part of each text of several words that is no docstring and no `fix`."""
    found: list[str] = []

    def look(node: ast.AST) -> None:
        if isinstance(node, ast.FunctionDef) and node.name in ("_fix", "_let_go"):
            return
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return
        if isinstance(node, ast.keyword) and node.arg == "fix":
            return
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) in _TOLD_FIRST:
            look(node.args[0])
            return
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", None) in ("fix", "edit"):
            return
        if isinstance(node, (ast.Constant, ast.JoinedStr)):
            parts = node.values if isinstance(node, ast.JoinedStr) else [node]
            texts = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
            longest = max(texts, key=len, default="").strip(" ;:,")
            if longest.count(" ") > 1 and not longest.startswith("git "):
                found.append(longest)
            return
        for child in ast.iter_child_nodes(node):
            look(child)

    look(ast.parse(source))
    return found


@pytest.mark.parametrize(
    "path",
    [
        "incidents/honest.yaml",
        "incidents/authored-into-done.yaml",
        "incidents/no-claim.yaml",
        "incidents/claim-on-another-branch.yaml",
        "incidents/widened-authority.yaml",
        "incidents/path-outside.yaml",
        "gate/landing/fail-landing-mismatch.yaml",
        "gate/exempt-paths/fail-lock-file.yaml",
    ],
)
def test_the_installed_command_says_the_same(path: str, tmp_path: Path) -> None:
    fixture = load(path)
    repo = build(fixture, tmp_path / "repository")
    judged = judge(fixture, repo)
    given = {"author": "--author", "author_id": "--author-id"}
    told = [word for name, option in given.items() if name in fixture.facts for word in (option, fixture.facts[name])]
    merge = ["--merge", MERGE] if fixture.test_merge else []
    result = swarm_gate(
        *(repo, "pr", "--json", "--claims", "local", "--base", "main", "--head", "head"),
        *("--head-branch", fixture.branch, "--now", "2026-08-14T12:00:00.000Z", *map(str, told), *merge),
    )
    assert result.code == (0 if judged.word == "pass" else 1), result
    assert isinstance(result.json, dict)
    assert {name: result.json[name] for name in ("verdict", "kind")} == {"verdict": judged.word, "kind": judged.kind}
    assert result.json["findings"] == [finding.to_json() for finding in judged.findings]


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
