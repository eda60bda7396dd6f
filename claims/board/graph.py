"""What waits for what, over the whole board."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from claims.board.plan import Manifest
from claims.board.task import Task
from claims.names import TaskId


def edges(tasks: Iterable[Task], manifest: Manifest | None) -> dict[TaskId, tuple[TaskId, ...]]:
    """What each task waits for: its `depends_on` and, for an integration task, every task of its milestone."""
    waits = {task.id: task.depends_on for task in tasks}
    for stone in manifest.milestones if manifest else ():
        if stone.integration is not None:
            own = waits.get(stone.integration, ())
            waits[stone.integration] = tuple(dict.fromkeys((*own, *stone.tasks)))
    return waits


def cycles(graph: Mapping[TaskId, Sequence[TaskId]]) -> tuple[tuple[TaskId, ...], ...]:
    """The cycles, one of each knot: every task of it waits for the next, the last for the first.

    A knot is a set of tasks that all wait for each other. Each cycle begins at its smallest id; they are in order of
    that. Names that are no keys wait for nothing.
    """
    return tuple(sorted(_cycle_within(knot, graph) for knot in _knots(graph)))


def _knots(graph: Mapping[TaskId, Sequence[TaskId]]) -> list[set[TaskId]]:
    """The strongly connected components with a cycle in them (Tarjan's algorithm, with a stack of its own)."""
    index: dict[TaskId, int] = {}
    lowest: dict[TaskId, int] = {}
    path: list[TaskId] = []
    on_path: set[TaskId] = set()
    knots: list[set[TaskId]] = []
    for root in graph:
        if root in index:
            continue
        index[root] = lowest[root] = len(index)
        path.append(root)
        on_path.add(root)
        work = [(root, iter(graph[root]))]
        while work:
            node, targets = work[-1]
            for target in targets:
                if target not in graph:
                    continue
                if target not in index:
                    index[target] = lowest[target] = len(index)
                    path.append(target)
                    on_path.add(target)
                    work.append((target, iter(graph[target])))
                    break
                if target in on_path:
                    lowest[node] = min(lowest[node], index[target])
            else:
                work.pop()
                if work:
                    lowest[work[-1][0]] = min(lowest[work[-1][0]], lowest[node])
                if lowest[node] == index[node]:
                    knot = _pop_to(node, path, on_path)
                    if len(knot) > 1 or node in graph[node]:
                        knots.append(knot)
    return knots


def _pop_to(node: TaskId, path: list[TaskId], on_path: set[TaskId]) -> set[TaskId]:
    knot: set[TaskId] = set()
    while node not in knot:
        knot.add(path.pop())
    on_path -= knot
    return knot


def _cycle_within(knot: set[TaskId], graph: Mapping[TaskId, Sequence[TaskId]]) -> tuple[TaskId, ...]:
    """A shortest cycle through the knot's smallest task, found breadth first."""
    start = min(knot)
    came_from: dict[TaskId, TaskId] = {}
    level = [start]
    while level:
        following: list[TaskId] = []
        for node in level:
            for target in graph[node]:
                if target == start:
                    return _back_to(start, node, came_from)
                if target in knot and target not in came_from:
                    came_from[target] = node
                    following.append(target)
        level = following
    raise AssertionError("a knot has a cycle through each of its tasks")


def _back_to(start: TaskId, node: TaskId, came_from: Mapping[TaskId, TaskId]) -> tuple[TaskId, ...]:
    backwards = [node]
    while backwards[-1] != start:
        backwards.append(came_from[backwards[-1]])
    return tuple(reversed(backwards))
