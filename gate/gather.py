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
from gate.judged import PROPOSALS, TASKS, Judged, is_new_proposal
from gate.landing import Commit, Landing, compute
from gate.repository import GateRepository
from gate.rules.entries_ordinary import resolved
from gate.tree import FOLDER, LINK, Change, Entry, folders_of

#: Records of one task that are looked at.
MAX_RECORDS = 1_000
_MAX_TREE = 64 * 1024 * 1024
_MAX_LINK = 4096
_QUEUED = TASKS + b"queued/"
_DONE = TASKS + b"done/"
_MODES = (0o100644, 0o100755, 0o120000, 0o160000, 0o040000)

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
    objects = repository.objects
    board = Board(base, _CommitTree(objects, base))
    task = _subject_id(landing)
    board.prefetch(*([task] if task is not None else []))
    base_board = _base_board(board)
    subject = _subject(objects, board, base_board.manifest, landing, task) if task is not None else None
    records = read_records(task) if task is not None else None
    if records is not None and len(records.log) + len(records.archived) > MAX_RECORDS:
        raise Undecided("limits-exceeded", f"{task} has more than {MAX_RECORDS} claims on record", "swarm prune")
    changes = _all_changes(landing)
    links = _link_targets(objects, changes)
    return Evidence(
        facts=facts,
        landing=landing,
        board=base_board,
        subject=subject,
        records=records,
        in_base_history=repository.is_in_history(_named_commits(records), base),
        link_targets=links,
        links_passed=_links_passed(objects, landing.tree, links),
        folders=_folders(objects, landing.tree, changes),
        proposals=_proposals(objects, changes),
        odd_trees=tuple(odd_trees(objects, landing.base_tree, landing.tree)),
    )


class _CommitTree:
    """The board's TreeReader over the gate's own objects."""

    def __init__(self, objects: Objects, commit: ObjectId) -> None:
        self._objects, self._commit = objects, commit

    def list(self, folder: str) -> tuple[BoardEntry, ...] | None:
        raw = self._objects.contents([f"{self._commit}:{folder}"], type="tree", limit=_MAX_TREE)[0]
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


def _subject(objects: Objects, board: Board, manifest: Manifest | None, landing: Landing, task: TaskId) -> Subject:
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
    entry = _entry_at(objects, landing.tree, done)
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


def _all_changes(landing: Landing) -> list[Change]:
    on_the_way = [change for commit in landing.commits for change in commit.changes]
    return [*landing.landed, *landing.proposed, *on_the_way]


def _link_targets(objects: Objects, changes: Iterable[Change]) -> dict[bytes, bytes]:
    """Where every added or changed link leads; one too long to be a path leads to `/`, which is outside."""
    links = {
        change.path: change.after.id for change in changes if change.after is not None and change.after.mode == LINK
    }
    targets: dict[bytes, bytes] = {}
    for path, object_id in links.items():
        info = objects.info([object_id])[0]
        if info is None or info.type != "blob":
            raise Undecided("evidence-incomplete", f"the target of a link is not here: {object_id}")
        short = info.size <= _MAX_LINK
        read = objects.contents([object_id], type="blob", limit=_MAX_LINK)[0] if short else None
        targets[path] = read if read is not None else b"/"
    return targets


def _links_passed(objects: Objects, tree: ObjectId, links: Mapping[bytes, bytes]) -> frozenset[bytes]:
    """The targets on whose way, or at whose place, the landing tree has another link or a submodule."""
    passed: set[bytes] = set()
    for path, target in links.items():
        leads_to = resolved(path, target)
        if leads_to is None:
            continue
        steps = [*folders_of(leads_to)[1:], leads_to]
        for step in steps:
            entry = _entry_at(objects, tree, step)
            if entry is not None and entry.mode == LINK:
                passed.add(leads_to)
    return frozenset(passed)


def _folders(objects: Objects, tree: ObjectId, changes: Iterable[Change]) -> dict[bytes, frozenset[bytes]]:
    """The names in every folder of the landing tree that a path which base lacks lies in or below."""
    new = {change.path for change in changes if change.before is None and change.after is not None}
    wanted = sorted({folder for path in new for folder in folders_of(path)})
    return {folder: frozenset(_names(objects, tree, folder)) for folder in wanted}


def _names(objects: Objects, tree: ObjectId, folder: bytes) -> list[bytes]:
    info = _folder_id(objects, tree, folder)
    if info is None:
        return []
    raw = objects.contents([info], type="tree", limit=_MAX_TREE)[0]
    return [name for name, _ in read_tree(raw or b"", len(tree) // 2)]


def _folder_id(objects: Objects, tree: ObjectId, folder: bytes) -> ObjectId | None:
    if not folder:
        return tree
    entry = _entry_at(objects, tree, folder)
    return entry.id if entry is not None and entry.mode == FOLDER else None


def _entry_at(objects: Objects, tree: ObjectId, path: bytes) -> Entry | None:
    """Walk from tree to tree by bytes: a name on git's command line would not reach every path that a tree can hold."""
    current: ObjectId | None = tree
    parts = path.split(b"/")
    for number, part in enumerate(parts):
        raw = objects.contents([current or tree], type="tree", limit=_MAX_TREE)[0]
        entry = dict(read_tree(raw or b"", len(tree) // 2)).get(part)
        if entry is None or number == len(parts) - 1:
            return entry
        if entry.mode != FOLDER:
            return None
        current = entry.id
    return None


def read_tree(raw: bytes, id_size: int) -> list[tuple[bytes, Entry]]:
    """A tree object's entries by name, as bytes. Raises Undecided for what is no tree."""
    return [
        (entry.name.encode("utf-8", "surrogateescape"), Entry(entry.mode, entry.id))
        for entry in parse_tree(raw, id_size)
        if entry.id is not None
    ]


def _proposals(objects: Objects, changes: Iterable[Change]) -> dict[bytes, bytes | None]:
    found: dict[bytes, bytes | None] = {}
    for change in changes:
        if (
            change.path.startswith(PROPOSALS)
            and change.after is not None
            and is_new_proposal(Judged(change.path, change))
        ):
            info = objects.info([change.after.id])[0]
            small = info is not None and info.type == "blob" and info.size <= MAX_FILE
            found[change.path] = objects.contents([change.after.id], type="blob", limit=MAX_FILE)[0] if small else None
    return found


def odd_trees(objects: Objects, base: ObjectId, tree: ObjectId) -> list[tuple[bytes, str]]:
    """The folders of the landing tree that differ from base's and are no well-formed trees, and what is wrong.

    git compares trees as it finds them; one with an entry twice, or out of order, would show different contents to
    different readers.
    """
    found: list[tuple[bytes, str]] = []
    pending: list[tuple[bytes, ObjectId | None, ObjectId]] = [(b"", base, tree)]
    while pending:
        folder, before, after = pending.pop()
        if before == after:
            continue
        raw = objects.contents([after], type="tree", limit=_MAX_TREE)[0]
        if raw is None:
            raise Undecided("evidence-incomplete", f"tree {after} is not here")
        entries = read_tree(raw, len(tree) // 2)
        found += [(folder, fault) for fault in _faults(entries)[:1]]
        old = _subfolders(objects, before, len(tree) // 2)
        for name, entry in entries:
            if entry.mode == FOLDER and old.get(name) != entry.id:
                pending.append((folder + b"/" + name if folder else name, old.get(name), entry.id))
    return found


def _subfolders(objects: Objects, tree: ObjectId | None, id_size: int) -> dict[bytes, ObjectId]:
    if tree is None:
        return {}
    raw = objects.contents([tree], type="tree", limit=_MAX_TREE)[0]
    return {name: entry.id for name, entry in read_tree(raw or b"", id_size) if entry.mode == FOLDER}


def _faults(entries: Sequence[tuple[bytes, Entry]]) -> list[str]:
    """What makes a list of entries no well-formed tree."""
    names = [name for name, _ in entries]
    faults: list[str] = []
    if len(set(names)) != len(names):
        faults.append("a name stands in it twice")
    keys = [name + b"/" if entry.mode == FOLDER else name for name, entry in entries]
    if keys != sorted(keys):
        faults.append("its entries are out of order")
    if any(entry.mode not in _MODES for _, entry in entries):
        faults.append("an entry has a mode that git does not write")
    if any(name in (b"", b".", b"..") or b"/" in name or name.lower() == b".git" for name in names):
        faults.append("a name that no file can have")
    return faults
