"""`swarm tasks` and `swarm show`: the queue with every reason why not, and one task whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.logs import Ended, write_log
from tests.e2e.scene import FILES, LOCK, T1, T2, T3, T4, Scene, alone, stage
from tests.support.board import board_files, milestone, moved, plan_file, task_file, task_id, task_path
from tests.support.git_wrapper import GitWrapper
from tests.support.repo import clone
from tests.support.swarm import swarm


@pytest.fixture(params=["local", "remote"])
def scene(request: pytest.FixtureRequest, tmp_path: Path) -> Scene:
    return alone(tmp_path) if request.param == "local" else stage(tmp_path)


def reasons(scene: Scene, line: str = "tasks") -> dict[str, list[str]]:
    """Task to the codes of why it cannot be claimed."""
    value = scene.claims(line)
    assert all(one["ready"] == (not one["reasons"]) for one in value["tasks"])
    return {one["task"]: [reason["code"] for reason in one["reasons"]] for one in value["tasks"]}


def test_the_queue_by_priority(scene: Scene) -> None:
    scene.put(task_file(T4, title="Urgent", priority="p0"), task_file(task_id(5), priority="p3"))
    value = scene.claims("tasks")
    assert [one["task"] for one in value["tasks"]] == [T4, T1, T2, T3, task_id(5)]
    assert value["tasks"][0] == {"task": T4, "title": "Urgent", "priority": "p0", "ready": True, "reasons": []}
    assert value["warnings"] == []
    assert scene.run("tasks", ok=True).out.splitlines()[:2] == [f"{T4}  p0  Urgent", f"{T1}  p2  The first"]


def test_each_reason_is_told_and_each_goes_away(scene: Scene) -> None:
    scene.put(
        task_file(T4, depends_on=[T2], review_by="2020-01-01", reserved_for="c9", locks=[LOCK]),
        config={"wip": {"implementation": 1}},
    )
    scene.run(f"claim {T1}", ok=True)
    told = reasons(scene)
    assert told == {
        T1: ["claim-held", "wip-limit"],
        T2: ["wip-limit"],
        T3: ["lock-held", "wip-limit"],
        T4: ["dependency-open", "review-overdue", "reserved", "lock-held", "wip-limit"],
    }
    assert reasons(scene, "tasks --ready") == {}
    assert scene.run("tasks --ready", ok=True).out == "no queued task can be claimed now\n"
    scene.run("release", ok=True)
    scene.change(moved(task_file(T2, title="The second", paths=["docs/"]), "done") | {task_path(T2): None})
    assert reasons(scene, "tasks --agent c9") == {T1: [], T3: [], T4: ["review-overdue"]}
    assert reasons(scene, "tasks --ready") == {T1: [], T3: []}


def test_a_full_cap_is_told_to_those_without_a_name(tmp_path: Path) -> None:
    scene = alone(tmp_path, {**FILES, **board_files(config={"wip": {"implementation": 1}})})
    nobody = {"SWARM_AGENT": None}
    assert len(scene.run("tasks --ready", env=nobody, ok=True).out.splitlines()) == 3
    scene.run(f"claim {T1}", ok=True)
    assert "wip-limit" in scene.run("tasks", env=nobody, ok=True).out
    assert scene.run("tasks --ready", env=nobody, ok=True).out == "no queued task can be claimed now\n"


def test_what_the_plan_holds_back(scene: Scene) -> None:
    stones = [milestone("m1", [T1], integration=T2), milestone("m2", [T3], status="planned")]
    scene.put(task_file(T4), plan=1, manifest=stones)
    assert reasons(scene) == {
        T1: [],
        T2: ["dependency-open"],
        T3: ["milestone-not-active"],
        T4: ["not-in-milestone"],
    }
    scene.change({".agents/plan.md": plan_file(status="draft")})
    assert reasons(scene)[T1] == ["plan-not-approved"]


def test_one_file_that_does_not_read_hides_no_other(scene: Scene) -> None:
    large = task_id(6)
    scene.change({task_path(T2): "---\nid: x\n---\n", task_path(large): "x" * 300_000})
    scene.change(
        {f".agents/tasks/queued/{task_id(7)}.md/inner": "a folder", ".agents/tasks/queued/notes.txt": "no task"}
    )
    scene.change({f".agents/tasks/blocked/{T3}.md": task_file(T3, status="blocked")})
    assert reasons(scene) == {T1: [], T2: ["malformed-task"], T3: ["malformed-task"], large: ["limits-exceeded"]}
    said = scene.run("tasks", ok=True).out
    assert f"{T2}  --  (does not read)\n    malformed-task: {task_path(T2)}:" in said
    assert f"    limits-exceeded: {task_path(large)}: over 262144 bytes" in said


def test_a_manifest_or_plan_that_does_not_read_is_a_reason(scene: Scene) -> None:
    scene.put(plan=1, manifest="milestones: {\n")
    assert set(map(tuple, reasons(scene).values())) == {("malformed-manifest",)}
    scene.change({".agents/plan.md": "no plan"})
    assert set(map(tuple, reasons(scene).values())) == {("malformed-plan", "malformed-manifest")}
    scene.change({".agents/swarm.yaml": "lease_minutes: long\n"})
    assert scene.refused("tasks")["code"] == "malformed-config"


def test_hostile_titles_move_no_terminal(scene: Scene) -> None:
    title = '"; rm -rf / \u202eevil \u200b\\'
    scene.put(task_file(T4, title=title, priority="p0", body="a\tb\x1b[31m\u202e\n\x07\n"))
    for line in ("tasks", f"show {T4}"):
        said = scene.run(line, ok=True).out
        assert '"; rm -rf / �evil �' in said
        assert not [char for char in said if not char.isprintable() and char != "\n"]
    assert scene.claims("tasks")["tasks"][0]["title"] == title


def test_nothing_queued_is_no_error(tmp_path: Path) -> None:
    scene = alone(tmp_path, board_files())
    assert scene.run("tasks", ok=True).out == "no task is queued\n"
    assert scene.claims("tasks --ready") == {"tasks": [], "warnings": []}
    bare = alone(tmp_path / "other", {"README": "no board\n"})
    assert bare.claims("tasks") == {"tasks": [], "warnings": []}


def test_a_large_board_is_read_by_the_batch(tmp_path: Path) -> None:
    """As many processes for three hundred tasks as for ten; each task has a dependency elsewhere."""
    processes = []
    for number in (10, 300):
        ids = [task_id(n) for n in range(number)]
        tasks = [task_file(one, depends_on=[task_id(0x10000 + n)]) for n, one in enumerate(ids)]
        done = [task_file(task_id(0x10000 + n), status="done") for n in range(number)]
        scene = alone(tmp_path / str(number), board_files([*tasks, *done]))
        wrapper = GitWrapper(tmp_path / f"wrapped{number}")
        value = swarm(scene.here, "tasks", "--json", env=wrapper.env, ok=True).json
        assert len([one for one in value["tasks"] if one["ready"]]) == number
        processes.append(len(wrapper.log))
    assert processes[0] == processes[1]


def test_a_partial_clone_fetches_the_board_at_once(tmp_path: Path) -> None:
    scene = stage(tmp_path)
    assert scene.origin is not None
    scene.origin.git("config", "uploadpack.allowFilter", "true")
    partial = clone(scene.origin, tmp_path / "partial", "--filter=blob:none", "--no-checkout")
    wrapper = GitWrapper(tmp_path / "wrapped")
    assert len(swarm(partial, "tasks", "--json", env=wrapper.env, ok=True).json["tasks"]) == 3
    assert len([call for call in wrapper.log if "fetch" in call.argv]) <= 3


def test_one_task_whole(scene: Scene) -> None:
    scene.run(f"claim {T1}", ok=True)
    scene.run("release --reason 'too hard'", ok=True)
    scene.run(f"claim {T1} --agent a2", ok=True)
    shown = scene.claims(f"show {T1}")
    assert (shown["task"], shown["state"], shown["path"]) == (T1, "queued", task_path(T1))
    assert shown["file"].encode() == scene.arbiter.cat(f"main:{task_path(T1)}")
    assert (shown["claim"]["agent"], shown["claim"]["state"], shown["claim"]["locks"]) == ("a2", "active", [LOCK])
    assert 0 < shown["claim"]["remaining"] <= 1800
    closed = shown["last"]["closed"]
    assert (shown["last"]["agent"], closed["outcome"], closed["reason"]) == ("a1", "released", "too hard")
    assert (shown["ready"], [reason["code"] for reason in shown["reasons"]]) == (False, ["claim-held"])
    said = scene.run("show 00000001", ok=True).out
    assert f"task   {T1}\nstate  queued\nfile   {task_path(T1)}\nclaim  {T1}  a2  work  plan 0  until " in said
    assert "last   a1 on work, released at " in said and ": too hard\nready  no\n    claim-held: " in said
    assert said.endswith("\n---\nWhat is wanted.\n")


def test_a_task_that_nobody_has_touched(scene: Scene) -> None:
    shown = scene.claims(f"show {T2}")
    assert (shown["claim"], shown["last"], shown["ready"], shown["warnings"]) == (None, None, True, [])
    assert "claim  none\nlast   none\nready  yes\n" in scene.run(f"show {T2}", ok=True).out


def test_a_finished_task(scene: Scene) -> None:
    scene.run(f"claim {T1}", ok=True)
    scene.run("release --done", ok=True)
    shown = scene.claims(f"show {T1}")
    assert (shown["claim"]["state"], shown["last"]["closed"]["outcome"]) == ("finished", "done")
    assert [reason["code"] for reason in shown["reasons"]] == ["finished-elsewhere"]
    assert (shown["claim"]["merged"], scene.claims("status")["finished"][0]["merged"]) == (False, False)
    assert "finished, not merged yet:\n" in scene.run("status", ok=True).out
    scene.change(moved(scene.arbiter.cat(f"main:{task_path(T1)}").decode(), "done") | {task_path(T1): None})
    shown = scene.claims(f"show {T1}")
    assert (shown["claim"]["merged"], scene.claims("status")["finished"][0]["merged"]) == (True, True)
    assert [reason["code"] for reason in shown["reasons"]] == ["task-not-queued", "finished-elsewhere"]
    for line in (f"show {T1}", "status"):
        said = scene.run(line, ok=True).out
        assert "merged: swarm reap clears it" in said and "not merged" not in said
    assert scene.refused(f"steal {T1}")["hint"] == "swarm reap"
    scene.run("reap", ok=True)
    assert scene.claims("status")["finished"] == []
    shown = scene.claims(f"show {T1}")
    assert (shown["state"], shown["claim"], shown["path"]) == ("done", None, f".agents/tasks/done/{T1}.md")


def test_what_is_left_of_a_claim_that_ended_is_no_claim(scene: Scene) -> None:
    """Torn: the log says how it ended, and its ref is still there."""
    scene.run(f"claim {T1}", ok=True)
    blob = scene.arbiter.oid(f"refs/swarm/task-claims/{T1}")
    scene.run("release", ok=True)
    scene.arbiter.git("update-ref", f"refs/swarm/task-claims/{T1}", str(blob))
    shown = scene.claims(f"show {T1}")
    assert (shown["claim"], shown["ready"]) == (None, True)
    scene.run(f"claim {T1}", ok=True)


def test_a_claim_that_does_not_read_is_shown_as_such(scene: Scene) -> None:
    scene.forge_blob(T1, "junk")
    shown = scene.claims(f"show {T1}")
    assert (shown["claim"]["state"], shown["ready"]) == ("malformed", False)
    assert "MALFORMED" in scene.run(f"show {T1}", ok=True).out


@pytest.mark.parametrize("state", ["blocked", "done", "failed", "cancelled", "backlog"])
def test_a_task_in_any_state_can_be_shown(state: str, tmp_path: Path) -> None:
    text = task_file(T4, status=state)
    scene = alone(tmp_path, board_files([text]))
    shown: dict[str, Any] = scene.claims(f"show {T4}")
    assert (shown["state"], shown["path"], shown["file"]) == (state, task_path(text), text)
    assert [reason["code"] for reason in shown["reasons"]] == ["task-not-queued"]


def test_a_task_that_is_gone_is_known_by_its_log(scene: Scene) -> None:
    assert scene.refused(f"show {T4}")["code"] == "task-unknown"
    write_log(scene.arbiter, [Ended(T4, 1, reason="gone since")])
    shown = scene.claims(f"show {T4}")
    assert (shown["state"], shown["file"], shown["last"]["closed"]["reason"]) == (None, None, "gone since")
    assert "state  not on base\n" in scene.run(f"show {T4}", ok=True).out


def test_a_shortened_id_has_to_be_one(scene: Scene) -> None:
    error = scene.refused("show 0000")
    assert (error["code"], error["exit"], error["details"]["candidates"]) == ("ambiguous-id", 64, [T1, T2, T3])
    assert scene.refused("show abcd")["code"] == "task-unknown"
    assert scene.claims("show 00000003")["task"] == T3
