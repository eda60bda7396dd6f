"""Actions policies: which workflows which events may start. Pure: JSON as GitHub's REST API has it.

Policies add up: each that is for a workflow has to allow what starts it. For public repositories without one, GitHub
has a default, which is not listed and keeps `pull_request_target` from starting anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, TypeAlias

Json: TypeAlias = Any

#: The events that start the gate.
EVENT, QUEUE_EVENT = EVENTS = ("pull_request_target", "merge_group")
EVENT_RULE, ACTOR_RULE = "restrict_action_events", "restrict_actions_actors"


def is_own(policy: Mapping[str, Json]) -> bool:
    """Whether it is the repository's, and not its organization's or enterprise's."""
    return str(policy.get("source_type", "Repository")) == "Repository"


def event_policies(policies: Iterable[Mapping[str, Json]], path: str) -> list[Mapping[str, Json]]:
    """The policies in force that say which events may start the workflow at `path`."""
    return [one for one in policies if applies(one, path) and allowed_events(one) is not None]


def blocked_by(policies: Iterable[Mapping[str, Json]], path: str, event: str) -> list[str]:
    """The names of the policies in force that keep the event from starting the workflow: they add up."""
    return [str(one.get("name")) for one in event_policies(policies, path) if event not in (allowed_events(one) or ())]


def restricting_actors(policies: Iterable[Mapping[str, Json]], path: str) -> list[str]:
    """The names of the policies in force that let only listed accounts start the workflow."""
    return [
        str(one.get("name"))
        for one in policies
        if applies(one, path) and any(rule.get("type") == ACTOR_RULE for rule in one.get("rules") or ())
    ]


def applies(policy: Mapping[str, Json], path: str) -> bool:
    """Whether the policy is in force for the workflow at `path`."""
    include, exclude = patterns(policy)
    named = not include or any(one == "~ALL" or fnmatchcase(path, one) for one in include)
    in_force = str(policy.get("enforcement")) == "active"
    return in_force and named and not any(fnmatchcase(path, one) for one in exclude)


def patterns(policy: Mapping[str, Json]) -> tuple[Sequence[str], Sequence[str]]:
    """The workflows that a policy is for, and those that it is not for. None listed: for all."""
    where = (policy.get("conditions") or {}).get("workflow_path") or {}
    return where.get("include") or (), where.get("exclude") or ()


def allowed_events(policy: Mapping[str, Json]) -> list[str] | None:
    """The events that a policy allows; None where it says nothing of events."""
    for rule in policy.get("rules") or ():
        if rule.get("type") == EVENT_RULE:
            return list((rule.get("parameters") or {}).get("allowed_events") or ())
    return None
