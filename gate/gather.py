"""Gathering the evidence, once: from commits and claims to one immutable value. Nothing is decided here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from claims.board.board import Board, NotAFile
from claims.board.board import Entry as BoardEntry
from claims.board.config import CONFIG_PATH, Config, History
from claims.board.node import MAX_FILE
from claims.board.plan import MANIFEST_PATH, PLAN_PATH, Manifest
from claims.board.task import State, Task, task_path
from claims.errors import SwarmError, Undecided
from claims.names import ObjectId, TaskId, parse_task_id
from claims.values import replace
from gate.evidence import BaseBoard, Evidence, Facts, Records, Subject
from gate.judged import AGENTS, TASKS, author_is_operator, exemption_of_author, is_new_proposal
from gate.landing import Commit, Landing, compute, nothing_lands
from gate.names import folded
from gate.paths import Judged, paths_to_judge
from gate.repository import GateRepository
from gate.rules.entries_ordinary import resolved
from gate.tree import FOLDER, LINK, SUBMODULE, Change, Entry, folders_of_all
from gate.trees import Trees

if TYPE_CHECKING:
    from claims.board.whole import Report

K = TypeVar("K")

#: Bytes of a link's target, and links that are looked at: an authority names no more than 200 paths.
_MAX_LINK = 4096
_MAX_LINKS = 1_000
#: New proposals, and bytes of all of them.
_MAX_PROPOSALS = 1_000
_MAX_PROPOSED = 32 * 1024 * 1024
_NO_FILES = {FOLDER: "folder", SUBMODULE: "submodule"}
_QUEUED = TASKS + b"queued/"
_DONE = TASKS + b"done/"

ReadRecords = Callable[[TaskId], Records]
#: Whether GitHub has verified commits as the author's. It is asked only where an author's own rights may matter.
Verify = Callable[[Sequence[ObjectId]], bool]


def gather(
    repository: GateRepository,
    facts: Facts,
    base: ObjectId,
    head: ObjectId,
    read_records: ReadRecords,
    merge_ref: Commit | None = None,
    verify: Verify | None = None,
) -> Evidence:
    """Everything the rules see. Raises NoLanding, and Undecided where something cannot be read or exceeds a limit."""
    landing = compute(repository, base, head, merge_ref)
    if not landing.landed:
        raise nothing_lands(landing)
    trees = repository.trees
    task = _subject_id(landing)
    repository.bring(_wanted(trees, landing, task))
    board = Board(base, BoardTree(repository, landing.base_tree))
    board.prefetch(*([task] if task is not None else []))
    base_board = _base_board(board)
    judged = paths_to_judge(landing, base_board.config.gate.history)
    subject = _subject(repository, board, base_board.manifest, landing, task) if task is not None else None
    records = read_records(task) if task is not None else None
    links = _link_targets(repository, judged, subject)
    facts = _verified(facts, base_board.config, landing, verify)
    is_operators = author_is_operator(facts, base_board.config)
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
        proposals=_proposals(repository, judged),
        odd_trees=landing.odd_trees,
        landed_board=_landed_board(repository, landing, judged) if is_operators else None,
    )


def _verified(facts: Facts, config: Config, landing: Landing, verify: Verify | None) -> Facts:
    """The facts, with whether every head-only commit is verified as the author's, where an author may be trusted."""
    if verify is None or not (author_is_operator(facts, config) or exemption_of_author(facts, config) is not None):
        return facts
    return replace(facts, verified=verify([one.commit for one in landing.commits]))


def _landed_board(repository: GateRepository, landing: Landing, judged: Sequence[Judged]) -> Report | None:
    """What is to say of the board as it would land, where nothing else changes."""
    if not all(one.path.startswith(AGENTS) for one in judged) or all(map(is_new_proposal, judged)):
        return None
    tree = BoardTree(repository, landing.tree)
    from claims.board.whole import check  # most pull requests need it not

    repository.bring(tree.files_below(AGENTS.rstrip(b"/")))
    return check(tree)


class BoardTree:
    """The board's TreeReader over one of the gate's own trees."""

    def __init__(self, repository: GateRepository, tree: ObjectId) -> None:
        self._repository, self._tree = repository, tree

    def list(self, folder: str) -> tuple[BoardEntry, ...] | None:
        found = self._at(folder)
        if found is None or found.mode != FOLDER:
            return None
        entries = self._repository.trees.entries(found.id)
        return tuple(BoardEntry(name.decode("utf-8", "surrogateescape"), mode, id) for name, (mode, id) in entries)

    def files(self, folder: str) -> Sequence[str]:
        return [entry.name for entry in self.list(folder) or () if entry.mode not in _NO_FILES]

    def read(self, paths: Sequence[str]) -> Sequence[bytes | None]:
        found = [self._at(path) for path in paths]
        for path, entry in zip(paths, found, strict=True):
            if entry is not None and entry.mode in _NO_FILES:
                raise NotAFile(path, _NO_FILES[entry.mode])
        there = iter(self._repository.read_blobs([entry.id for entry in found if entry is not None], MAX_FILE))
        return [None if entry is None else next(there) for entry in found]

    def exists(self, paths: Sequence[str]) -> Sequence[bool]:
        found = map(self._at, paths)
        return [entry is not None and entry.mode not in _NO_FILES for entry in found]

    def files_below(self, folder: bytes) -> Sequence[ObjectId]:
        """The blobs of all files below a folder. Raises Undecided `limits-exceeded` for too many folders."""
        return self._repository.trees.blobs_below(self._tree, folder)

    def _at(self, path: str) -> Entry | None:
        return self._repository.trees.at(self._tree, path.encode("utf-8", "surrogateescape"))


def _wanted(trees: Trees, landing: Landing, task: TaskId | None) -> list[ObjectId]:
    """The few blobs that will be read: of the board on base, the task's, new proposals and links."""
    on_base = [CONFIG_PATH, PLAN_PATH, MANIFEST_PATH, *([task_path(task, State.QUEUED)] if task is not None else [])]
    found = [trees.at(landing.base_tree, path.encode("ascii")) for path in on_base]
    if task is not None:
        found.append(trees.at(landing.tree, task_path(task, State.DONE).encode("ascii")))
    for judged in paths_to_judge(landing, History.COMMITS):
        after = judged.change.after
        if after is not None and (after.mode == LINK or is_new_proposal(judged)):
            found.append(after)
    return list(dict.fromkeys(entry.id for entry in found if entry is not None and entry.mode not in _NO_FILES))


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
    try:
        config = board.config
    except Undecided as fault:
        hint = fault.hint or "swarm-gate board; its correction has to be merged past this check, which cannot judge it"
        raise Undecided(fault.code, fault.message, hint, fault.details) from None
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
    places = board.places_of([task])[task]
    base: Task | None = None
    fault: SwarmError | None = None
    base_file: bytes | None = None
    if State.QUEUED in places:
        queued = repository.trees.at(landing.base_tree, task_path(task, State.QUEUED).encode("ascii"))
        assert queued is not None
        (base_file,) = repository.read_blobs([queued.id], MAX_FILE)
        try:
            base = board.task(task, State.QUEUED)
        except Undecided as broken:
            fault = broken
    done = task_path(task, State.DONE).encode("ascii")
    entry = repository.trees.at(landing.tree, done)
    landed_file = _blob(repository, entry)
    needed = _needed(base, manifest, task)
    return Subject(task, places, base, base_file, fault, entry, landed_file, board.states_of(needed) if needed else {})


def _needed(task: Task | None, manifest: Manifest | None, subject: TaskId) -> list[TaskId]:
    if task is None:
        return []
    milestone = manifest.milestone_of(subject) if manifest is not None else None
    integrated = milestone.tasks if milestone is not None and milestone.integration == subject else ()
    return list(dict.fromkeys([*task.depends_on, *(other for other in integrated if other != subject)]))


def _blob(repository: GateRepository, entry: Entry | None) -> bytes | None:
    """A file's bytes; None for what is no file. Raises `limits-exceeded` for a large one."""
    if entry is None or entry.mode in _NO_FILES:
        return None
    return repository.read_blobs([entry.id], MAX_FILE)[0]


def _named_commits(records: Records | None) -> list[ObjectId]:
    if records is None:
        return []
    entries = [*records.log, *records.archived, *([records.at] if records.at is not None else [])]
    claims = [entry.claim for entry in entries if entry.claim is not None]
    named = [commit for claim in claims for commit in (claim.base_commit, claim.branch_commit) if commit is not None]
    return list(dict.fromkeys(named))


def _link_targets(
    repository: GateRepository, judged: Iterable[Judged], subject: Subject | None
) -> dict[tuple[bytes, Entry | None], bytes]:
    """Where every added or changed link leads that the authority names in full; no other lands, wherever it leads.

    One too long to be a path leads to `/`, which is outside. Raises Undecided `limits-exceeded` for too many.
    """
    patterns = subject.base.authority.patterns if subject is not None and subject.base is not None else ()
    named = {pattern.text.encode() for pattern in patterns}
    afters = {(one.path, one.change.after) for one in judged if one.path in named}
    links = {(path, after): after.id for path, after in afters if after is not None and after.mode == LINK}
    if len(links) > _MAX_LINKS:
        message = f"over {_MAX_LINKS} symbolic links, each counted as often as it is changed"
        raise Undecided("limits-exceeded", message, "git rebase -i")
    short = _not_larger(repository, links, _MAX_LINK)
    return {**dict.fromkeys(links, b"/"), **{path: data or b"/" for path, data in short.items()}}


def _not_larger(
    repository: GateRepository, files: Mapping[K, ObjectId], limit: int, most: int | None = None
) -> dict[K, bytes]:
    """The contents of those files that have at most `limit` bytes.

    Raises Undecided `limits-exceeded` where they have more than `most` together: one blob may be at many paths.
    """
    sizes = dict(zip(files, repository.sizes(list(files.values())), strict=True))
    small = [path for path, size in sizes.items() if size <= limit]
    if most is not None and sum(sizes[path] for path in small) > most:
        raise Undecided("limits-exceeded", f"over {most} bytes of files to read", "split the pull request")
    return dict(zip(small, repository.read_blobs([files[path] for path in small], limit), strict=True))


def _links_passed(trees: Trees, tree: ObjectId, links: Mapping[tuple[bytes, Entry | None], bytes]) -> frozenset[bytes]:
    """The targets on whose way, or at whose place, the landing tree has another link.

    Names are compared as file systems do that fold case: on those, `LINK/x` leads through `link`.
    """
    known: dict[ObjectId, dict[str, list[Entry]]] = {}

    def below(folder: ObjectId) -> dict[str, list[Entry]]:
        if folder not in known:
            known[folder] = {}
            for name, entry in trees.entries(folder):
                if entry.mode in (LINK, FOLDER):
                    known[folder].setdefault(folded(name), []).append(entry)
        return known[folder]

    def passes_one(path: bytes) -> bool:
        level = [tree]
        for name in path.split(b"/"):
            found = [entry for folder in level for entry in below(folder).get(folded(name), ())]
            if any(entry.mode == LINK for entry in found):
                return True
            level = list(dict.fromkeys(entry.id for entry in found))
            if not level:
                return False
        return False

    targets = {resolved(path, target) for (path, _), target in links.items()}
    return frozenset(target for target in targets if target is not None and passes_one(target))


def _folders(trees: Trees, tree: ObjectId, judged: Iterable[Judged]) -> dict[bytes, frozenset[bytes]]:
    """The names in every folder of the landing tree that a path which base lacks lies in or below."""
    new = {one.path for one in judged if one.change.before is None and one.change.after is not None}
    trees.load_paths(tree, new)
    return {folder: trees.names_in(tree, folder) for folder in sorted(folders_of_all(new))}


def _proposals(repository: GateRepository, judged: Iterable[Judged]) -> dict[bytes, bytes | None]:
    """The bytes of every new proposal; None for one that is too large. Raises Undecided `limits-exceeded`."""
    new = {
        one.path: one.change.after.id
        for one in judged
        if one.change.after is not None and one.change.after.mode not in _NO_FILES and is_new_proposal(one)
    }
    if len(new) > _MAX_PROPOSALS:
        raise Undecided("limits-exceeded", f"over {_MAX_PROPOSALS} new proposals", "split the pull request")
    return {**dict.fromkeys(new), **_not_larger(repository, new, MAX_FILE, _MAX_PROPOSED)}
