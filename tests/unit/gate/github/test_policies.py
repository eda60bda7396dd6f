"""Actions policies: for which workflows they are in force, and what they let through."""

from __future__ import annotations

from typing import Any

import pytest

from gate.github.policies import ACTOR_RULE, EVENT, EVENT_RULE, blocked_by, event_policies, restricting_actors

GATE = ".github/workflows/provenance-gate.yml"


def policy(*events: str, include: tuple[str, ...] = (), exclude: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    """An event policy, in force for all workflows."""
    rule = {"type": EVENT_RULE, "parameters": {"allowed_events": list(events)}}
    where = {"workflow_path": {"include": list(include), "exclude": list(exclude)}}
    return {"id": 7, "name": "p", "enforcement": "active", "conditions": where, "rules": [rule]} | more


@pytest.mark.parametrize(
    ("one", "there"),
    [
        (policy(EVENT), True),
        (policy(EVENT, conditions=None), True),
        (policy(EVENT, include=("~ALL",)), True),
        (policy(EVENT, include=(GATE,)), True),
        (policy(EVENT, include=(".github/workflows/*.yml",)), True),
        (policy(EVENT, include=(".github/workflows/other.yml",)), False),
        (policy(EVENT, include=("~ALL",), exclude=(GATE,)), False),
        (policy(EVENT, enforcement="evaluate"), False),
        (policy(EVENT, enforcement="disabled"), False),
        (policy(EVENT, rules=[{"type": ACTOR_RULE, "parameters": {"allowed_actors": []}}]), False),
        (policy(EVENT, rules=None), False),
    ],
)
def test_event_policies_of_a_workflow(one: dict[str, Any], there: bool) -> None:
    assert event_policies([one], GATE) == ([one] if there else [])


def test_policies_add_up() -> None:
    both = [policy(EVENT), policy("push", name="no")]
    assert blocked_by(both, GATE, EVENT) == ["no"]
    assert blocked_by(both, GATE, "push") == ["p"]
    assert blocked_by(both[:1], GATE, EVENT) == []


def test_actors() -> None:
    actors = {"type": ACTOR_RULE, "parameters": {"allowed_actors": [{"id": 1, "type": "User"}]}}
    assert restricting_actors([policy(EVENT, rules=[actors])], GATE) == ["p"]
    assert restricting_actors([policy(EVENT, rules=[*policy(EVENT)["rules"], actors])], GATE) == ["p"]
    assert restricting_actors([policy(EVENT)], GATE) == []
    assert restricting_actors([policy(EVENT, rules=[actors], exclude=(GATE,))], GATE) == []
