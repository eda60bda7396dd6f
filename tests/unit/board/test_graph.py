"""Cycles over the whole board."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from claims.board.graph import cycles, edges
from claims.board.plan import parse_manifest
from claims.board.task import State, Task, compose_task, parse_task, task_path
from claims.names import TaskId


def ids(graph: Mapping[str, str]) -> dict[TaskId, Sequence[TaskId]]:
    """`{"a": "bc"}`: a waits for b and c."""
    return {TaskId(name): tuple(map(TaskId, targets)) for name, targets in graph.items()}


@pytest.mark.parametrize(
    ("graph", "found"),
    [
        ({}, []),
        ({"a": "b", "b": "c", "c": ""}, []),
        ({"a": "bc", "b": "d", "c": "d", "d": ""}, []),
        ({"a": "z"}, []),
        ({"a": "a"}, ["a"]),
        ({"a": "b", "b": "a"}, ["ab"]),
        ({"b": "a", "a": "b"}, ["ab"]),
        ({"a": "b", "b": "c", "c": "a"}, ["abc"]),
        ({"x": "a", "a": "b", "b": "c", "c": "ab"}, ["abc"]),
        ({"a": "b", "b": "a", "c": "d", "d": "c", "e": "ac"}, ["ab", "cd"]),
        ({"a": "bd", "b": "c", "c": "a", "d": "a"}, ["ad"]),
        ({"a": "b", "b": "cd", "c": "b", "d": ""}, ["bc"]),
    ],
)
def test_cycles(graph: Mapping[str, str], found: list[str]) -> None:
    assert ["".join(cycle) for cycle in cycles(ids(graph))] == found


def test_ten_thousand_tasks_in_a_row() -> None:
    """Deeper than Python's stack."""
    row = {TaskId(str(number)): (TaskId(str(number + 1)),) for number in range(10_000)}
    assert cycles(row) == ()
    ring = {**row, TaskId("10000"): (TaskId("0"),)}
    (cycle,) = cycles(ring)
    assert len(cycle) == 10_001


def test_ten_thousand_tasks_that_all_wait_for_one() -> None:
    star = {TaskId(str(number)): (TaskId("0"),) for number in range(1, 10_000)}
    assert cycles({**star, TaskId("0"): ()}) == ()
    assert cycles({**star, TaskId("0"): (TaskId("7"),)}) == (("0", "7"),)


def task(number: int, *depends_on: int) -> Task:
    id = TaskId(f"T-20260814-{number:08x}")
    others = [TaskId(f"T-20260814-{other:08x}") for other in depends_on]
    return parse_task(compose_task(id=id, title="x", paths=["x"], depends_on=others), task_path(id, State.QUEUED))


MANIFEST = b"""\
plan_revision: 1
milestones:
- id: m1
  title: x
  status: active
  tasks: [T-20260814-00000001, T-20260814-00000002]
  integration: T-20260814-0000000f
"""


def test_an_integration_task_waits_for_its_milestone() -> None:
    tasks = [task(1), task(2), task(15, 2)]
    graph = edges(tasks, parse_manifest(MANIFEST))
    assert graph[tasks[2].id] == (tasks[1].id, tasks[0].id)
    assert cycles(graph) == ()


def test_a_cycle_through_an_integration_task() -> None:
    tasks = [task(1, 15), task(2), task(15)]
    assert cycles(edges(tasks, parse_manifest(MANIFEST))) == ((tasks[0].id, tasks[2].id),)
    assert cycles(edges(tasks, None)) == ()


def test_a_milestone_that_names_tasks_which_are_nowhere() -> None:
    assert cycles(edges([task(1)], parse_manifest(MANIFEST))) == ()
