"""What somebody else stands in the way of (exit 2): each code, and its positive twin."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.scene import (
    CLAIM,
    LOCK,
    T1,
    T2,
    T3,
    Act,
    Scenario,
    Scene,
    act,
    env,
    follow_hint,
    forge,
    git,
    lock_file,
    prove,
    put,
    run,
    stage,
    vacate,
)

CLAIM_T1 = f"claim {T1}"
NAME_IT = "git config --worktree swarm.agent NAME"


def elsewhere(*lines: str, agent: str = "b1") -> Act:
    """Commands that work in another clone, on the branch `other`."""

    def act(scene: Scene) -> None:
        there = scene.others[0] if scene.others else scene.second()
        for line in lines:
            scene.run(line, at=there, env={"SWARM_AGENT": agent}, ok=True)

    return act


stolen = act(run(CLAIM_T1, "renew --minutes 0"), elsewhere(f"steal {T1}"))


def given_back(scene: Scene) -> None:
    elsewhere(f"release {T1}")(scene)
    scene.run(CLAIM_T1, ok=True)


CONFLICTS = [
    Scenario("held by another", "claim-held", forge(T1), CLAIM_T1, "swarm tasks --ready", vacate(T1)),
    Scenario(
        "held, and expired",
        "claim-held",
        forge(T1, minutes=-1),
        CLAIM_T1,
        f"swarm steal {T1} --agent a1",
        follow_hint,
    ),
    Scenario("held under one's own name", "claim-held", forge(T1, agent="a1"), CLAIM_T1, NAME_IT, vacate(T1)),
    Scenario(
        "held here on another branch",
        "claim-held",
        act(run(CLAIM_T1), git("switch -q -c another")),
        CLAIM_T1,
        "git switch work",
        follow_hint,
    ),
    Scenario("a lock that is held", "lock-held", forge(T3, locks=[LOCK]), CLAIM_T1, "swarm tasks --ready", vacate(T3)),
    Scenario(
        "a lock of an expired claim",
        "lock-held",
        forge(T3, locks=[LOCK], minutes=-1),
        CLAIM_T1,
        "swarm reap",
        follow_hint,
    ),
    Scenario(
        "a lock that became another's",
        "lock-held",
        act(run(CLAIM_T1), forge(T3, locks=[LOCK])),
        f"renew {T1}",
        "swarm tasks --ready",
        vacate(T3),
    ),
    *(
        Scenario(f"{command} after a theft", "claim-lost", stolen, f"{command} {T1}", f"swarm show {T1}", given_back)
        for command in ("renew", "release", "check")
    ),
    *(
        Scenario(
            f"{command} after a theft, without the id", "claim-lost", stolen, command, f"swarm show {T1}", given_back
        )
        for command in ("renew", "release", "check")
    ),
    Scenario(
        "renewing what was reaped",
        "claim-lost",
        act(run(CLAIM_T1, "renew --minutes 0"), elsewhere("reap")),
        f"renew {T1}",
        f"swarm show {T1}",
        run(CLAIM_T1),
    ),
    Scenario(
        "stealing from the living",
        "claim-live",
        elsewhere(CLAIM_T1),
        f"steal {T1}",
        "swarm tasks --ready",
        elsewhere("renew --minutes 0"),
    ),
    *(
        Scenario(
            f"{command} with a wrong token",
            "stale-token",
            act(run(CLAIM_T1), env(SWARM_TOKEN="wrong")),
            f"{command} {T1}",
            f"swarm show {T1}",
            env(SWARM_TOKEN=None),
        )
        for command in ("renew", "release")
    ),
    *(
        Scenario(
            f"{command} of another's",
            "not-holder",
            forge(T1),
            f"{command} {T1}",
            f"swarm show {T1}",
            act(vacate(T1), run(CLAIM_T1)),
        )
        for command in ("renew", "release", "check")
    ),
    *(
        Scenario(
            f"{command} under another name",
            "not-holder",
            act(run(CLAIM_T1), env(SWARM_AGENT="a2")),
            f"{command} {T1}",
            "SWARM_AGENT=a1 swarm ",
            env(SWARM_AGENT="a1"),
        )
        for command in ("renew", "release")
    ),
    Scenario(
        "checking another branch",
        "not-holder",
        run(CLAIM_T1),
        f"check {T1} --branch main",
        f"swarm show {T1}",
        act(run(f"release {T1}"), forge(T1, branch="main")),
    ),
    Scenario(
        "as many as may be",
        "wip-limit",
        act(put(config={"wip": {"implementation": 1}}), forge(T2)),
        CLAIM_T1,
        "swarm status",
        put(config={"wip": {"implementation": 2}}),
    ),
    Scenario(
        "as many as may be, one expired",
        "wip-limit",
        act(put(config={"wip": {"implementation": 1}}), forge(T2, minutes=-1)),
        CLAIM_T1,
        "swarm reap",
        follow_hint,
    ),
    Scenario(
        "an agent with a claim",
        "agent-busy",
        act(put(config={"one_claim_per_agent": True}), elsewhere(f"claim {T2}", agent="a1")),
        CLAIM_T1,
        NAME_IT,
        env(SWARM_AGENT="a2"),
    ),
    Scenario(
        "an agent with an expired claim",
        "agent-busy",
        act(put(config={"one_claim_per_agent": True}), forge(T2, agent="a1", minutes=-1)),
        CLAIM_T1,
        "swarm reap",
        follow_hint,
    ),
    Scenario(
        "a branch with a claim", "branch-busy", run(CLAIM_T1), f"claim {T2}", f"git switch -c agent/{T2}", follow_hint
    ),
    Scenario(
        "a branch with an expired claim",
        "branch-busy",
        run(CLAIM_T1, "renew --minutes 0"),
        f"claim {T2}",
        f"git switch -c agent/{T2}",
        run(f"release {T1}"),
    ),
    Scenario(
        "shared files",
        "overlap",
        act(put(config={"overlap": "refuse"}), forge(T3)),
        CLAIM_T1,
        "swarm tasks --ready",
        put(config={"overlap": "warn"}),
    ),
    Scenario(
        "a lock file that git left",
        "busy",
        lock_file(f"{CLAIM}{T1}"),
        CLAIM_T1,
        "rm ",
        follow_hint,
    ),
]


@pytest.mark.parametrize("scenario", CONFLICTS, ids=lambda scenario: scenario.name)
def test_refused_and_then_not(scenario: Scenario, tmp_path: Path) -> None:
    prove(scenario, stage(tmp_path), exit=2)
