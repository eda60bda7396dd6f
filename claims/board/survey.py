"""What lies under `.agents/`: every file read, and what is wrong with those that do not read or do not belong there."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from claims.board import decision, links, proposal
from claims.board.board import Entry, TreeReader
from claims.board.config import CONFIG_PATH, Config, parse_config
from claims.board.decision import Decision, parse_decision
from claims.board.plan import MANIFEST_PATH, PLAN_PATH, Manifest, Plan, parse_manifest, parse_plan
from claims.board.proposal import Proposal, parse_proposal
from claims.board.task import State, Task, parse_task
from claims.errors import Undecided
from claims.names import TaskId, parse_proposal_id, parse_task_id
from claims.values import dataclass, replace

T = TypeVar("T")
Parse = Callable[[bytes, str], None]

TOP = ".agents"
_TASKS = f"{TOP}/tasks"
_FILES = (CONFIG_PATH, PLAN_PATH, MANIFEST_PATH, f"{TOP}/allowed_signers")
_FOLDERS = (_TASKS, State.BACKLOG.folder, proposal.FOLDER, decision.FOLDER, f"{TOP}/prompts")
_STATES = tuple(state.folder for state in State if state is not State.BACKLOG)
_KEPT = ".gitkeep"
_FILE, _EXECUTABLE, _FOLDER = 0o100644, 0o100755, 0o040000
_KINDS = {
    _FOLDER: "folder",
    0o160000: "submodule",
    0o120000: "symbolic link",
    _EXECUTABLE: "executable file",
    _FILE: "file",
}
#: The codes of what is wrong with one file.
_TOLD = ("limits-exceeded", "malformed-task", "malformed-config", "malformed-plan", "malformed-manifest")
#: Files that are read in one batch: their contents are held no longer than it takes to read what they say.
_BATCH = 128


@dataclass(frozen=True, slots=True)
class Remark:
    """What is said of a path: what is, and what was expected; in `fix` what mends it, where that is known."""

    path: str
    message: str
    fix: str | None = None


class Survey:
    """The files that read, by their paths, and what is wrong with the others. Tasks are without their bodies."""

    def __init__(self) -> None:
        self.faults: list[Remark] = []
        self.notices: list[Remark] = []
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
        #: What the body of a queued or blocked task points at, and the anchors that it has itself.
        self.links: dict[str, tuple[links.Link, ...]] = {}
        self.anchors: dict[str, frozenset[str]] = {}


def survey(reader: TreeReader) -> Survey:
    """Read everything under `.agents/`. Raises Undecided only where the tree itself cannot be read."""
    found = Survey()
    parsers: dict[str, Parse] = {}
    singles: list[tuple[str, Parse]] = [
        (CONFIG_PATH, _keeping(found, parse_config, lambda path, value: setattr(found, "config", value))),
        (PLAN_PATH, _keeping(found, parse_plan, lambda path, value: setattr(found, "plan", value))),
        (MANIFEST_PATH, _keeping(found, parse_manifest, lambda path, value: setattr(found, "manifest", value))),
    ]
    files = _in_top(reader, found)
    parsers.update((path, parse) for path, parse in singles if path in files)
    _look_at_folders_of_tasks(reader, found)
    for state in State:
        for path, task in _named(reader, found, state.folder, parse_task_id):
            found.places.setdefault(task, []).append(state)
            parsers[path] = _keeping(found, parse_task, lambda path, task: _keep_task(found, path, task))
    for path, _ in _named(reader, found, proposal.FOLDER, parse_proposal_id):
        parsers[path] = _keeping(found, parse_proposal, found.proposals.__setitem__)
    for path, _ in _named(reader, found, decision.FOLDER, lambda stem: decision.number_of(f"{stem}.md")):
        parsers[path] = _keeping(found, parse_decision, found.decisions.__setitem__)
    found.faults += _of_prompts(reader)
    found.there |= parsers.keys()
    for path, data in _contents(reader, found, list(parsers)):
        parsers[path](data, path)
    return found


def _keep_task(found: Survey, path: str, task: Task) -> None:
    """Keep a task, and of its body only what it points at: ten thousand bodies may be gigabytes."""
    if task.state in (State.QUEUED, State.BLOCKED):
        found.links[path] = links.links_in(task.body)
        if any(not link.path for link in found.links[path]):
            found.anchors[path] = links.anchors_in(task.body)
    found.tasks[path] = replace(task, body="")


def _keeping(found: Survey, parse: Callable[[bytes, str], T], keep: Callable[[str, T], None]) -> Parse:
    """Parse a file and keep the value, or what is wrong with it."""

    def take(data: bytes, path: str) -> None:
        try:
            value = parse(data, path)
        except Undecided as fault:
            found.faults.append(_of(path, fault))
        else:
            keep(path, value)

    return take


def _of_prompts(reader: TreeReader) -> Iterator[Remark]:
    """What stands in the place of the prompt that is read and is no file: a link would hand out what it leads to."""
    for entry in _listed(reader, f"{TOP}/prompts"):
        if entry.name == "triage.md":
            yield from _unless(f"{TOP}/prompts/{entry.name}", entry, _FILE, "an ordinary file")


def _listed(reader: TreeReader, folder: str) -> Sequence[Entry]:
    return reader.list(folder) or ()


def _in_top(reader: TreeReader, found: Survey) -> set[str]:
    """The files that lie directly in `.agents/`. What stands in the place of a file or a folder and is none is a fault.

    Otherwise a folder that is a link would be one without tasks.
    """
    if reader.exists([TOP])[0]:
        found.faults.append(Remark(TOP, "no folder, where the folder of the board is expected"))
    elif reader.list(TOP) is None:
        found.notices.append(Remark(TOP, "there is no board here", "swarm init"))
    files: set[str] = set()
    for entry in _listed(reader, TOP):
        path = f"{TOP}/{entry.name}"
        if path in _FOLDERS:
            found.faults += _unless(path, entry, _FOLDER, "a folder")
        elif path in _FILES:
            faults = list(_unless(path, entry, _FILE, "an ordinary file"))
            found.faults += faults
            if not faults:
                files.add(path)
        else:
            _look_at_name(found, path, entry)
    return files


def _look_at_name(found: Survey, path: str, entry: Entry) -> None:
    """Whether a name that nobody reads was meant to be one that is read. Others may keep files in `.agents/` too."""
    twin = next((one for one in (*_FOLDERS, *_FILES) if one.casefold() == path.casefold()), None)
    if twin is not None:
        found.faults.append(Remark(path, f"to a file system that folds case it is {twin}", f"git mv {path} {twin}"))
        return
    stem, dot, ending = path.rpartition(".")
    meant = next((one for one in (CONFIG_PATH, PLAN_PATH, MANIFEST_PATH) if one.rpartition(".")[0] == stem), None)
    if meant is not None and dot and ending in ("yml", "yaml", "md") and entry.mode != _FOLDER:
        found.notices.append(Remark(path, f"nobody reads it: what is read is {meant}", f"git mv {path} {meant}"))


def _look_at_folders_of_tasks(reader: TreeReader, found: Survey) -> None:
    entries = reader.list(_TASKS)
    for entry in entries or ():
        path = f"{_TASKS}/{entry.name}"
        if entry.name == _KEPT:
            found.faults += _unless(path, entry, _FILE, "an ordinary file")
        elif path in _STATES:
            found.faults += _unless(path, entry, _FOLDER, "a folder")
        else:
            known = ", ".join(sorted(folder.rpartition("/")[2] for folder in _STATES))
            found.faults.append(Remark(path, f"not one of the folders of tasks: {known}"))
    kept = [f"{folder}/{_KEPT}" for folder in _STATES] if entries is not None else []
    found.notices += [
        Remark(path, "missing: git would take moving the last task for renaming the folder", f"touch {path}")
        for path, there in zip(kept, reader.exists(kept), strict=True)
        if not there and reader.list(path) is None  # a folder of that name is told elsewhere
    ]


def _named(reader: TreeReader, found: Survey, folder: str, parse_stem: Callable[[str], T]) -> Iterator[tuple[str, T]]:
    """The files of a folder whose names are what they must be; the others are faults."""
    for entry in _listed(reader, folder):
        path = f"{folder}/{entry.name}"
        faults = list(_unless(path, entry, _FILE, "an ordinary file"))
        if faults or entry.name == _KEPT:
            found.faults += faults
            continue
        try:
            if not entry.name.endswith(".md"):
                raise ValueError(f"{entry.name!r} does not end in .md")
            named = parse_stem(entry.name[: -len(".md")])
        except ValueError as error:
            found.faults.append(Remark(path, f"nothing of this name belongs here: {error}"))
        else:
            yield path, named


def _unless(path: str, entry: Entry, mode: int, expected: str) -> Iterator[Remark]:
    """A fault where an entry has another mode."""
    if entry.mode != mode:
        what = _KINDS.get(entry.mode, f"entry of mode {entry.mode:06o}")
        # A name that would not come out on a terminal as it is makes no command.
        mends = entry.mode == _EXECUTABLE and mode == _FILE and path.isprintable()
        fix = f"git update-index --chmod=-x -- {shlex.quote(path)}" if mends else None
        yield Remark(path, f"{'an' if what[0] in 'aeo' else 'a'} {what}, where {expected} is expected", fix)


def _contents(reader: TreeReader, found: Survey, paths: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Every file's bytes, batch by batch; where a batch cannot be read, each for itself, so that one hides no other."""
    for start in range(0, len(paths), _BATCH):
        batch = paths[start : start + _BATCH]
        try:
            contents: Iterable[bytes | None] = reader.read(batch)
        except Undecided:
            contents = [_content(reader, found, path) for path in batch]
        yield from ((path, data) for path, data in zip(batch, contents, strict=True) if data is not None)


def _content(reader: TreeReader, found: Survey, path: str) -> bytes | None:
    try:
        return reader.read([path])[0]
    except Undecided as fault:
        if fault.code not in _TOLD:
            raise
        found.faults.append(_of(path, fault))
        return None


def _of(path: str, fault: Undecided) -> Remark:
    """What does not read; the message begins with the path, which is said already."""
    return Remark(path, fault.message.removeprefix(path).lstrip(":").strip(), fault.hint)
