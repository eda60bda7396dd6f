"""Reading what base says about a task, for admission to decide on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from claims.admission import Candidate, Only
from claims.board.board import Board
from claims.board.config import Config
from claims.board.plan import Manifest
from claims.board.task import Kind, State, Task
from claims.errors import SwarmError, Undecided
from claims.ledger import Ledger
from claims.names import TaskId

T = TypeVar("T")


def read_candidate(
    board: Board, task: TaskId, elsewhere: Callable[[TaskId], Only | None] = lambda _: None
) -> Candidate:
    """One task and the conditions of claiming it, in two batches at most. What does not read is a fault of it.

    `elsewhere` is asked only where base has no such task. Raises Undecided `malformed-config`: without the
    configuration nothing can be decided.
    """
    board.prefetch(task)
    return candidate_of(board, task, elsewhere)


def candidate_of(board: Board, task: TaskId, elsewhere: Callable[[TaskId], Only | None] = lambda _: None) -> Candidate:
    """The same for a board whose files were fetched before."""
    config = board.config
    faults: list[SwarmError] = []
    places = board.places_of([task])[task]
    # A task that base has finished stays so, whatever else lies about; other doubles are a broken board.
    state = places[0] if places else None
    queued: Task | None = None
    if state is State.QUEUED:
        if len(places) > 1:
            faults.append(_in_two_places(task, places))
        queued = _or_fault(lambda: board.task(task, State.QUEUED), faults)
    plan = _or_fault(lambda: board.plan, faults)
    manifest = _or_fault(lambda: board.manifest, faults)
    needed = _needed(queued, manifest)
    return Candidate(
        id=task,
        state=state,
        task=queued,
        dependencies=board.states_of(needed) if needed else {},
        plan=plan,
        manifest=manifest,
        config=config,
        faults=tuple(faults),
        only=elsewhere(task) if state is None else None,
    )


def kinds_of_held(board: Board, ledger: Ledger, config: Config) -> dict[TaskId, Kind]:
    """The kinds of the held claims that have no slot to tell it, read from base where a cap asks for them."""
    if not config.wip:
        return {}
    tasks = [
        entry.claim.task
        for entry in ledger.held()
        if entry.claim is not None and not any(slot.startswith("wip:") for slot in entry.claim.slots)
    ]
    found = board.tasks({task: state for task, state in board.states_of(tasks).items() if state is not None})
    return {task: read.kind for task, read in found.items() if isinstance(read, Task)}


def _needed(task: Task | None, manifest: Manifest | None) -> list[TaskId]:
    if task is None:
        return []
    milestone = manifest.milestone_of(task.id) if manifest is not None else None
    integrated: Iterable[TaskId] = milestone.tasks if milestone is not None and milestone.integration == task.id else ()
    return list(dict.fromkeys([*task.depends_on, *(other for other in integrated if other != task.id)]))


def _or_fault(read: Callable[[], T], faults: list[SwarmError]) -> T | None:
    try:
        return read()
    except Undecided as fault:
        faults.append(fault)
        return None


def _in_two_places(task: TaskId, places: Iterable[State]) -> SwarmError:
    folders = ", ".join(place.folder for place in places)
    return Undecided("malformed-task", f"{task} stands in several folders on base: {folders}", "swarm-gate board")
