from __future__ import annotations

from typing import Any

import pytest
from ruamel.yaml import YAML

from claims.board.config import parse_config
from claims.board.plan import parse_manifest, parse_plan
from claims.board.task import parse_task
from tests.support import board


def _front(text: str) -> Any:
    return YAML(typ="safe", pure=True).load(text.split("---\n")[1] if text.startswith("---") else text)


@pytest.mark.parametrize("status", [*board.STATES, "backlog"])
def test_a_task_goes_where_its_status_says(status: str) -> None:
    task = board.task_file(board.task_id(10), status=status)
    folder = "backlog" if status == "backlog" else f"tasks/{status}"
    assert board.board_files([task])[f".agents/{folder}/T-20260814-0000000a.md"] == task
    keys = {"id", "title", "status", "classification", "authority"}
    assert set(_front(task)) == keys | ({"failure"} if status == "failed" else set())


def test_what_is_written_reads_back() -> None:
    awkward = [
        "no",
        "12e4",
        "a: b",
        "# c",
        'say "ü"',
        " blank ",
        "*",
        "",
        "src/**/test_*.py",
        "app/[id]/page.tsx",
    ]
    task = board.task_file(
        "T-20260814-00000001",
        title="Fix: it",
        paths=awkward,
        locks=["a", "b:c"],
        acceptance=awkward,
        result=None,
    )
    read = _front(task)
    assert (read["authority"], read["acceptance"]) == ({"paths": awkward}, awkward)
    assert (read["title"], read["locks"], read["result"]) == ("Fix: it", ["a", "b:c"], None)
    milestones = [
        board.milestone("m1", ["T-20260814-00000001"], integration="T-20260814-00000002"),
        {"id": "m2"},
    ]
    config = {
        "lease_minutes": 5,
        "one_claim_per_agent": True,
        "gate": {"operators": [{"login": "octocat", "id": 1}]},
    }
    files = board.board_files(plan=7, manifest=milestones, config=config)
    assert _front(files[".agents/plan.md"]) == {"revision": 7, "status": "approved"}
    assert _front(files[".agents/manifest.yaml"]) == {"plan_revision": 7, "milestones": milestones}
    assert _front(files[".agents/swarm.yaml"]) == config


def test_a_board_without_a_plan_has_its_folders() -> None:
    assert sorted(board.board_files()) == [f".agents/tasks/{state}/.gitkeep" for state in sorted(board.STATES)]


def test_moving_changes_the_folder_and_the_status() -> None:
    task = board.task_file(board.task_id(1))
    edit = board.moved(task, "done", completed_by="a1")
    assert edit.pop(".agents/tasks/queued/T-20260814-00000001.md") is None
    (after,) = edit.values()
    assert after is not None
    assert _front(after) == _front(task) | {"status": "done", "completed_by": "a1"}


def test_the_product_reads_what_is_written() -> None:
    states = [*board.STATES, "backlog"]
    ids = [board.task_id(number) for number, _ in enumerate(states)]
    tasks = [board.task_file(id, status=state, locks=["a:b"]) for id, state in zip(ids, states, strict=True)]
    milestones = [board.milestone("m1", ids[:1], integration=ids[1])]
    files = board.board_files(tasks, plan=3, manifest=milestones, config={"wip": {"implementation": 2}})
    read = [parse_task(files[path].encode(), path) for path in map(board.task_path, tasks)]
    assert [task.id for task in read] == ids
    revision = parse_plan(files[".agents/plan.md"].encode()).revision
    assert revision == parse_manifest(files[".agents/manifest.yaml"].encode()).plan_revision == 3
    assert parse_config(files[".agents/swarm.yaml"].encode())
    (after,) = [text for text in board.moved(tasks[0], "done").values() if text]
    assert parse_task(after.encode(), board.task_path(after)).id == ids[0]
