"""That no code is lost: each one that `swarm` can answer with is provoked by a scenario. And how several are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from claims.errors import CODES
from tests.e2e import test_refusals_conflicts as conflicts
from tests.e2e import test_refusals_rules as rules
from tests.e2e import test_refusals_undecided as undecided
from tests.e2e import test_refusals_usage as usage
from tests.e2e.scene import LOCK, T1, T2, T3, Scene, stage
from tests.support.board import milestone, task_file

#: What `swarm` answers with, by exit status. docs and other programs rely on each.
SWARM = {
    1: {
        "detached-head",
        "on-base-branch",
        "task-not-queued",
        "dependency-open",
        "review-overdue",
        "reserved",
        "plan-not-approved",
        "plan-mismatch",
        "plan-moved",
        "milestone-not-active",
        "not-in-milestone",
        "finished-elsewhere",
        "task-changed",
        "task-unknown",
        "unknown-dependency",
        "dependency-cycle",
        "nothing-to-reopen",
        "claim-not-found",
        "claim-expired",
        "agent-required",
    },
    2: {
        "claim-held",
        "lock-held",
        "claim-lost",
        "claim-live",
        "stale-token",
        "not-holder",
        "wip-limit",
        "agent-busy",
        "branch-busy",
        "overlap",
        "busy",
    },
    3: {
        "not-a-repository",
        "git-missing",
        "git-too-old",
        "git-failed",
        "base-not-found",
        "remote-unreachable",
        "remote-rejected",
        "remote-not-atomic",
        "malformed-task",
        "malformed-plan",
        "malformed-manifest",
        "malformed-config",
        "malformed-claim",
        "limits-exceeded",
        "evidence-incomplete",
        "timed-out",
        "output-failed",
        "unexpected",
    },
    64: {"usage", "ambiguous-id"},
}
#: What only `swarm-gate` answers with.
GATE = {2: {"moved"}, 3: {"github-unavailable", "runner-unavailable"}}

#: What `test_environment_cli` provokes: that what was done cannot be told.
OF_STREAMS = {3: {"output-failed"}}
#: What the scenarios of each exit status provoke; wrong command lines are a table of their own.
PROVOKED = {
    1: rules.RULES,
    2: conflicts.CONFLICTS,
    3: [*undecided.UNDECIDED, *undecided.ALONE],
    64: usage.AMBIGUOUS,
}


def test_the_codes_are_those_of_swarm_and_of_the_gate() -> None:
    listed = {code: exit for table in (SWARM, GATE) for exit, codes in table.items() for code in codes}
    assert listed == CODES


@pytest.mark.parametrize("exit", SWARM)
def test_every_code_of_swarm_is_provoked(exit: int) -> None:
    provoked = {scenario.code for scenario in PROVOKED[exit]} | ({"usage"} if usage.WRONG and exit == 64 else set())
    assert provoked | OF_STREAMS.get(exit, set()) == SWARM[exit]


def test_scenarios_have_names_of_their_own() -> None:
    for table in (rules.RULES, conflicts.CONFLICTS, undecided.UNDECIDED, undecided.ALONE):
        names = [scenario.name for scenario in table]
        assert len(set(names)) == len(names)


def everything_is_wrong(scene: Scene) -> None:
    scene.put(
        task_file(T1, depends_on=[T2], reserved_for="c1", review_by="2020-01-01", locks=[LOCK]),
        plan=2,
        manifest=[milestone("m1", [T1], status="planned")],
        config={"wip": {"implementation": 1}, "one_claim_per_agent": True},
    )
    scene.forge(T3, agent="a1", locks=[LOCK])
    scene.here.git("switch", "-q", "main")


EVERY_REASON = [
    "on-base-branch",
    "dependency-open",
    "review-overdue",
    "reserved",
    "milestone-not-active",
    "lock-held",
    "wip-limit",
    "agent-busy",
]


def test_every_reason_is_told_and_the_first_decides(tmp_path: Path) -> None:
    scene = stage(tmp_path)
    everything_is_wrong(scene)
    error = scene.refused(f"claim {T1}")
    reasons = error["details"]["reasons"]
    assert [reason["code"] for reason in reasons] == EVERY_REASON
    assert all(list(reason) == ["code", "message", "hint"] and reason["hint"] for reason in reasons)
    assert {key: error[key] for key in reasons[0]} == reasons[0]
    said = scene.run(f"claim {T1}")
    lines = said.err.splitlines()
    assert lines[::2] == [f"error[{reason['code']}]: {reason['message']}" for reason in reasons]
    assert lines[1::2] == [f"hint: {reason['hint']}" for reason in reasons]


def test_one_reason_alone_is_no_list(tmp_path: Path) -> None:
    scene = stage(tmp_path)
    scene.forge(T3, locks=[LOCK])
    details = scene.refused(f"claim {T1}")["details"]
    assert "reasons" not in details
    assert (details["lock"], details["task"], details["agent"]) == (LOCK, T3, "b1")


def test_the_reasons_against_a_renewal_are_told_together(tmp_path: Path) -> None:
    scene = stage(tmp_path)
    scene.put(plan=1, manifest=[milestone("m1", [T1])])
    scene.run(f"claim {T1}", ok=True)
    scene.put(task_file(T1, title="Another"), plan=2, manifest=[milestone("m1", [T1])])
    scene.run(f"renew {T1}", ok=False)
    for command in ("renew", "check"):
        reasons = scene.refused(command)["details"]["reasons"]
        assert [reason["code"] for reason in reasons] == ["plan-moved", "task-changed"]


def test_a_refusal_says_who_is_in_the_way(tmp_path: Path) -> None:
    scene = stage(tmp_path)
    scene.forge(T1, agent="b1", branch="other", minutes=5)
    error = scene.refused(f"claim {T1}")
    until = scene.blob(T1)["expiresAt"]
    assert error["message"] == f"{T1} is held by b1 on other, until {until}"
    facts = {"task": T1, "agent": "b1", "branch": "other", "expiresAt": until, "expired": False}
    assert error["details"] == facts


def test_what_an_operator_may_do_against_a_living_claim_ends_it_for_good(tmp_path: Path) -> None:
    """Only those refs, only at those values; and it is no hint, which an agent would follow."""
    scene = stage(tmp_path)
    scene.forge(T1, locks=[LOCK])
    scene.forge(T2)
    error = scene.refused(f"steal {T1}")
    assert "delete" not in error["message"] and error["hint"] == "swarm tasks --ready"
    command = error["details"]["operator"]
    renewed = scene.forge(T1, locks=[LOCK], minutes=40)
    with pytest.raises(AssertionError, match="stale info"):
        scene.shell(command)
    assert list(scene.arbiter.refs().values()).count(renewed) == 2
    scene.shell(scene.refused(f"steal {T1}")["details"]["operator"])
    assert list(scene.arbiter.refs()) == [f"refs/swarm/task-claims/{T2}"]
    scene.run(f"claim {T1}", ok=True)
