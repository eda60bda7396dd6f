"""Each misconfiguration is found, one thing wrong in each scene; where all is well, nothing is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias, cast

import pytest

from gate.github import clone
from gate.github.desired import SQUASH
from gate.github.doctor import LOOKS, checks
from gate.github.finding import Check, Diagnosis, diagnose
from gate.github.init import files
from gate.github.reading import Reading
from tests.unit.gate.github.canned import Canned, file, in_order
from tests.unit.gate.github.test_policies import GATE, policy

ROOT = Path(__file__).parents[4]
Answers: TypeAlias = dict[str, Any]
NAME = "provenance-gate (main)"
RULES, POLICIES, CONFIG = "/rules/branches/main", "/actions/policies", "/contents/.agents/swarm.yaml"


@pytest.fixture
def answers(workflow: bytes) -> Answers:
    return in_order(workflow)


def seen(answers: Answers, *, agent: bool = False) -> Diagnosis:
    return diagnose(checks(Reading(Canned(answers)), ["main"], agent=agent))


def codes(answers: Answers, *, agent: bool = False) -> list[str]:
    """What is found; everything has to have been looked at."""
    found = seen(answers, agent=agent)
    assert found.unknown == ()
    return [one.code for one in found.findings]


def unknown(answers: Answers) -> list[str]:
    """What could not be looked at; nothing may be found."""
    found = seen(answers)
    assert found.findings == ()
    return [code for one in found.unknown for code in one.codes]


def parameters(answers: Answers, kind: str) -> Answers:
    """The parameters of the rule of a type that is in force, to be changed."""
    (found,) = [rule["parameters"] for rule in answers[RULES] if rule["type"] == kind]
    assert isinstance(found, dict)
    return found


def without(answers: Answers, kind: str) -> Answers:
    answers[RULES] = [rule for rule in answers[RULES] if rule["type"] != kind]
    return answers


def test_all_is_well(answers: Answers) -> None:
    assert seen(answers) == Diagnosis()
    assert seen(answers, agent=True) == Diagnosis()


def test_everything_is_asked_for_once(workflow: bytes) -> None:
    canned = Canned(in_order(workflow))
    assert diagnose(checks(Reading(canned), ["main"], agent=True)) == Diagnosis()
    assert len(canned.asked) == len(set(canned.asked))


class TestRulesInForce:
    """What is in force for the branch counts, not what a ruleset says."""

    def test_no_rule_at_all(self, answers: Answers) -> None:
        answers[RULES] = []
        assert codes(answers) == [
            "check-required",
            "pull-request-required",
            "up-to-date",
            "history-kept",
            "history-kept",
        ]

    @pytest.mark.parametrize("enforcement", ["disabled", "evaluate"])
    def test_a_ruleset_that_is_not_in_force(self, answers: Answers, enforcement: str) -> None:
        answers[RULES] = []
        answers["/rulesets/1"]["enforcement"] = enforcement
        assert f"the ruleset of that name is {enforcement}" in seen(answers).findings[0].found

    def test_another_check(self, answers: Answers) -> None:
        parameters(answers, "required_status_checks")["required_status_checks"] = [{"context": "provenance-gate"}]
        assert codes(answers) == ["check-required"]

    @pytest.mark.parametrize("source", [{}, {"integration_id": None}, {"integration_id": 1}])
    def test_a_check_that_others_may_post(self, answers: Answers, source: Answers) -> None:
        listed = parameters(answers, "required_status_checks")["required_status_checks"]
        listed[:] = [{"context": NAME, **source}]
        (one,) = seen(answers).findings
        assert (one.code, one.found) == (
            "check-source",
            f"{NAME!r} counts from {source.get('integration_id') or 'anybody'}",
        )
        listed.append({"context": NAME, "integration_id": 15368})
        assert codes(answers) == [], "one rule that pins it is enough: all have to be met"

    def test_no_pull_request(self, answers: Answers) -> None:
        assert codes(without(answers, "pull_request")) == ["pull-request-required"]

    @pytest.mark.parametrize("kind", ["deletion", "non_fast_forward"])
    def test_history(self, answers: Answers, kind: str) -> None:
        assert codes(without(answers, kind)) == ["history-kept"]

    def test_not_up_to_date(self, answers: Answers) -> None:
        parameters(answers, "required_status_checks")["strict_required_status_checks_policy"] = False
        assert codes(answers) == ["up-to-date"]

    @pytest.mark.parametrize(("grouping", "expected"), [("ALLGREEN", []), ("HEADGREEN", ["up-to-date"])])
    def test_a_queue(self, answers: Answers, grouping: str, expected: list[str]) -> None:
        parameters(answers, "required_status_checks")["strict_required_status_checks_policy"] = False
        queue = {"type": "merge_queue", "ruleset_id": 1, "parameters": {"grouping_strategy": grouping}}
        answers[RULES].append(queue)
        assert codes(answers) == expected

    @pytest.mark.parametrize("methods", [None, ["merge", "squash"], ["rebase"]])
    def test_merge_methods(self, answers: Answers, methods: list[str] | None) -> None:
        parameters(answers, "pull_request")["allowed_merge_methods"] = methods
        assert codes(answers) == ["squash-only"]
        strict = {"type": "pull_request", "ruleset_id": 1, "parameters": {"allowed_merge_methods": ["squash"]}}
        answers[RULES].append(strict)
        assert codes(answers) == [], "every rule has to allow it"


@pytest.mark.parametrize("name", SQUASH)
def test_squash_message(answers: Answers, name: str) -> None:
    answers[""][name] = "OTHER"
    assert codes(answers) == ["squash-message"]


def test_bypass(answers: Answers) -> None:
    answers["/rulesets/1"]["bypass_actors"] = [{"actor_id": 5, "actor_type": "RepositoryRole", "bypass_mode": "always"}]
    (one,) = seen(answers).findings
    assert (one.code, one.found) == ("bypass", f"RepositoryRole 5 may pass the ruleset {NAME!r} (always)")


def test_a_bypass_list_that_is_not_shown(answers: Answers) -> None:
    del answers["/rulesets/1"]["bypass_actors"]
    assert unknown(answers) == ["bypass"]


class TestWorkflow:
    def test_missing(self, answers: Answers) -> None:
        del answers["/contents/.github/workflows"]
        assert codes(answers) == ["workflow"]

    def test_for_another_branch(self, answers: Answers, workflow: bytes) -> None:
        answers[f"/contents/{GATE}"] = file(workflow.replace(b"(main)", b"(next)"))
        assert codes(answers) == ["workflow"]

    def test_started_by_the_pull_requests_own_copy(self, answers: Answers, workflow: bytes) -> None:
        answers[f"/contents/{GATE}"] = file(workflow.replace(b"pull_request_target", b"pull_request"))
        assert codes(answers) == ["workflow"]

    def test_a_pin_that_can_move(self, answers: Answers, workflow: bytes) -> None:
        answers[f"/contents/{GATE}"] = file(workflow.replace(b"@" + b"1" * 40, b"@main"))
        assert set(codes(answers)) == {"workflow"}

    def test_another_workflow_of_that_name(self, answers: Answers) -> None:
        other = ".github/workflows/ci.yml"
        answers["/contents/.github/workflows"].append({"path": other, "type": "file"})
        answers[f"/contents/{other}"] = file(b"jobs:\n  x:\n    name: provenance-gate (main)\n")
        assert codes(answers) == ["check-shared"]
        answers[f"/contents/{other}"] = file(b"jobs:\n  x:\n    name: provenance-gate (next)\n")
        assert codes(answers) == []


class TestActions:
    def test_off(self, answers: Answers) -> None:
        answers["/actions/permissions"] = {"enabled": False}
        assert codes(answers) == ["actions-allowed"]

    @pytest.mark.parametrize(
        ("selected", "expected"),
        [
            ({}, ["actions-allowed"]),
            ({"patterns_allowed": ["acme/*"]}, []),
            ({"patterns_allowed": ["acme/swarm/gate@*"]}, []),
            ({"patterns_allowed": ["acme/*", "!acme/swarm/*"]}, ["actions-allowed"]),
            ({"patterns_allowed": ["other/*"], "github_owned_allowed": True}, ["actions-allowed"]),
        ],
    )
    def test_selected(self, answers: Answers, selected: Answers, expected: list[str]) -> None:
        answers["/actions/permissions"]["allowed_actions"] = "selected"
        answers["/actions/permissions/selected-actions"] = selected
        assert codes(answers) == expected

    @pytest.mark.parametrize("owned", [True, False])
    def test_githubs_own(self, answers: Answers, owned: bool) -> None:
        """A repository that holds the action itself checks its default branch out."""
        answers[f"/contents/{GATE}"] = file(files(["main"], "./gate", labels=False)[GATE].encode())
        answers["/actions/permissions"]["allowed_actions"] = "selected"
        selected = {"patterns_allowed": ["acme/*"], "github_owned_allowed": owned}
        answers["/actions/permissions/selected-actions"] = selected
        assert codes(answers) == ([] if owned else ["actions-allowed"])

    def test_those_of_the_same_owner(self, answers: Answers, workflow: bytes) -> None:
        answers["/actions/permissions"]["allowed_actions"] = "local_only"
        assert codes(answers) == ["actions-allowed"]
        answers[f"/contents/{GATE}"] = file(workflow.replace(b"uses: acme/", b"uses: Octo-Org/"))
        assert codes(answers) == []

    @pytest.mark.parametrize(
        "change", [{"default_workflow_permissions": "write"}, {"can_approve_pull_request_reviews": True}]
    )
    def test_the_default_token(self, answers: Answers, change: Answers) -> None:
        answers["/actions/permissions/workflow"] |= change
        assert codes(answers) == ["workflow-token"]


class TestEventPolicy:
    @pytest.mark.parametrize("private", [True, False])
    def test_githubs_default_stops_public_repositories(self, answers: Answers, private: bool) -> None:
        answers[""]["private"] = private
        answers[POLICIES] = {"total_count": 0, "policies": []}
        assert codes(answers) == ([] if private else ["event-policy"])

    def test_a_policy_that_stops_it(self, answers: Answers) -> None:
        answers[POLICIES]["policies"].append(policy("push", name="ours", source_type="Organization"))
        (one,) = seen(answers).findings
        assert one.code == "event-policy" and "'ours' keeps pull_request_target from starting" in one.found

    def test_a_policy_that_stops_the_queue(self, answers: Answers) -> None:
        answers[POLICIES]["policies"] = [policy("pull_request_target")]
        assert codes(answers) == []
        answers[RULES].append({"type": "merge_queue", "parameters": {"grouping_strategy": "ALLGREEN"}})
        assert codes(answers) == ["event-policy"]

    def test_a_policy_for_some_accounts(self, answers: Answers) -> None:
        rule = {"type": "restrict_actions_actors", "parameters": {"allowed_actors": [{"id": 1, "type": "User"}]}}
        answers[POLICIES]["policies"].append(policy(rules=[rule]))
        assert codes(answers) == ["event-policy"]

    def test_a_list_without_rules(self, answers: Answers) -> None:
        answers[POLICIES]["policies"] = [{"id": 7, "name": "p"}]
        answers[f"{POLICIES}/7"] = policy("push")
        assert codes(answers) == ["event-policy"]
        answers[f"{POLICIES}/7"] = policy("pull_request_target")
        assert codes(answers) == []

    def test_what_is_not_shown_is_not_in_order(self, answers: Answers) -> None:
        del answers[POLICIES]
        assert unknown(answers) == ["event-policy"]

    def test_but_in_a_private_repository_an_administrator_sees_that_there_are_none(self, answers: Answers) -> None:
        del answers[POLICIES]
        answers[""]["private"] = True
        assert codes(answers) == []
        answers["/rulesets"].append({"id": 2, "name": "other"})
        answers["/rulesets/2"] = {"id": 2, "name": "other", "rules": []}
        assert codes(answers) == []
        del answers["/rulesets/1"]["bypass_actors"]
        assert unknown(answers) == ["bypass", "event-policy"]

    def test_more_than_are_shown(self, answers: Answers) -> None:
        answers[POLICIES]["total_count"] = 101
        assert unknown(answers) == ["event-policy"]


@pytest.mark.parametrize("config", [None, b"gate: {}\n", b"gate:\n  operators: []\n"])
def test_no_operators(answers: Answers, config: bytes | None) -> None:
    answers.pop("/actions/variables/SWARM_OPERATORS")
    if config is None:
        del answers[CONFIG]
    else:
        answers[CONFIG] = file(config)
    (one,) = seen(answers).findings
    assert (one.code, one.found.endswith("main has no .agents/swarm.yaml")) == ("operators", config is None)


def test_a_configuration_that_does_not_read_needs_an_administrator(answers: Answers) -> None:
    answers[CONFIG] = file(b"gate: [\n")
    (one,) = seen(answers).findings
    assert one.code == "operators" and "an administrator" in one.fix


def test_an_agent_with_an_operators_token(answers: Answers) -> None:
    answers["/user"] = {"login": "OP"}
    assert codes(answers, agent=True) == ["operator-login"]
    assert codes(answers, agent=False) == [], "an operator looks"


class TestLabelWorkflows:
    @pytest.fixture
    def answers(self, workflow: bytes) -> Answers:
        found = in_order(workflow)
        path = ".github/workflows/agent-triage.yml"
        found["/contents/.github/workflows"].append({"path": path, "type": "file"})
        found[f"/contents/{path}"] = file(b"on: issues\n")
        return found

    def test_in_order(self, answers: Answers) -> None:
        assert codes(answers) == []

    @pytest.mark.parametrize("value", [None, "[]", '["op"]', '["op", "boss", "eve"]', "op"])
    def test_operators(self, answers: Answers, value: str | None) -> None:
        found = {"name": "SWARM_OPERATORS", "value": value}
        answers |= {"/actions/variables/SWARM_OPERATORS": found}
        if value is None:
            del answers["/actions/variables/SWARM_OPERATORS"]
        assert codes(answers) == ["label-workflows"]

    def test_labels(self, answers: Answers) -> None:
        answers["/labels"] = [{"name": "agent-triage"}]
        assert codes(answers) == ["label-workflows"]


#: Each thing that is asked for, and the checks that are in the dark without it.
HIDES = {
    "": {"squash-message", "check-shared", "workflow", "actions-allowed", "event-policy", "label-workflows"},
    RULES: set(LOOKS)
    - {
        *("check-shared", "squash-message", "workflow", "actions-allowed", "workflow-token", "operators"),
        *("operator-login", "label-workflows"),
    },
    "/rulesets/1": {"bypass"},
    "/actions/permissions": {"actions-allowed"},
    "/actions/permissions/workflow": {"workflow-token"},
    "/actions/policies": {"event-policy"},
    f"/contents/{GATE}": {"check-shared", "workflow", "actions-allowed", "event-policy", "label-workflows"},
    CONFIG: {"operators"},
}


@pytest.mark.parametrize("path", HIDES, ids=lambda path: path or "repository")
def test_what_cannot_be_read_is_never_in_order(answers: Answers, path: str) -> None:
    answers[path] = None
    assert set(unknown(answers)) == HIDES[path]
    assert seen(answers).verdict == "undecided"


@pytest.mark.parametrize(
    "path", [path for path in HIDES if path != "/rulesets/1"], ids=lambda path: path or "repository"
)
@pytest.mark.parametrize("answer", ["text", 1, ["x"], {"x": 1}])
def test_what_is_not_as_described_is_never_in_order(answers: Answers, path: str, answer: Any) -> None:
    answers[path] = answer
    assert seen(answers).verdict != "pass"


def test_a_merge_setting_that_is_not_shown(answers: Answers) -> None:
    del answers[""]["allow_squash_merge"]
    assert unknown(answers) == ["squash-message"]


def test_hostile_names_reach_no_terminal(answers: Answers) -> None:
    bad: Callable[[str], bool] = lambda text: "\x1b" in text or "\n" in text  # noqa: E731
    answers[POLICIES]["policies"].append(policy("push", name="a\x1b[2J\nb"))
    answers["/rulesets/1"] |= {"name": "x\x1b[1m\n", "bypass_actors": [{"actor_type": "\x1b", "actor_id": "\n"}]}
    answers[""]["squash_merge_commit_title"] = "\x1b\n"
    found = seen(answers).findings
    assert {one.code for one in found} == {"event-policy", "bypass", "squash-message"}
    assert [one for one in found if bad(one.found) or bad(one.fix) or bad(one.expected)] == []


def test_every_code_is_documented() -> None:
    text = (ROOT / "docs" / "github.md").read_text("utf-8").split("\n## Doctor\n")[1].split("\n## ")[0]
    here: list[Check] = clone.checks(cast(Any, None), cast(Any, None))
    rows = [line.split("`")[1] for line in text.split("\n") if line.startswith("| `")]
    assert rows == [*LOOKS, *(check.code for check in here)]


@pytest.mark.parametrize(
    ("path", "name", "value"),
    [
        ("/rulesets/1", "rules", [1]),
        ("/rulesets/1", "rules", [{"type": 1}]),
        ("/rulesets/1", "bypass_actors", {"a": 1}),
        ("/rulesets/1", "bypass_actors", [1]),
        (f"{POLICIES}/7", "rules", None),
        (f"{POLICIES}/7", "rules", [{"type": "restrict_action_events", "parameters": [1]}]),
        (f"{POLICIES}/7", "rules", [{"type": "restrict_action_events", "parameters": {"allowed_events": "push"}}]),
        (f"{POLICIES}/7", "rules", [{"type": "restrict_action_events", "parameters": {"allowed_events": [1]}}]),
        (f"{POLICIES}/7", "conditions", [1]),
        (f"{POLICIES}/7", "conditions", {"workflow_path": [1]}),
        (f"{POLICIES}/7", "conditions", {"workflow_path": {"include": "x"}}),
        (f"{POLICIES}/7", "conditions", {"workflow_path": {"include": ["x"], "exclude": [1]}}),
    ],
)
def test_a_member_that_is_not_as_described(answers: Answers, path: str, name: str, value: Any) -> None:
    answers[POLICIES] = {"total_count": 1, "policies": [{"id": 7}]}
    answers[f"{POLICIES}/7"] = policy("pull_request_target")
    assert codes(answers) == []
    answers[path][name] = value
    assert unknown(answers) == ["bypass" if path == "/rulesets/1" else "event-policy"]


@pytest.mark.parametrize(
    "parameters",
    [[1], 1, "x", {"required_status_checks": [1]}, {"required_status_checks": "x"}, {"allowed_merge_methods": [1]}],
)
def test_parameters_that_are_not_as_described(answers: Answers, parameters: Any) -> None:
    answers[RULES][0]["parameters"] = parameters
    assert "check-required" in unknown(answers)
