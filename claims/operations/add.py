"""`swarm add`: a new task in the working tree. It advises whoever plans; nothing is claimed or committed."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import TypeVar

from claims.board import graph
from claims.board.authority import MAX_PATTERNS, Pattern, is_protected, is_reserved, parse_pattern
from claims.board.board import Board
from claims.board.plan import MANIFEST_PATH, Manifest, MilestoneStatus, parse_manifest
from claims.board.task import Classification, Priority, State, Task, compose_task, task_path
from claims.board.worktree import WorkTree
from claims.board.yaml_files import add_task_to_milestone
from claims.errors import Conflict, Refused, SwarmError, Usage
from claims.git import printable
from claims.names import LockKey, TaskId, parse_lock_key
from claims.notice import Notice
from claims.operations.task_ids import the_one, whole_id
from claims.operations.writing import Replacement, alone_in, write
from claims.values import dataclass

T = TypeVar("T")

#: How often an id is drawn until one is free.
_DRAWS = 20


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the command line asked for, unparsed where a task's file has rules of its own."""

    title: str
    paths: tuple[str, ...]
    locks: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    classification: Classification = Classification.FEATURE
    priority: Priority = Priority.P2
    milestone: str | None = None
    backlog: bool = False


@dataclass(frozen=True, slots=True)
class Added:
    """The new task, its file from the root of the working tree, and what may stand in its way."""

    task: TaskId
    path: str
    notices: tuple[Notice, ...]


def add(top: Path, wanted: Wanted, today: date, draw: Callable[[], str]) -> Added:
    """Write the task's file and, where a milestone is named, its line in the manifest. `draw` gives eight hex digits.

    Raises Usage for what a task cannot hold and for a milestone that is not there; Refused `unknown-dependency` and
    `dependency-cycle`; Undecided where a file that it needs does not read. Nothing is written then.
    """
    if wanted.backlog and wanted.milestone is not None:
        message = "--backlog and --milestone: a milestone releases a task, and the backlog is not released"
        raise Usage("usage", message, "leave one of them out")
    with alone_in(top):
        return _add(top, wanted, today, draw)


def _add(top: Path, wanted: Wanted, today: date, draw: Callable[[], str]) -> Added:
    tree = WorkTree(os.fspath(top))
    board = Board(None, tree)
    task = _free_id(board, today, draw)
    depends_on = tuple(dict.fromkeys(_dependency(board, text) for text in wanted.depends_on))
    state = State.BACKLOG if wanted.backlog else State.QUEUED
    patterns = _patterns(wanted.paths)
    data = _compose(wanted, task, state, depends_on)
    listing = _listing(tree, wanted.milestone, task)
    manifest = parse_manifest(listing.new) if listing is not None else board.manifest
    _refuse_cycles(board, manifest, task, depends_on)
    notices = (
        *_incomplete(tree),
        *_unreleased(manifest, task, wanted),
        *_never_done(board, depends_on),
        *_protected(patterns, board.config.gate.protected),
    )
    path = task_path(task, state)
    write(top, {path: data}, {MANIFEST_PATH: listing} if listing is not None else {})
    return Added(task, path, notices)


def _free_id(board: Board, today: date, draw: Callable[[], str]) -> TaskId:
    drawn = [TaskId(f"T-{today:%Y%m%d}-{draw()}") for _ in range(_DRAWS)]
    for task, places in board.places_of(drawn).items():
        if not places:
            return task
    raise Conflict("busy", f"{_DRAWS} ids were drawn for {today}, and all are taken", "run the command again")


def _dependency(board: Board, text: str) -> TaskId:
    """The task of the working tree that was meant."""
    whole = whole_id(text)
    if whole is not None:
        found = whole if board.places_of([whole])[whole] else None
    else:
        found = the_one(text, [task for state in State for task in board.ids_in(state)])
    if found is None:
        message = f"--depends-on {printable(text)}: there is no such task in this working tree"
        raise Refused("unknown-dependency", message, "swarm tasks   # lists those on base, which may be newer")
    return found


def _patterns(texts: Sequence[str]) -> list[Pattern]:
    if len(texts) > MAX_PATTERNS:
        raise Usage("usage", f"{len(texts)} paths; a task may name {MAX_PATTERNS}", "name folders, or use patterns")
    patterns = [_said("--path", parse_pattern, text) for text in texts]
    for pattern in patterns:
        if is_reserved(_fixed_part(pattern)):
            message = f"--path {printable(pattern.text)}: .agents/ is reserved, no task may touch it"
            raise Usage("usage", message, "swarm add --help")
    return patterns


def _fixed_part(pattern: Pattern) -> bytes:
    """The folders of a pattern, or its file, before the first segment with a wildcard."""
    segments = pattern.text.rstrip("/").split("/")
    fixed = itertools.takewhile(lambda segment: "*" not in segment and "?" not in segment, segments)
    return "/".join(fixed).encode()


def _compose(wanted: Wanted, task: TaskId, state: State, depends_on: Sequence[TaskId]) -> bytes:
    locks: list[LockKey] = [_said("--lock", parse_lock_key, text) for text in wanted.locks]
    try:
        return compose_task(
            id=task,
            title=wanted.title,
            paths=wanted.paths,
            state=state,
            classification=wanted.classification,
            priority=wanted.priority,
            depends_on=depends_on,
            locks=locks,
        )
    except ValueError as refused:
        raise Usage("usage", printable(str(refused)), "swarm add --help") from None


def _said(option: str, parse: Callable[[str], T], text: str) -> T:
    try:
        return parse(text)
    except ValueError as refused:
        raise Usage("usage", f"{option}: {printable(str(refused))}", "swarm add --help") from None


def _listing(tree: WorkTree, milestone: str | None, task: TaskId) -> Replacement | None:
    """The manifest with the task in a milestone. Raises Usage where there is no such milestone."""
    if milestone is None:
        return None
    old = tree.read([MANIFEST_PATH])[0]
    if old is None:
        raise Usage("usage", f"--milestone {printable(milestone)}: there is no {MANIFEST_PATH}", "swarm init")
    parse_manifest(old)
    return Replacement(old, add_task_to_milestone(old, milestone, task, MANIFEST_PATH))


def _refuse_cycles(board: Board, manifest: Manifest | None, task: TaskId, depends_on: Sequence[TaskId]) -> None:
    """Raise Refused `dependency-cycle` where the task, or what it waits for, would wait for itself."""
    found = graph.cycles(_waits(board, manifest, task, depends_on))
    if not found:
        return
    cycle = next((one for one in found if task in one), found[0])
    raise Refused(
        "dependency-cycle",
        f"{' waits for '.join([*cycle, cycle[0]])}, so none of them could be claimed",
        "leave out one of --depends-on, or mend the tasks that it leads to",
        {"cycle": list(cycle)},
    )


def _waits(
    board: Board, manifest: Manifest | None, task: TaskId, depends_on: Sequence[TaskId]
) -> dict[TaskId, Sequence[TaskId]]:
    """What the task waits for, and what that waits for, and so on: no other part of the board is read."""
    integrated = {stone.integration: stone.tasks for stone in (manifest.milestones if manifest else ())}
    waits: dict[TaskId, Sequence[TaskId]] = {task: depends_on}
    following = list(depends_on)
    while following:
        places = {one: state for one, state in board.states_of(following).items() if state is not None}
        for one, read in board.tasks(places).items():
            waits[one] = (*_depends_on(read), *integrated.get(one, ()))
        reached = dict.fromkeys(target for one in places for target in waits[one])
        following = [one for one in reached if one not in waits]
    return waits


def _depends_on(read: Task | SwarmError) -> Sequence[TaskId]:
    if isinstance(read, SwarmError):
        raise read
    return read.depends_on


def _incomplete(tree: WorkTree) -> Iterator[Notice]:
    paths = [f"{state.folder}/.gitkeep" for state in State if state is not State.BACKLOG]
    missing = [path for path, there in zip(paths, tree.exists(paths), strict=True) if not there]
    if missing:
        message = f"the board has no {', '.join(missing)}; without them git takes moved tasks for renamed folders"
        yield Notice("board-incomplete", f"{message}: swarm init writes what is missing", {"missing": missing})


def _unreleased(manifest: Manifest | None, task: TaskId, wanted: Wanted) -> Iterator[Notice]:
    """Where there is a plan, a queued task waits until a milestone that is active lists it."""
    if manifest is None or wanted.backlog:
        return
    stone = manifest.milestone_of(task)
    if stone is None:
        names = [one.id for one in manifest.milestones if one.status is MilestoneStatus.ACTIVE]
        message = f"{task} cannot be claimed until a milestone lists it"
        message += (
            f": swarm add --milestone {names[0]} does that, or do it by hand" if names else ", and none is active"
        )
        yield Notice("not-in-milestone", message, {"task": task, "milestones": names})
    elif stone.status is not MilestoneStatus.ACTIVE:
        message = f"{task} cannot be claimed while its milestone {stone.id} is {stone.status.value}"
        yield Notice("milestone-not-active", message, {"task": task, "milestone": stone.id})


def _never_done(board: Board, depends_on: Sequence[TaskId]) -> Iterator[Notice]:
    for other, state in board.states_of(depends_on).items():
        if state in (State.FAILED, State.CANCELLED):
            message = f"{other} is {state.value}: what depends on it can only be claimed once it is done"
            yield Notice("dependency-open", message, {"dependency": other, "state": state.value})


def _protected(patterns: Sequence[Pattern], extra: Sequence[Pattern]) -> Iterator[Notice]:
    for pattern in patterns:
        whole = not (pattern.text.endswith("/") or "*" in pattern.text or "?" in pattern.text)
        if not whole and is_protected(_fixed_part(pattern), extra):
            message = f"{printable(pattern.text)} grants nothing that is protected: name each such path in full"
            yield Notice("protected", message, {"pattern": pattern.text})
