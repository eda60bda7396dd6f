"""From what is there to what is wanted: everything from nothing, nothing from everything, and what others set stays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from gate.github.desired import ACTIONS_APP, LABELS, SQUASH, Change, There, Wanted, changes, check_name, in_the_way
from gate.github.policies import EVENT_RULE, EVENTS
from tests.unit.gate.github.test_policies import GATE, policy

MAIN = Wanted(("main",))
NOTHING = There(
    settings={"private": False, "allow_squash_merge": True, "squash_merge_commit_title": "COMMIT_OR_PR_TITLE"},
    rulesets=(),
    labels=("bug",),
    operators=("op", "Ann"),
    variable=None,
    policies=(),
    workflows={"main": GATE},
)


def made(there: There, done: Sequence[Change]) -> There:
    """What is there once GitHub has done what it was told."""
    for number, change in enumerate(done, 1):
        kind = change.what.split()[0]
        if kind == "repository":
            there = replace(there, settings={**there.settings, **change.body})
        elif kind == "label":
            there = replace(there, labels=[*there.labels, change.body["name"]])
        elif kind == "variable":
            there = replace(there, variable=change.body["value"])
        elif kind == "Actions":
            kept = [one for one in there.policies or () if one["name"] != change.body["name"]]
            there = replace(there, policies=[*kept, {"id": number, "source_type": "Repository", **change.body}])
        else:
            rest = [one for one in there.rulesets if one["name"] != change.body["name"]]
            there = replace(there, rulesets=[*rest, {"id": number, **change.body}])
    return there


ALL = made(NOTHING, changes(NOTHING, MAIN))


def whats(there: There, wanted: Wanted = MAIN) -> list[str]:
    return [one.what for one in changes(there, wanted)]


def ruleset(there: There, number: int = 0) -> dict[str, Any]:
    return dict(there.rulesets[number])


def rule(rules: Sequence[dict[str, Any]], kind: str) -> dict[str, Any]:
    (found,) = [one for one in rules if one["type"] == kind]
    return found


def test_from_nothing_the_required_check_comes_last() -> None:
    assert whats(NOTHING) == [
        "repository settings",
        "label agent-triage",
        "label agent-attempt",
        "variable SWARM_OPERATORS",
        "Actions policy provenance-gate",
        "ruleset provenance-gate (main)",
    ]


def test_nothing_is_left_once_it_is_made() -> None:
    assert changes(ALL, MAIN) == []
    assert in_the_way(ALL, MAIN) == []


def test_what_the_ruleset_holds() -> None:
    made_ruleset = ruleset(ALL)
    assert made_ruleset["conditions"] == {"ref_name": {"include": ["refs/heads/main"], "exclude": []}}
    assert (made_ruleset["enforcement"], made_ruleset["bypass_actors"]) == ("active", [])
    assert [one["type"] for one in made_ruleset["rules"]] == [
        "deletion",
        "non_fast_forward",
        "pull_request",
        "required_status_checks",
    ]
    checks = rule(made_ruleset["rules"], "required_status_checks")["parameters"]
    assert checks["required_status_checks"] == [{"context": "provenance-gate (main)", "integration_id": 15368}]
    assert (checks["strict_required_status_checks_policy"], checks["do_not_enforce_on_create"]) == (True, False)
    pull_request = rule(made_ruleset["rules"], "pull_request")["parameters"]
    assert pull_request["allowed_merge_methods"] == ["squash"]
    reviews = [value for name, value in pull_request.items() if name != "allowed_merge_methods"]
    assert not any(reviews), "who reviews is not for the gate to say"


def test_a_merge_queue_instead_of_up_to_date() -> None:
    there = made(NOTHING, changes(NOTHING, Wanted(("main",), queue=True)))
    rules = ruleset(there)["rules"]
    assert rule(rules, "merge_queue")["parameters"]["grouping_strategy"] == "ALLGREEN"
    assert rule(rules, "required_status_checks")["parameters"]["strict_required_status_checks_policy"] is False
    assert whats(there) == [], "a queue that is there stays, whether it is asked for again or not"


def test_a_ruleset_for_each_branch() -> None:
    there = replace(ALL, workflows={"main": GATE, "next": GATE})
    assert whats(there, Wanted(("main", "next"))) == ["ruleset provenance-gate (next)"]


@pytest.mark.parametrize(
    "change",
    [
        {"enforcement": "evaluate"},
        {"bypass_actors": [{"actor_id": 5, "actor_type": "RepositoryRole", "bypass_mode": "always"}]},
        {"conditions": {"ref_name": {"include": ["refs/heads/main"], "exclude": ["refs/heads/main"]}}},
        {"conditions": {"ref_name": {"include": ["refs/heads/other"], "exclude": []}}},
        {"rules": []},
    ],
)
def test_a_ruleset_that_was_weakened(change: dict[str, Any]) -> None:
    there = replace(ALL, rulesets=[ruleset(ALL) | change])
    (one,) = changes(there, MAIN)
    assert (one.method, one.path) == ("PUT", f"/rulesets/{ruleset(ALL)['id']}")
    assert changes(made(there, [one]), MAIN) == []


@pytest.mark.parametrize("kind", ["deletion", "non_fast_forward", "pull_request", "required_status_checks"])
def test_a_rule_that_is_missing(kind: str) -> None:
    there = replace(ALL, rulesets=[ruleset(ALL) | {"rules": [r for r in ruleset(ALL)["rules"] if r["type"] != kind]}])
    (one,) = changes(there, MAIN)
    assert one.after == {name: value for name, value in ruleset(ALL).items() if name != "id"}


@pytest.mark.parametrize("integration", [None, 1])
def test_a_check_of_another_source(integration: int | None) -> None:
    weak = {"context": check_name("main")} | ({} if integration is None else {"integration_id": integration})
    mine = {"context": "tests", "integration_id": 1}
    rules = [
        {"type": "required_status_checks", "parameters": one["parameters"] | {"required_status_checks": [weak, mine]}}
        if one["type"] == "required_status_checks"
        else one
        for one in ruleset(ALL)["rules"]
    ]
    (one,) = changes(replace(ALL, rulesets=[ruleset(ALL) | {"rules": rules}]), MAIN)
    checks = rule(one.after["rules"], "required_status_checks")["parameters"]["required_status_checks"]
    assert checks == [{"context": check_name("main"), "integration_id": ACTIONS_APP}, mine]


def test_what_others_set_stays() -> None:
    rules = [
        {"type": "pull_request", "parameters": one["parameters"] | {"required_approving_review_count": 2, "new": []}}
        if one["type"] == "pull_request"
        else one
        for one in ruleset(ALL)["rules"]
    ]
    rules = [{"type": "required_signatures", "parameters": None, "ruleset_id": 1}, *rules]
    there = replace(ALL, rulesets=[ruleset(ALL) | {"rules": rules, "created_at": "2026-08-14T09:30:00Z"}])
    assert changes(there, MAIN) == []
    weaker = replace(there, rulesets=[ruleset(there) | {"enforcement": "disabled"}])
    (one,) = changes(weaker, MAIN)
    assert rule(one.after["rules"], "pull_request")["parameters"]["required_approving_review_count"] == 2
    assert rule(one.after["rules"], "required_signatures") == {"type": "required_signatures"}


def test_a_bypass_list_that_is_not_shown_is_not_written() -> None:
    hidden = {name: value for name, value in ruleset(ALL).items() if name != "bypass_actors"}
    assert whats(replace(ALL, rulesets=[hidden])) == []
    (one,) = changes(replace(ALL, rulesets=[hidden | {"enforcement": "disabled"}]), MAIN)
    assert "bypass_actors" not in one.body


@pytest.mark.parametrize("key", [*SQUASH])
def test_squash_settings_go_together(key: str) -> None:
    (one,) = changes(replace(ALL, settings={**ALL.settings, key: "OTHER"}), MAIN)
    assert (one.method, one.path, one.body) == ("PATCH", "", SQUASH)
    assert list(SQUASH.values()) == [True, "PR_TITLE", "PR_BODY"]


def test_labels_are_found_whatever_their_case() -> None:
    assert whats(replace(ALL, labels=["Agent-Triage", LABELS[1]["name"]])) == []
    assert whats(replace(ALL, labels=["agent-triage"])) == ["label agent-attempt"]


@pytest.mark.parametrize(
    ("variable", "expected"),
    [('["ann", "OP"]', []), ('["op"]', ["PATCH"]), ("op, Ann", ["PATCH"]), ('{"op": 1}', ["PATCH"]), (None, ["POST"])],
)
def test_operators_of_the_label_workflows(variable: str | None, expected: list[str]) -> None:
    found = changes(replace(ALL, variable=variable), MAIN)
    assert [one.method for one in found] == expected
    assert all(one.body == {"name": "SWARM_OPERATORS", "value": '["op", "Ann"]'} for one in found)


def test_no_variable_where_base_names_nobody() -> None:
    assert whats(replace(ALL, operators=None, variable=None)) == []


class TestPolicy:
    """The event policy without which a public repository's `pull_request_target` starts nothing."""

    def test_what_it_holds(self) -> None:
        (one,) = [change for change in changes(NOTHING, MAIN) if change.what.startswith("Actions")]
        assert one.body["conditions"] == {"workflow_path": {"include": [GATE], "exclude": []}}
        assert one.body["rules"] == [{"type": EVENT_RULE, "parameters": {"allowed_events": sorted(EVENTS)}}]

    def test_none_where_it_is_not_needed(self) -> None:
        assert whats(replace(ALL, policies=[], settings={**ALL.settings, "private": True})) == []
        assert whats(replace(ALL, policies=[policy(*EVENTS)])) == []
        assert whats(replace(ALL, policies=None)) == [], "what cannot be read cannot be compared"
        assert whats(replace(ALL, policies=[])) == ["Actions policy provenance-gate"]

    @pytest.mark.parametrize("public", [True, False])
    def test_ours_is_mended(self, public: bool) -> None:
        broken = policy("push", EVENTS[0], include=(GATE,), name="provenance-gate", source_type="Repository")
        there = replace(ALL, policies=[broken], settings={**ALL.settings, "private": not public})
        (one,) = changes(there, MAIN)
        assert (one.method, one.path) == ("PUT", "/actions/policies/7")
        assert one.body["rules"][-1]["parameters"]["allowed_events"] == sorted([*EVENTS, "push"])
        assert changes(made(there, [one]), MAIN) == []

    def test_the_organizations_is_not_ours(self) -> None:
        (one,) = changes(
            replace(ALL, policies=[policy("push", include=("x",), name="provenance-gate", source_type="Organization")]),
            MAIN,
        )
        assert one.method == "POST"


def test_what_keeps_the_check_from_being_required() -> None:
    assert [one.code for one in in_the_way(replace(ALL, workflows={}), MAIN)] == ["workflow-missing"]
    assert [one.code for one in in_the_way(replace(ALL, operators=None), MAIN)] == ["operators-missing"]
    assert [one.code for one in in_the_way(replace(ALL, operators=()), MAIN)] == ["operators-missing"]
    two = Wanted(("main", "next"))
    assert [one.found for one in in_the_way(ALL, two)] == [
        "no workflow on main posts the check 'provenance-gate (next)'"
    ]


def test_a_change_as_a_diff() -> None:
    (one,) = changes(replace(ALL, settings={**ALL.settings, "squash_merge_commit_title": "COMMIT_OR_PR_TITLE"}), MAIN)
    assert one.diff()[:2] == ["--- repository settings", "+++ repository settings"]
    assert '-  "squash_merge_commit_title": "COMMIT_OR_PR_TITLE"' in one.diff()
    assert '+  "squash_merge_commit_title": "PR_TITLE"' in one.diff()
    assert changes(NOTHING, MAIN)[-1].diff()[0] == "--- /dev/null"
