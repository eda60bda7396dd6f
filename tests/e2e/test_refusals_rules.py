"""What the rules refuse (exit 1): each code provoked through the installed command, and its positive twin."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.scene import (
    T1,
    T2,
    T4,
    Act,
    Scenario,
    Scene,
    act,
    change,
    edited,
    env,
    follow_hint,
    forge,
    git,
    nothing,
    prove,
    put,
    run,
    stage,
)
from tests.support.board import board_files, milestone, moved, plan_file, task_file, task_path

CLAIM_T1 = f"claim {T1}"
GATE = "swarm-gate pr --base origin/main --head HEAD"


def planned(revision: int = 1, status: str = "active", listed: tuple[str, ...] = (T1, T2), **more: str) -> Act:
    """A plan and a manifest with one milestone on base."""
    return put(plan=revision, manifest=[milestone("m1", listed, status=status, **more)])


def finished_by_b1(scene: Scene) -> None:
    there = scene.second()
    scene.run(f"claim {T1}", at=there, env={"SWARM_AGENT": "b1"}, ok=True)
    scene.run(f"release {T1} --done", at=there, env={"SWARM_AGENT": "b1"}, ok=True)


def written_here_only(scene: Scene) -> None:
    scene.here.commit({task_path(T4): task_file(T4)})


def written_and_not_committed(scene: Scene) -> None:
    (scene.here.path / task_path(T4)).write_text(task_file(T4))


def committed_to_mine(scene: Scene) -> None:
    scene.here.git("branch", "-q", "-f", "main", "HEAD")
    scene.here.commit({task_path(T4): task_file(T4)}, branch="main")


def add_command(*options: str) -> str:
    return " ".join(["add", "'Another one'", "--path", "more/", *options])


RULES = [
    Scenario("no branch", "detached-head", git("switch -q --detach"), CLAIM_T1, "git switch -c BRANCH", follow_hint),
    Scenario("on base", "on-base-branch", git("switch -q main"), CLAIM_T1, f"git switch -c agent/{T1}", follow_hint),
    Scenario("no name", "agent-required", env(SWARM_AGENT=None), CLAIM_T1, "swarm.agent NAME", follow_hint),
    Scenario(
        "in the backlog",
        "task-not-queued",
        put(task_file(T4, status="backlog")),
        f"claim {T4}",
        f"git mv .agents/backlog/{T4}.md .agents/tasks/queued/{T4}.md",
        change(moved(task_file(T4, status="backlog"), "queued")),
    ),
    *(
        Scenario(
            f"a task that is {state}",
            "task-not-queued",
            put(task_file(T4, status=state)),
            f"claim {T4}",
            "swarm tasks --ready",
            change(moved(task_file(T4, status=state), "queued")),
        )
        for state in ("blocked", "failed", "cancelled", "done")
    ),
    Scenario(
        "a task that base lacks",
        "task-not-queued",
        written_here_only,
        f"claim {T4}",
        "have it merged to base",
        git("push -q origin work:main"),
    ),
    Scenario(
        "a task that only the local base has",
        "task-not-queued",
        committed_to_mine,
        f"claim {T4}",
        "git push origin main",
        follow_hint,
    ),
    *(
        Scenario(
            f"a task that {where} has, its id shortened",
            "task-not-queued",
            written,
            "claim 00000004",
            hint,
            put(task_file(T4)),
        )
        for where, written, hint in (
            ("only the local base", committed_to_mine, "git push origin main"),
            ("no commit", written_and_not_committed, "git add :/.agents"),
        )
    ),
    Scenario(
        "a task that no commit has",
        "task-not-queued",
        written_and_not_committed,
        f"claim {T4}",
        f"git add :/.agents && git commit -m 'Add {T4}'",
        act(follow_hint, git("push -q origin work:main")),
    ),
    Scenario("a task nowhere", "task-not-queued", nothing, f"claim {T4}", "swarm tasks", put(task_file(T4))),
    Scenario("a prefix of nothing", "task-unknown", nothing, "claim 00000004", "swarm tasks", put(task_file(T4))),
    Scenario(
        "an open dependency",
        "dependency-open",
        put(task_file(T1, depends_on=[T4]), task_file(T4)),
        CLAIM_T1,
        f"swarm show {T4}",
        change(moved(task_file(T4), "done")),
    ),
    Scenario(
        "a milestone to integrate",
        "dependency-open",
        act(put(task_file(T1, kind="integration")), planned(listed=(T2,), integration=T1)),
        CLAIM_T1,
        f"swarm show {T2}",
        change({task_path(task_file(T2)): None, **moved(task_file(T2), "done")}),
    ),
    Scenario(
        "to be reviewed first",
        "review-overdue",
        put(task_file(T1, review_by="2020-02-29")),
        CLAIM_T1,
        f"swarm show {T1}",
        put(task_file(T1, review_by="2999-02-28")),
    ),
    Scenario(
        "for somebody else",
        "reserved",
        put(task_file(T1, reserved_for="b1")),
        CLAIM_T1,
        "swarm tasks --ready",
        env(SWARM_AGENT="b1"),
    ),
    Scenario(
        "a draft of a plan",
        "plan-not-approved",
        act(planned(), change({".agents/plan.md": plan_file(1, "draft")})),
        CLAIM_T1,
        "approves .agents/plan.md",
        planned(),
    ),
    Scenario("a plan alone", "plan-mismatch", put(plan=1), CLAIM_T1, "swarm init", planned()),
    Scenario("a manifest alone", "plan-mismatch", put(manifest=[]), CLAIM_T1, "swarm init", planned()),
    Scenario(
        "a manifest that lags behind",
        "plan-mismatch",
        act(planned(1), change({".agents/plan.md": plan_file(2)})),
        CLAIM_T1,
        ".agents/manifest.yaml",
        planned(2),
    ),
    *(
        Scenario(
            f"a milestone that is {status}",
            "milestone-not-active",
            planned(status=status),
            CLAIM_T1,
            "swarm tasks --ready",
            planned(),
        )
        for status in ("planned", "integrating", "done")
    ),
    Scenario("in no milestone", "not-in-milestone", planned(listed=(T2,)), CLAIM_T1, "swarm tasks --ready", planned()),
    *(
        Scenario(
            f"{command} under another plan",
            "plan-moved",
            act(planned(1), run(CLAIM_T1), planned(2)),
            command,
            f"swarm release {T1} --reason 'plan moved' && swarm claim {T1} --agent a1",
            follow_hint,
        )
        for command in ("renew", "check")
    ),
    *(
        Scenario(
            f"{command} of a task that changed",
            "task-changed",
            act(run(CLAIM_T1), change(edited(T1, "src/", "lib/"))),
            command,
            f"swarm show {T1}, then: swarm release {T1} --reason 'task changed'",
            run(f"release {T1}", CLAIM_T1),
        )
        for command in ("renew", "check")
    ),
    *(
        Scenario(
            f"{command} of a task that left the queue",
            "task-not-queued",
            act(run(CLAIM_T1), change(moved(task_file(T1), "blocked"))),
            f"{command} {T1}",
            f"swarm release {T1} --reason TEXT",
            change({task_path(task_file(T1, status="blocked")): None, **edited(T1, "src/", "src/")}),
        )
        for command in ("renew", "check")
    ),
    Scenario(
        "finished by another",
        "finished-elsewhere",
        finished_by_b1,
        CLAIM_T1,
        "swarm tasks --ready",
        follow_hint,
    ),
    Scenario(
        "finished here",
        "finished-elsewhere",
        run(CLAIM_T1, f"release {T1} --done"),
        CLAIM_T1,
        "git push origin work",
        follow_hint,
    ),
    *(
        Scenario(
            f"{command} of what this branch has finished",
            "claim-not-found",
            run(CLAIM_T1, f"release {T1} --done"),
            command,
            f" && {GATE} && git push origin work",
            run(f"reopen {T1} --reason why", CLAIM_T1),
        )
        for verb in ("check", "renew", "release", "release --done")
        for command in (verb, f"{verb} {T1}")
    ),
    Scenario(
        "reopening what nobody finished",
        "nothing-to-reopen",
        nothing,
        f"reopen {T1} --reason why",
        f"swarm show {T1}",
        finished_by_b1,
    ),
    Scenario(
        "reopening what is held",
        "nothing-to-reopen",
        run(CLAIM_T1),
        f"reopen {T1} --reason why",
        f"swarm show {T1}",
        run(f"release {T1} --done"),
    ),
    *(
        Scenario(
            f"{command} without a claim",
            "claim-not-found",
            nothing,
            command,
            " --agent a1",
            run(CLAIM_T1),
        )
        for command in ("renew", "check", "release", f"renew {T1}", f"check {T1}", f"release {T1}")
    ),
    Scenario(
        "stealing from nobody", "claim-not-found", nothing, f"steal {T1}", f"swarm claim {T1}", forge(T1, minutes=-1)
    ),
    Scenario(
        "claiming again, too late",
        "claim-expired",
        run(CLAIM_T1, "renew --minutes 0"),
        CLAIM_T1,
        f"swarm renew {T1}",
        follow_hint,
    ),
    Scenario(
        "checking too late",
        "claim-expired",
        run(CLAIM_T1, "renew --minutes 0"),
        "check",
        f"swarm renew {T1}",
        follow_hint,
    ),
    Scenario(
        "a dependency that is nowhere",
        "unknown-dependency",
        nothing,
        add_command("--depends-on", T4),
        "",
        lambda scene: scene.here.commit({task_path(T4): task_file(T4)}),
    ),
    Scenario(
        "a dependency on what integrates it",
        "dependency-cycle",
        lambda scene: scene.here.commit(
            board_files([task_file(T4)], plan=1, manifest=[milestone("m1", [T1], integration=T4)])
        ),
        add_command("--milestone", "m1", "--depends-on", T4),
        "",
        lambda scene: scene.here.commit(board_files(plan=1, manifest=[milestone("m1", [T1], integration=T2)])),
    ),
]


@pytest.mark.parametrize("scenario", RULES, ids=lambda scenario: scenario.name)
def test_refused_and_then_not(scenario: Scenario, tmp_path: Path) -> None:
    prove(scenario, stage(tmp_path), exit=1)
