"""Setup: from nothing to enforced, again without a change, on from the middle, and never further than it may."""

from __future__ import annotations

from typing import Any

import pytest

from claims.errors import Undecided
from gate.github.doctor import checks
from gate.github.finding import Diagnosis, diagnose
from gate.github.reading import Reading
from gate.github.setup import Setup, set_up
from tests.unit.gate.github.canned import Kept, file, in_order

ORDER = [
    "PATCH ",
    "POST /labels",
    "POST /labels",
    "POST /actions/variables",
    "POST /actions/policies",
    "POST /rulesets",
]


@pytest.fixture
def github(workflow: bytes) -> Kept:
    """A public repository with the board and the workflow merged, and nothing set up."""
    answers = in_order(workflow)
    del answers["/actions/variables/SWARM_OPERATORS"], answers["/rulesets/1"]
    answers |= {"/rulesets": [], "/labels": [], "/actions/policies": {"total_count": 0, "policies": []}}
    answers[""] |= {"squash_merge_commit_title": "COMMIT_OR_PR_TITLE", "squash_merge_commit_message": "BLANK"}
    return Kept(answers)


def ran(github: Kept, *bases: str, apply: bool = True, queue: bool = False) -> Setup:
    return set_up(github, bases, queue=queue, apply=apply)


def diagnosis(github: Kept) -> Diagnosis:
    """What doctor says, the rules in force being those of the rulesets."""
    rulesets = [github.answers[f"/rulesets/{one['id']}"] for one in github.answers["/rulesets"]]
    in_force = [{**rule, "ruleset_id": one["id"]} for one in rulesets for rule in one["rules"]]
    github.answers["/rules/branches/main"] = in_force
    return diagnose(checks(Reading(github), ["main"], agent=True))


def test_from_nothing_to_enforced(github: Kept) -> None:
    assert diagnosis(github).verdict == "fail"
    done = ran(github)
    assert (github.told, done.applied, done.enforced) == (ORDER, True, True)
    assert (done.bases, done.held, done.unknown) == (("main",), (), ())
    assert diagnosis(github) == Diagnosis()


def test_once_more_changes_nothing(github: Kept) -> None:
    ran(github)
    github.told.clear()
    done = ran(github)
    assert (github.told, done.changes, done.enforced) == ([], (), True)


def test_a_dry_run_tells_and_changes_nothing(github: Kept) -> None:
    done = ran(github, apply=False)
    assert github.told == []
    assert [one["request"] for one in done.to_json()["changes"]] == ["PATCH ", *ORDER[1:]]
    assert (done.applied, done.enforced) == (False, False)
    ran(github)
    assert ran(github, apply=False).enforced


@pytest.mark.parametrize("reached", range(len(ORDER)))
def test_a_setup_that_was_refused_in_the_middle_is_completed(github: Kept, reached: int) -> None:
    path = ORDER[reached].split(" ")[1]
    before = ORDER.index(ORDER[reached])
    github.refuses = {path}
    with pytest.raises(Undecided, match="needs administration=write") as refused:
        ran(github)
    assert len(refused.value.details["made"]) == before
    assert ("made before it" in refused.value.message) == (before > 0)
    assert refused.value.hint and refused.value.hint.startswith("a token with ")
    github.refuses = set()
    assert ran(github).enforced
    assert sorted(github.told) == sorted(ORDER), "nothing is made twice"


@pytest.mark.parametrize("path", ["", "/labels", "/actions/policies", "/rulesets"])
def test_what_reads_back_otherwise_is_no_success(github: Kept, path: str) -> None:
    github.loses = {path}
    with pytest.raises(Undecided, match="and still has "):
        ran(github)


@pytest.mark.parametrize("missing", ["/contents/.github/workflows", "/contents/.agents/swarm.yaml"])
def test_the_check_is_not_required_before_anybody_can_pass_it(github: Kept, missing: str) -> None:
    there = github.answers.pop(missing)
    done = ran(github)
    assert (len(done.held), done.enforced) == (1, False)
    assert "POST /rulesets" not in github.told and "POST /labels" in github.told
    github.answers[missing] = there
    assert ran(github).enforced


def test_a_ruleset_is_not_touched_while_it_cannot_be_met(github: Kept) -> None:
    """One that is there already stays; it is doctor's to say that nobody gets past it."""
    ran(github)
    del github.answers["/contents/.github/workflows"]
    assert ran(github).changes == ()


def test_policies_that_are_not_shown_are_told(github: Kept) -> None:
    del github.answers["/actions/policies"]
    assert [one.codes for one in ran(github).unknown] == [("event-policy",)]
    github.answers[""]["private"] = True
    assert ran(github).unknown == ()


def test_a_configuration_that_does_not_read(github: Kept) -> None:
    github.answers["/contents/.agents/swarm.yaml"] = file(b"gate: [\n")
    with pytest.raises(Undecided) as broken:
        ran(github)
    assert (broken.value.code, github.told) == ("malformed-config", [])


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/rulesets",
        "/labels",
        "/actions/variables/SWARM_OPERATORS",
        "/actions/policies",
        "/contents/.github/workflows",
    ],
)
@pytest.mark.parametrize("answer", [None, "text", [1], {"policies": 1}])
def test_nothing_is_changed_where_something_cannot_be_read(github: Kept, path: str, answer: Any) -> None:
    github.answers[path] = answer
    with pytest.raises(Undecided):
        ran(github)
    assert github.told == []


def test_several_branches_and_a_queue(github: Kept, workflow: bytes) -> None:
    path = ".github/workflows/provenance-gate-next.yml"
    github.answers["/contents/.github/workflows"].append({"path": path, "type": "file"})
    github.answers[f"/contents/{path}"] = file(workflow.replace(b"(main)", b"(next)"))
    done = ran(github, "main", "next", queue=True)
    assert [one.what for one in done.changes][-2:] == [
        "ruleset provenance-gate (main)",
        "ruleset provenance-gate (next)",
    ]
    (policy,) = github.answers["/actions/policies"]["policies"]
    assert policy["conditions"]["workflow_path"]["include"] == [path, ".github/workflows/provenance-gate.yml"]
    assert "merge_queue" in [rule["type"] for rule in done.changes[-1].body["rules"]]
