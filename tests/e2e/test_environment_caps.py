"""Caps and their slots, one claim an agent, and overlaps: what configuration allows to happen at the same time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.scene import CLAIM, SOURCES, T1, T2, T3, T4, Scene, alone, slot_ref, stage
from tests.support.board import task_file, task_id

SLOTS = [f"wip:implementation:{number}" for number in (1, 2, 3)]
TASKS = [task_id(number) for number in range(0x10, 0x16)]


def capped(folder: Path, **config: Any) -> Scene:
    """A board with plenty of tasks that share nothing."""
    scene = stage(folder)
    scene.put(*(task_file(task, paths=[f"{task}/"]) for task in TASKS), config=config)
    return scene


def claim(scene: Scene, task: str, agent: str) -> dict[str, Any]:
    """On a branch of the agent's."""
    return scene.claims(f"claim {task} --agent {agent} --branch of-{agent}")


def taken(scene: Scene) -> list[str]:
    refs = scene.arbiter.refs("refs/swarm/slots/")
    return [slot for slot in (*SLOTS, *(f"agent:a{n}" for n in range(5))) if slot_ref(slot) in refs]


def test_slots_are_taken_from_the_lowest_and_freed(tmp_path: Path) -> None:
    scene = capped(tmp_path, wip={"implementation": 3})
    for number, task in enumerate(TASKS[:3]):
        assert claim(scene, task, f"a{number}")["slots"] == [SLOTS[number]]
    error = scene.refused(f"claim {TASKS[3]} --agent a3")
    assert (error["code"], error["details"]) == (
        "wip-limit",
        {"kind": "implementation", "cap": 3, "held": TASKS[:3]},
    )
    scene.run(f"release {TASKS[1]} --agent a1", ok=True)
    assert taken(scene) == [SLOTS[0], SLOTS[2]]
    assert claim(scene, TASKS[3], "a3")["slots"] == [SLOTS[1]]
    scene.run(f"release {TASKS[0]} --agent a0 --done", ok=True)
    assert claim(scene, TASKS[4], "a4")["slots"] == [SLOTS[0]], "what is finished holds no slot"
    assert taken(scene) == SLOTS


def test_a_claim_without_a_slot_counts_too(tmp_path: Path) -> None:
    """Other tools, and claims from before there was a cap."""
    scene = capped(tmp_path, wip={"implementation": 2})
    scene.forge(TASKS[0])
    assert claim(scene, TASKS[1], "a1")["slots"] == [SLOTS[0]]
    assert scene.refused(f"claim {TASKS[2]}")["code"] == "wip-limit"
    scene.vacate(TASKS[0])
    scene.run(f"claim {TASKS[2]}", ok=True)


def test_every_kind_has_a_cap_of_its_own(tmp_path: Path) -> None:
    scene = capped(tmp_path, wip={"implementation": 1, "planning": 1})
    kinds = {T1: "planning", T2: "amendment", T3: "planning", T4: "implementation"}
    scene.put(*(task_file(task, kind=kind, paths=[f"{task}/"]) for task, kind in kinds.items()))
    assert claim(scene, T1, "a1")["slots"] == ["wip:planning:1"]
    assert "slots" not in claim(scene, T2, "a2"), "a kind without a cap takes no slot"
    assert scene.refused(f"claim {T3} --agent a3")["details"]["kind"] == "planning"
    assert claim(scene, T4, "a4")["slots"] == [SLOTS[0]]


def test_a_cap_of_none(tmp_path: Path) -> None:
    scene = capped(tmp_path, wip={"implementation": 0})
    assert scene.refused(f"claim {TASKS[0]}")["details"]["cap"] == 0
    assert scene.arbiter.refs() == {}


def test_a_thief_keeps_the_slot(tmp_path: Path) -> None:
    scene = capped(tmp_path, wip={"implementation": 1}, one_claim_per_agent=True)
    claim(scene, TASKS[0], "a1")
    scene.run(f"renew {TASKS[0]} --agent a1 --minutes 0", ok=True)
    stolen = scene.claims(f"steal {TASKS[0]} --agent a2")
    assert stolen["slots"] == ["agent:a2", SLOTS[0]]
    assert taken(scene) == [SLOTS[0], "agent:a2"], "the other agent's own slot is free"
    assert scene.refused(f"claim {TASKS[1]} --agent a1 --branch b")["code"] == "wip-limit"


def test_what_an_expired_claim_keeps_until_it_is_reaped(tmp_path: Path) -> None:
    scene = capped(tmp_path, wip={"implementation": 1}, one_claim_per_agent=True)
    claim(scene, TASKS[0], "a1")
    scene.run(f"renew {TASKS[0]} --agent a1 --minutes 0", ok=True)
    reasons = scene.refused(f"claim {TASKS[1]} --agent a1")["details"]["reasons"]
    assert [(it["code"], it["hint"]) for it in reasons] == [("wip-limit", "swarm reap"), ("agent-busy", "swarm reap")]
    scene.run("reap", ok=True)
    assert claim(scene, TASKS[1], "a1")["slots"] == ["agent:a1", SLOTS[0]]


def test_one_claim_an_agent_holds_across_clones_and_kinds(tmp_path: Path) -> None:
    scene = capped(tmp_path, one_claim_per_agent=True)
    there = scene.second()
    scene.run(f"claim {TASKS[0]}", ok=True)
    error = scene.refused(f"claim {TASKS[1]} --agent a1", at=there)
    assert (error["code"], error["details"]["task"]) == ("agent-busy", TASKS[0])
    assert scene.claims(f"claim {TASKS[0]}")["already"]
    scene.run("release --done", ok=True)
    scene.run(f"claim {TASKS[1]} --agent a1", at=there, ok=True)


def test_without_caps_nothing_of_this_applies(tmp_path: Path) -> None:
    scene = capped(tmp_path)
    for number, task in enumerate(TASKS):
        scene.run(f"claim {task} --branch b{number}", ok=True)
    assert taken(scene) == []
    assert sorted(scene.arbiter.refs()) == [CLAIM + task for task in TASKS]


def overlaps(value: dict[str, Any]) -> list[tuple[str, str, list[str], int]]:
    found = [it["details"] for it in value["warnings"] if it["code"] == "overlap"]
    return [(it["other"], it["agent"], it["paths"], it["more"]) for it in found]


@pytest.mark.parametrize("build", [stage, alone])
def test_an_overlap_is_told_to_both(build: Any, tmp_path: Path) -> None:
    scene: Scene = build(tmp_path)
    scene.put(task_file(T3, paths=["src/b.py"]))
    scene.forge(T3, branch="other")
    assert overlaps(scene.claims(f"claim {T1}")) == [(T3, "b1", ["src/b.py"], 0)]
    assert overlaps(scene.claims("renew")) == [(T3, "b1", ["src/b.py"], 0)]
    said = scene.run("check", ok=True).err
    assert f"warning[overlap]: {T1} shares files with {T3}, held by b1 on other: src/b.py\n" in said
    assert [(it["task"], it["other"]) for it in scene.claims("status")["overlaps"]] == [(T1, T3)]


def test_an_overlap_names_ten_paths_and_how_many_more(tmp_path: Path) -> None:
    scene = stage(tmp_path)
    files = {f"lib/{number:02}.py": "x\n" for number in range(15)}
    scene.change({**files, **SOURCES})
    scene.put(task_file(T1, paths=["lib/"]), task_file(T2, paths=["lib/*.py", "docs/"]))
    scene.forge(T2)
    assert overlaps(scene.claims(f"claim {T1}")) == [(T2, "b1", sorted(files)[:10], 5)]


def test_an_overlap_of_files_that_are_not_there_yet(tmp_path: Path) -> None:
    scene = stage(tmp_path)
    scene.put(task_file(T1, paths=["new/*.py"]), task_file(T2, paths=["new/a*", "docs/"]))
    scene.forge(T2)
    (warning,) = scene.claims(f"claim {T1}")["warnings"]
    assert (warning["details"]["paths"], warning["details"]["patterns"]) == ([], [["new/*.py", "new/a*"]])


def test_no_overlap_with_the_expired_the_finished_and_those_that_share_nothing(tmp_path: Path) -> None:
    scene = stage(tmp_path)
    scene.put(task_file(T3, paths=["src/b.py"]), config={"overlap": "refuse"})
    scene.forge(T2)
    scene.forge(T3, minutes=-1)
    assert scene.claims(f"claim {T1}")["warnings"] == []
    assert scene.claims("status")["overlaps"] == []


def test_refusing_overlaps_says_with_whom(tmp_path: Path) -> None:
    scene = stage(tmp_path)
    scene.put(task_file(T3, paths=["src/b.py"]), config={"overlap": "refuse"})
    scene.forge(T3)
    error = scene.refused(f"claim {T1}")
    assert (error["code"], error["exit"], error["details"]["other"]) == ("overlap", 2, T3)
    assert error["details"]["paths"] == ["src/b.py"]
    scene.forge(T1, minutes=-1)
    assert scene.refused(f"steal {T1}")["code"] == "overlap"
    scene.vacate(T3)
    assert scene.claims(f"steal {T1}")["warnings"] == []


def test_work_before_the_claim_is_told(tmp_path: Path) -> None:
    """By claim, again by check, and with a command that makes it good."""
    scene = stage(tmp_path)
    scene.here.commit({"src/a.py": "early\n"})
    (warning,) = scene.claims(f"claim {T1}")["warnings"]
    hint = warning["details"].pop("hint")
    assert (warning["code"], warning["details"]) == ("work-before-claim", {"branch": "work", "commits": 1})
    assert warning["message"].endswith(f"claim afresh: {hint}")
    scene.here.commit({"src/b.py": "late\n"})
    (again,) = scene.claims("check")["warnings"]
    assert (again["code"], again["details"]["commits"], again["details"]["hint"]) == ("work-before-claim", 1, hint)
    scene.run("release --reason 'needs a decision'", ok=True)
    codes = [it["code"] for it in scene.claims(f"claim {T1}")["warnings"]]
    assert codes == ["work-before-claim", "last-release"]
    assert scene.claims(f"claim {T1}")["already"]
    scene.shell(hint)
    assert (scene.claims("check")["branch"], scene.claims("check")["warnings"]) == ("work-2", [])
    assert scene.here.cat("work-2:src/a.py") + scene.here.cat("work-2:src/b.py") == b"early\nlate\n"


def test_work_since_the_first_claim_is_none_before_it(tmp_path: Path) -> None:
    scene = stage(tmp_path)
    scene.run(f"claim {T1}", ok=True)
    scene.here.commit({"src/a.py": "in time\n"})
    scene.run("release", ok=True)
    assert scene.claims(f"claim {T1}")["warnings"] == []
    assert scene.claims("check")["warnings"] == []


@pytest.mark.parametrize("line", ["check", f"release {T1} --done"])
def test_what_is_not_committed_is_told(line: str, tmp_path: Path) -> None:
    scene = stage(tmp_path)
    scene.run(f"claim {T1}", ok=True)
    assert "uncommitted" not in [it["code"] for it in scene.claims("check")["warnings"]]
    (scene.here.path / "src/a.py").write_text("changed\n")
    (scene.here.path / "new file").touch()
    told = next(it for it in scene.claims(line)["warnings"] if it["code"] == "uncommitted")
    assert told["details"] == {"branch": "work", "changed": ["src/a.py"], "untracked": ["new file"]}
    assert told["message"].endswith(": 1 changed and 1 untracked: src/a.py, new file")


def test_the_working_tree_of_another_branch_does_not_count(tmp_path: Path) -> None:
    scene = stage(tmp_path)
    scene.run(f"claim {T1}", ok=True)
    scene.here.git("switch", "-q", "-c", "another")
    (scene.here.path / "new file").touch()
    assert scene.claims(f"check {T1} --branch work")["warnings"] == []
