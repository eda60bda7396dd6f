"""Gathering the evidence, once: from commits and claims to one immutable value. Nothing is decided here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from claims.board.board import Board
from claims.board.board import Entry as BoardEntry
from claims.board.node import MAX_FILE
from claims.board.plan import Manifest
from claims.board.task import State, Task, task_path
from claims.errors import SwarmError, Undecided
from claims.git import Objects
from claims.git_tree import parse_tree
from claims.names import ObjectId, TaskId, parse_task_id
from gate.evidence import BaseBoard, Evidence, Facts, Records, Subject
from gate.judged import TASKS, is_new_proposal
from gate.landing import Commit, Landing, compute, nothing_lands
from gate.paths import Judged, paths_to_judge
from gate.repository import MORE_HISTORY, GateRepository
from gate.rules.entries_ordinary import resolved
from gate.tree import LINK, Change, Entry, folders_of
from gate.trees import MAX_TREE, Trees

_MAX_LINK = 4096
_QUEUED = TASKS + b"queued/"
_DONE = TASKS + b"done/"

ReadRecords = Callable[[TaskId], Records]


def gather(
    repository: GateRepository,
    facts: Facts,
    base: ObjectId,
    head: ObjectId,
    read_records: ReadRecords,
    merge_ref: Commit | None = None,
) -> Evidence:
    """Everything the rules see. Raises NoLanding, and Undecided where something cannot be read or exceeds a limit."""
    landing = compute(repository, base, head, merge_ref)
    objects, trees = repository.objects, repository.trees
    board = Board(base, _CommitTree(objects, base))
    task = _subject_id(landing)
    board.prefetch(*([task] if task is not None else []))
    base_board = _base_board(board)
    judged = paths_to_judge(landing, base_board.config.gate.history)
    if not judged:
        raise nothing_lands(landing)
    subject = _subject(repository, board, base_board.manifest, landing, task) if task is not None else None
    records = read_records(task) if task is not None else None
    links = _link_targets(objects, judged)
    return Evidence(
        facts=facts,
        landing=landing,
        judged=judged,
        board=base_board,
        subject=subject,
        records=records,
        in_base_history=repository.is_in_history(_named_commits(records), base),
        link_targets=links,
        links_passed=_links_passed(trees, landing.tree, links),
        folders=_folders(trees, landing.tree, judged),
        proposals=_proposals(objects, judged),
        odd_trees=tuple(trees.malformed(landing.base_tree, landing.tree)),
    )


class _CommitTree:
    """The board's TreeReader over the gate's own objects."""

    def __init__(self, objects: Objects, commit: ObjectId) -> None:
        self._objects, self._commit = objects, commit

    def list(self, folder: str) -> tuple[BoardEntry, ...] | None:
        raw = self._objects.contents([f"{self._commit}:{folder}"], type="tree", limit=MAX_TREE)[0]
        return None if raw is None else parse_tree(raw, len(self._commit) // 2)

    def read(self, paths: Sequence[str]) -> Sequence[bytes | None]:
        return self._objects.contents([f"{self._commit}:{path}" for path in paths], type="blob", limit=MAX_FILE)

    def exists(self, paths: Sequence[str]) -> Sequence[bool]:
        return [info is not None for info in self._objects.info([f"{self._commit}:{path}" for path in paths])]


def _subject_id(landing: Landing) -> TaskId | None:
    """The task that a pull request is about: the one that lands in done/, else the one that leaves queued/.

    None where there is none, or where there are several: `one-task` says so.
    """
    arriving = _tasks_in(landing.landed, _DONE, lambda change: change.after is not None)
    leaving = _tasks_in(landing.landed, _QUEUED, lambda change: change.after is None)
    both = [task for task in arriving if task in leaving]
    for found in (both, arriving, leaving):
        if len(found) == 1:
            return found[0]
    return None


def _tasks_in(changes: Iterable[Change], folder: bytes, wanted: Callable[[Change], bool]) -> list[TaskId]:
    found: list[TaskId] = []
    for change in changes:
        name = change.path[len(folder) :]
        if change.path.startswith(folder) and name.endswith(b".md") and wanted(change):
            try:
                found.append(parse_task_id(name[:-3].decode("ascii")))
            except ValueError:
                continue  # not a task's name: one-task finds it
    return found


def _base_board(board: Board) -> BaseBoard:
    """Raises Undecided `malformed-config`: without the configuration nothing can be judged."""
    faults: list[SwarmError] = []
    config = board.config
    plan = manifest = None
    try:
        plan = board.plan
    except Undecided as fault:
        faults.append(fault)
    try:
        manifest = board.manifest
    except Undecided as fault:
        faults.append(fault)
    return BaseBoard(config, plan, manifest, tuple(faults))


def _subject(
    repository: GateRepository, board: Board, manifest: Manifest | None, landing: Landing, task: TaskId
) -> Subject:
    objects = repository.objects
    places = board.places_of([task])[task]
    base: Task | None = None
    fault: SwarmError | None = None
    base_file: bytes | None = None
    if State.QUEUED in places:
        queued = f"{landing.base}:{task_path(task, State.QUEUED)}"
        base_file = objects.contents([queued], type="blob", limit=MAX_FILE)[0]
        try:
            base = board.task(task, State.QUEUED)
        except Undecided as broken:
            fault = broken
    done = task_path(task, State.DONE).encode("ascii")
    entry = repository.trees.at(landing.tree, done)
    landed_file, size = _blob(objects, entry)
    needed = _needed(base, manifest, task)
    return Subject(
        task, places, base, base_file, fault, entry, landed_file, size, board.states_of(needed) if needed else {}
    )


def _needed(task: Task | None, manifest: Manifest | None, subject: TaskId) -> list[TaskId]:
    if task is None:
        return []
    milestone = manifest.milestone_of(subject) if manifest is not None else None
    integrated = milestone.tasks if milestone is not None and milestone.integration == subject else ()
    return list(dict.fromkeys([*task.depends_on, *(other for other in integrated if other != subject)]))


def _blob(objects: Objects, entry: Entry | None) -> tuple[bytes | None, int]:
    """A small blob's bytes and size; None for what is no blob. Raises `limits-exceeded` for a large one."""
    if entry is None:
        return None, 0
    info = objects.info([entry.id])[0]
    if info is None or info.type != "blob":
        return None, 0
    return objects.contents([entry.id], type="blob", limit=MAX_FILE)[0], info.size


def _named_commits(records: Records | None) -> list[ObjectId]:
    if records is None:
        return []
    entries = [*records.log, *records.archived, *([records.at] if records.at is not None else [])]
    claims = [entry.claim for entry in entries if entry.claim is not None]
    named = [commit for claim in claims for commit in (claim.base_commit, claim.branch_commit) if commit is not None]
    return list(dict.fromkeys(named))


def _link_targets(objects: Objects, judged: Iterable[Judged]) -> dict[bytes, bytes]:
    """Where every added or changed link leads; one too long to be a path leads to `/`, which is outside."""
    afters = {one.path: one.change.after for one in judged}
    links = {path: after.id for path, after in afters.items() if after is not None and after.mode == LINK}
    infos = dict(zip(links, objects.info(list(links.values())), strict=True))
    for info in infos.values():
        if info is None or info.type != "blob":
            raise Undecided("evidence-incomplete", "the target of a link is not here", MORE_HISTORY)
    short = {path: info.id for path, info in infos.items() if info is not None and info.size <= _MAX_LINK}
    read = objects.contents(list(short.values()), type="blob", limit=_MAX_LINK)
    return {**dict.fromkeys(links, b"/"), **{path: data or b"/" for path, data in zip(short, read, strict=True)}}


def _links_passed(trees: Trees, tree: ObjectId, links: Mapping[bytes, bytes]) -> frozenset[bytes]:
    """The targets on whose way, or at whose place, the landing tree has another link."""
    passed: set[bytes] = set()
    for path, target in links.items():
        leads_to = resolved(path, target)
        if leads_to is None:
            continue
        for step in [*folders_of(leads_to)[1:], leads_to]:
            entry = trees.at(tree, step)
            if entry is not None and entry.mode == LINK:
                passed.add(leads_to)
    return frozenset(passed)


def _folders(trees: Trees, tree: ObjectId, judged: Iterable[Judged]) -> dict[bytes, frozenset[bytes]]:
    """The names in every folder of the landing tree that a path which base lacks lies in or below."""
    new = {one.path for one in judged if one.change.before is None and one.change.after is not None}
    trees.load_paths(tree, new)
    return {
        folder: trees.names_in(tree, folder) for folder in sorted({one for path in new for one in folders_of(path)})
    }


def _proposals(objects: Objects, judged: Iterable[Judged]) -> dict[bytes, bytes | None]:
    new = {one.path: one.change.after.id for one in judged if one.change.after is not None and is_new_proposal(one)}
    infos = dict(zip(new, objects.info(list(new.values())), strict=True))
    small = [path for path, info in infos.items() if info is not None and info.type == "blob" and info.size <= MAX_FILE]
    read = objects.contents([new[path] for path in small], type="blob", limit=MAX_FILE)
    return {**dict.fromkeys(new), **dict(zip(small, read, strict=True))}
