"""The whole board at once: does every file read, and do they agree with each other?

Every fault is told, not the first alone. What only misleads is a notice.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from claims.board import decision, graph, links, proposal
from claims.board.board import Entry, TreeReader
from claims.board.config import CONFIG_PATH, Config, parse_config
from claims.board.decision import Decision, parse_decision
from claims.board.plan import MANIFEST_PATH, PLAN_PATH, Manifest, MilestoneStatus, Plan, parse_manifest, parse_plan
from claims.board.proposal import Proposal, ProposalStatus, parse_proposal
from claims.board.task import FailureKind, State, Task, parse_task
from claims.errors import Undecided
from claims.names import TaskId, parse_proposal_id, parse_task_id
from claims.values import dataclass

T = TypeVar("T")

_TOP = ".agents"
_TASKS = f"{_TOP}/tasks"
_FILES = (CONFIG_PATH, PLAN_PATH, MANIFEST_PATH, f"{_TOP}/allowed_signers")
_FOLDERS = (_TASKS, State.BACKLOG.folder, proposal.FOLDER, decision.FOLDER, f"{_TOP}/prompts")
_KEPT = ".gitkeep"
_FILE, _FOLDER = 0o100644, 0o040000
_KINDS = {
    0o040000: "folder",
    0o160000: "submodule",
    0o120000: "symbolic link",
    0o100755: "executable file",
    _FILE: "file",
}
#: The codes of what is wrong with one file.
_TOLD = ("limits-exceeded", "malformed-task", "malformed-config", "malformed-plan", "malformed-manifest")
#: A cycle is told with at most so many of its tasks.
_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Remark:
    """What is said of a path: what is, and what was expected; in `fix` what mends it, where that is known."""

    path: str
    message: str
    fix: str | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """What is wrong with a board (nothing: it is valid), what only misleads, and how many tasks it has."""

    faults: tuple[Remark, ...]
    notices: tuple[Remark, ...]
    tasks: int


class _Files:
    """The files that read, and what is wrong with the others."""

    def __init__(self) -> None:
        self.faults: list[Remark] = []
        self.config: Config | None = None
        self.plan: Plan | None = None
        self.manifest: Manifest | None = None
        self.tasks: dict[str, Task] = {}
        self.proposals: dict[str, Proposal] = {}
        self.decisions: dict[str, Decision] = {}
        #: Every task with a file, whether or not it reads, and the states in whose folders it has one.
        self.places: dict[TaskId, list[State]] = {}
        #: The paths that are read.
        self.there: set[str] = set()


def check(reader: TreeReader) -> Report:
    """Check everything under `.agents/`. Raises Undecided only where the tree itself cannot be read."""
    files = _read_all(reader)
    faults = [
        *files.faults,
        *_in_several_places(files),
        *_dependencies(files),
        *_plan_and_manifest(files),
        *_regenerated(files),
        *_revisions(files),
        *_numbers(files),
    ]
    notices = [*_never_released(files), *_dead_links(reader, files)]
    return Report(tuple(sorted(faults, key=_order)), tuple(sorted(notices, key=_order)), len(files.places))


def _order(remark: Remark) -> tuple[str, str]:
    return remark.path, remark.message


def _read_all(reader: TreeReader) -> _Files:
    files = _Files()
    parsers: dict[str, Callable[[bytes, str], None]] = {}
    names = _ordinary_files(reader, files)
    singles: list[tuple[str, Callable[[bytes, str], None]]] = [
        (CONFIG_PATH, _keeping(files, parse_config, lambda path, value: setattr(files, "config", value))),
        (PLAN_PATH, _keeping(files, parse_plan, lambda path, value: setattr(files, "plan", value))),
        (MANIFEST_PATH, _keeping(files, parse_manifest, lambda path, value: setattr(files, "manifest", value))),
    ]
    parsers.update((path, parse) for path, parse in singles if path in names)
    for state in State:
        for path, task in _named(reader, files, state.folder, parse_task_id):
            files.places.setdefault(task, []).append(state)
            parsers[path] = _keeping(files, parse_task, files.tasks.__setitem__)
    for path, _ in _named(reader, files, proposal.FOLDER, parse_proposal_id):
        parsers[path] = _keeping(files, parse_proposal, files.proposals.__setitem__)
    for path, _ in _named(reader, files, decision.FOLDER, lambda stem: decision.number_of(f"{stem}.md")):
        parsers[path] = _keeping(files, parse_decision, files.decisions.__setitem__)
    files.there |= parsers.keys()
    for path, data in _contents(reader, files, list(parsers)):
        parsers[path](data, path)
    return files


def _keeping(
    files: _Files, parse: Callable[[bytes, str], T], keep: Callable[[str, T], None]
) -> Callable[[bytes, str], None]:
    """Parse a file and keep the value, or what is wrong with it."""

    def take(data: bytes, path: str) -> None:
        try:
            keep(path, parse(data, path))
        except Undecided as fault:
            files.faults.append(_of(path, fault))

    return take


def _listed(reader: TreeReader, folder: str) -> Sequence[Entry]:
    return reader.list(folder) or ()


def _named(reader: TreeReader, files: _Files, folder: str, parse_stem: Callable[[str], T]) -> Iterator[tuple[str, T]]:
    """The files of a folder whose names are what they must be; the others are faults."""
    for entry in _listed(reader, folder):
        path = f"{folder}/{entry.name}"
        faults = list(_unless(path, entry, _FILE, "an ordinary file"))
        if faults or entry.name == _KEPT:
            files.faults += faults
            continue
        try:
            if not entry.name.endswith(".md"):
                raise ValueError(f"{entry.name!r} does not end in .md")
            named = parse_stem(entry.name[: -len(".md")])
        except ValueError as error:
            files.faults.append(Remark(path, f"nothing of this name belongs here: {error}"))
        else:
            yield path, named


def _ordinary_files(reader: TreeReader, files: _Files) -> set[str]:
    """The files that lie directly in `.agents/`. What stands in the place of a file or a folder and is none is a fault.

    Otherwise a folder that is a link would be one without tasks.
    """
    if reader.exists([_TOP])[0]:
        files.faults.append(Remark(_TOP, "no folder, where the folder of the board is expected"))
    found: set[str] = set()
    for entry in _listed(reader, _TOP):
        path = f"{_TOP}/{entry.name}"
        if path in _FOLDERS:
            files.faults += _unless(path, entry, _FOLDER, "a folder")
        elif path in _FILES:
            faults = list(_unless(path, entry, _FILE, "an ordinary file"))
            files.faults += faults
            if not faults:
                found.add(path)
    states = {state.folder for state in State}
    for entry in _listed(reader, _TASKS):
        path = f"{_TASKS}/{entry.name}"
        if entry.name == _KEPT:
            files.faults += _unless(path, entry, _FILE, "an ordinary file")
        elif path in states:
            files.faults += _unless(path, entry, _FOLDER, "a folder")
        else:
            known = ", ".join(sorted(folder.rpartition("/")[2] for folder in states if folder.startswith(_TASKS)))
            files.faults.append(Remark(path, f"not one of the folders of tasks: {known}"))
    return found


def _unless(path: str, entry: Entry, mode: int, expected: str) -> Iterator[Remark]:
    """A fault where an entry has another mode."""
    if entry.mode != mode:
        what = _KINDS.get(entry.mode, f"entry of mode {entry.mode:06o}")
        yield Remark(path, f"{'an' if what[0] in 'aeo' else 'a'} {what}, where {expected} is expected")


def _contents(reader: TreeReader, files: _Files, paths: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Every file's bytes, in one batch; where that does not go, each for itself, so that one hides no other."""
    try:
        found: Iterable[bytes | None] = reader.read(paths)
    except Undecided:
        found = [_content(reader, files, path) for path in paths]
    yield from ((path, data) for path, data in zip(paths, found, strict=True) if data is not None)


def _content(reader: TreeReader, files: _Files, path: str) -> bytes | None:
    try:
        return reader.read([path])[0]
    except Undecided as fault:
        if fault.code not in _TOLD:
            raise
        files.faults.append(_of(path, fault))
        return None


def _of(path: str, fault: Undecided) -> Remark:
    """What does not read; the message begins with the path, which is said already."""
    return Remark(path, fault.message.removeprefix(path).lstrip(":").strip(), fault.hint)


def _in_several_places(files: _Files) -> Iterator[Remark]:
    for task, states in files.places.items():
        if len(states) > 1:
            folders = " and ".join(state.folder for state in states)
            yield Remark(f"{states[0].folder}/{task}.md", f"{task} has a file in {folders}: a task is in one state")


def _dependencies(files: _Files) -> Iterator[Remark]:
    for path, task in files.tasks.items():
        for wanted in task.depends_on:
            if wanted not in files.places:
                yield Remark(path, f"`depends_on` names {wanted}, of which there is no file")
    for cycle in graph.cycles(graph.edges(files.tasks.values(), files.manifest)):
        shown = " → ".join([*cycle[:_SHOWN], *(["…"] if len(cycle) > _SHOWN else []), cycle[0]])
        yield Remark(_path_of(files, cycle[0]), f"tasks that wait for each other: {shown}")


def _path_of(files: _Files, task: TaskId) -> str:
    states = files.places.get(task)
    return f"{states[0].folder}/{task}.md" if states else MANIFEST_PATH


def _plan_and_manifest(files: _Files) -> Iterator[Remark]:
    has_plan, has_manifest = PLAN_PATH in files.there, MANIFEST_PATH in files.there
    if has_plan != has_manifest:
        missing = MANIFEST_PATH if has_plan else PLAN_PATH
        yield Remark(missing, "there is only one of plan.md and manifest.yaml: nothing can be claimed with one alone")
    manifest, plan = files.manifest, files.plan
    if manifest is not None and plan is not None and manifest.plan_revision != plan.revision:
        message = f"`plan_revision` is {manifest.plan_revision}, the plan is at revision {plan.revision}"
        yield Remark(MANIFEST_PATH, message)
    for stone in manifest.milestones if manifest is not None else ():
        listed = (*stone.tasks, *([stone.integration] if stone.integration is not None else []))
        for task in listed:
            if task not in files.places:
                yield Remark(MANIFEST_PATH, f"line {stone.line}: milestone {stone.id} lists {task}, which has no file")
        if stone.status is MilestoneStatus.DONE and stone.integration is not None:
            states = files.places.get(stone.integration, [])
            if states and State.DONE not in states:
                message = (
                    f"line {stone.line}: milestone {stone.id} is done, its integration task {stone.integration} is not"
                )
                yield Remark(MANIFEST_PATH, message)


def _regenerated(files: _Files) -> Iterator[Remark]:
    by_id = {task.id: task for task in files.tasks.values()}
    for path, task in files.tasks.items():
        origin = task.regenerated_from
        if origin is None:
            continue
        if origin not in files.places:
            yield Remark(path, f"`regenerated_from` names {origin}, of which there is no file")
        elif origin in by_id:
            failure = by_id[origin].failure
            if failure is None or failure.kind is not FailureKind.INVALID_PREMISE:
                yield Remark(path, f"{origin} did not fail for an invalid premise, so no other task may replace it")


def _revisions(files: _Files) -> Iterator[Remark]:
    revision = files.plan.revision if files.plan is not None else 0
    for path, one in files.proposals.items():
        if one.base_plan_revision > revision:
            yield Remark(path, f"raised against plan revision {one.base_plan_revision}; the plan is at {revision}")
        if one.status is ProposalStatus.FOLDED and one.folded_into is not None and one.folded_into > revision:
            yield Remark(path, f"folded into plan revision {one.folded_into}; the plan is at {revision}")


def _numbers(files: _Files) -> Iterator[Remark]:
    first: dict[int, str] = {}
    for path, one in sorted(files.decisions.items()):
        if first.setdefault(one.number, path) != path:
            yield Remark(path, f"{first[one.number]} has the number {one.number:04} already")


def _never_released(files: _Files) -> Iterator[Remark]:
    if files.manifest is None:
        return
    for path, task in files.tasks.items():
        if task.state is State.QUEUED and files.manifest.milestone_of(task.id) is None:
            yield Remark(path, "no milestone lists this queued task, so nobody can claim it")


def _dead_links(reader: TreeReader, files: _Files) -> Iterator[Remark]:
    """`task-links`: what the body of a queued or blocked task points at, and is not there."""
    wanted = [
        (path, task, link, _candidates(path, link.path))
        for path, task in files.tasks.items()
        if task.state in (State.QUEUED, State.BLOCKED)
        for link in links.links_in(task.body)
    ]
    paths = sorted({candidate for _, _, _, candidates in wanted for candidate in candidates})
    there = dict(zip(paths, reader.exists(paths), strict=True)) if paths else {}
    texts: dict[str, frozenset[str]] = {}
    for path, task, link, candidates in wanted:
        if not link.path:
            if link.anchor and link.anchor not in links.anchors_in(task.body):
                yield Remark(path, f"the body names #{link.anchor}, but has no such heading")
            continue
        found = next((one for one in candidates if there[one]), None)
        if found is None:
            folder = any(reader.list(one) is not None for one in candidates)
            new = any(task.authority.covers(one.encode("utf-8", "surrogateescape")) for one in candidates)
            if not folder and not new:
                yield Remark(path, f"the body names {link.path}, which is not there")
        elif link.anchor and found.endswith(".md") and link.anchor not in _anchors(reader, texts, found):
            yield Remark(path, f"the body names {link.path}#{link.anchor}, but there is no such heading")


def _candidates(path: str, target: str) -> tuple[str, ...]:
    """The paths that a link may mean: from the root of the repository, or from the folder of the task's file."""
    if not target:
        return ()
    from_root = posixpath.normpath(target.lstrip("/"))
    nearby = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    both = (from_root,) if target.startswith("/") else (from_root, nearby)
    return tuple(dict.fromkeys(one for one in both if not one.startswith("../") and one not in ("..", ".")))


def _anchors(reader: TreeReader, texts: dict[str, frozenset[str]], path: str) -> frozenset[str]:
    if path not in texts:
        try:
            data = reader.read([path])[0] or b""
        except Undecided:
            return _Everything()
        texts[path] = links.anchors_in(data.decode("utf-8", "replace"))
    return texts[path]


class _Everything(frozenset[str]):
    """The anchors of a text that is too large to be looked into: any may be there."""

    def __contains__(self, anchor: object) -> bool:
        return True
