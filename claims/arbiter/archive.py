"""The archive of the log: a commit whose tree holds `<YYYYMM of the task id>/<task id>/<stamp>.json`.

Its parent is the archive before it. Reading goes by names, so that no record is needed until it is shown; writing
needs the trees on the way alone, and neither index nor working tree, hooks, signatures or the user's identity.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from claims import clock
from claims.arbiter.history import Logged
from claims.board.board import Entry
from claims.errors import Undecided
from claims.git import DURABLE, Git, Objects
from claims.git_tree import parse_tree
from claims.names import ARCHIVE, ObjectId, TaskId, parse_task_id

#: Who commits. The address is of a domain that can never be.
_IDENTITY = "swarm <swarm@invalid>"
_MONTH = re.compile(r"[0-9]{6}")
_SUFFIX = ".json"
_FILE, _FOLDER = 0o100644, 0o040000
#: The largest tree that is read: a month of 100,000 tasks has 5 MB.
_MAX_TREE = 8 * 1024 * 1024


def all_entries(objects: Objects, archive: ObjectId) -> tuple[Logged, ...]:
    """Every entry of the archive, by the names in its trees, the oldest first. Raises Undecided where it is none."""
    months = [entry.name for entry in _tree_of(objects, archive) if _MONTH.fullmatch(entry.name)]
    trees = _read(objects, [f"{archive}:{month}" for month in months], archive)
    # By id: for a path, git would unpack and search the month each time.
    return _entries_in(objects, [place for tree in trees for place in _tasks(tree)], archive)


def entries_of(objects: Objects, archive: ObjectId, tasks: Iterable[TaskId]) -> tuple[Logged, ...]:
    """The entries of some tasks, the oldest first. Raises Undecided where it is no archive."""
    _tree_of(objects, archive)
    return _entries_in(objects, [(task, f"{archive}:{folder_of(task)}") for task in tasks], archive)


def folder_of(task: TaskId) -> str:
    """Where the entries of a task are."""
    return f"{task[len('T-') : len('T-YYYYMM')]}/{task}"


def path_of(entry: Logged) -> str:
    """Where an entry is."""
    return f"{folder_of(entry.task)}/{clock.format_stamp(entry.at)}{_SUFFIX}"


def write(git: Git, objects: Objects, before: ObjectId | None, entries: Sequence[Logged], now: datetime) -> ObjectId:
    """Store a commit that adds `entries` to the archive `before`; no ref points at it yet."""
    added: dict[str, dict[str, Entry]] = {}
    for entry in entries:
        folder, _, name = path_of(entry).rpartition("/")
        added.setdefault(folder, {})[name] = Entry(name, _FILE, entry.blob)
    root = ""
    while root not in added:  # from the tasks' folders to those of the months to the root
        added = _parents(_store(git, _with_old(objects, before, added)))
    (tree,) = _store(git, _with_old(objects, before, added)).values()
    message = f"Archive ended claims: {len(entries)}, of tasks: {len({entry.task for entry in entries})}\n"
    return _commit(git, tree, before, message, now)


def _with_old(
    objects: Objects, before: ObjectId | None, added: Mapping[str, Mapping[str, Entry]]
) -> dict[str, dict[str, Entry]]:
    """The folders of `added` with what the archive before has in them."""
    if before is None:
        return {folder: dict(entries) for folder, entries in added.items()}
    trees = _read(objects, [f"{before}:{folder}" for folder in added], before)
    return {
        folder: {**{entry.name: entry for entry in tree}, **entries}
        for tree, (folder, entries) in zip(trees, added.items(), strict=True)
    }


def _parents(trees: Mapping[str, ObjectId]) -> dict[str, dict[str, Entry]]:
    """The folders that hold `trees`, with them as entries."""
    parents: dict[str, dict[str, Entry]] = {}
    for path, tree in trees.items():
        parent, _, name = path.rpartition("/")
        parents.setdefault(parent, {})[name] = Entry(name, _FOLDER, tree)
    return parents


def _store(git: Git, folders: Mapping[str, Mapping[str, Entry]]) -> dict[str, ObjectId]:
    """Store a tree for each folder. What they hold need not be here: the archive's records mostly are not."""
    stdin = b"\0".join(b"".join(map(_line, entries.values())) for entries in folders.values())
    out = git.run(*DURABLE, "mktree", "--missing", "--batch", "-z", stdin=stdin).out
    return dict(zip(folders, map(ObjectId, out.decode("ascii").split()), strict=True))


def _line(entry: Entry) -> bytes:
    kind = {_FOLDER: "tree", 0o160000: "commit"}.get(entry.mode, "blob")
    return f"{entry.mode:06o} {kind} {entry.id}\t{entry.name}\0".encode("utf-8", "surrogateescape")


def _commit(git: Git, tree: ObjectId, before: ObjectId | None, message: str, now: datetime) -> ObjectId:
    """Written as it stands: `commit-tree` would take the user's identity, encoding and signature."""
    when = f"{_IDENTITY} {int(now.timestamp())} +0000"
    parent = f"parent {before}\n" if before is not None else ""
    data = f"tree {tree}\n{parent}author {when}\ncommitter {when}\n\n{message}".encode("ascii")
    out = git.run(*DURABLE, "hash-object", "-t", "commit", "-w", "--stdin", stdin=data).out
    return ObjectId(out.decode("ascii").strip())


def _tree_of(objects: Objects, archive: ObjectId) -> tuple[Entry, ...]:
    info = objects.info([archive])[0]
    if info is None or info.type != "commit":
        what = "is not there" if info is None else f"is a {info.type}, not a commit"
        raise Undecided("git-failed", f"{ARCHIVE}: {archive} {what}")
    return _read(objects, [f"{archive}:"], archive)[0]


def _read(objects: Objects, names: Sequence[str], archive: ObjectId) -> list[tuple[Entry, ...]]:
    """The entries of trees, none where there is no such tree. In one batch."""
    raw = objects.contents(names, type="tree", limit=_MAX_TREE)
    return [() if data is None else parse_tree(data, len(archive) // 2) for data in raw]


def _entries_in(objects: Objects, places: Sequence[tuple[TaskId, str]], archive: ObjectId) -> tuple[Logged, ...]:
    """The entries in tasks' folders, each given by a name of its tree."""
    trees = _read(objects, [name for _, name in places], archive)
    found = [entry for (task, _), tree in zip(places, trees, strict=True) for entry in _entries(task, tree)]
    return tuple(sorted(found, key=lambda entry: entry.order))


def _tasks(month: Iterable[Entry]) -> Iterable[tuple[TaskId, str]]:
    """The tasks that have a folder in a month's, and its id; whatever is named otherwise is none of ours."""
    for entry in month:
        try:
            if entry.mode == _FOLDER and entry.id is not None:
                yield parse_task_id(entry.name), entry.id
        except ValueError:
            continue


def _entries(task: TaskId, tree: Sequence[Entry]) -> Iterable[Logged]:
    """The entries in a task's folder, likewise. Raises Undecided for two of one name, which git never writes."""
    if len({entry.name for entry in tree}) != len(tree):
        message = f"{ARCHIVE}: {folder_of(task)} has two records of one name, and it is not clear which counts"
        raise Undecided("git-failed", message, f"git ls-tree {ARCHIVE}:{folder_of(task)}")
    for entry in tree:
        if entry.mode != _FILE or entry.id is None or not entry.name.endswith(_SUFFIX):
            continue
        try:
            yield Logged(clock.parse_stamp(entry.name[: -len(_SUFFIX)]), task, entry.id)
        except ValueError:
            continue
