"""Trees as bytes, each read and parsed once; many at a time where many are wanted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from claims.errors import Undecided
from claims.git import Objects
from claims.git_tree import tree_entries
from claims.names import ObjectId
from gate.tree import FOLDER, MAX_PATH, SUBMODULE, Entry, folders_of_all

#: The largest folder that is read, in bytes and in entries: one of those takes up to ten times its bytes in memory.
MAX_TREE = 16 * 1024 * 1024
MAX_IN_FOLDER = 150_000
#: Bytes of trees that are held at once before they are looked through.
_AT_ONCE = 4 * 1024 * 1024
#: Entries that are kept: 5,000 folders of a hundred have half a million.
MAX_ENTRIES = 600_000
#: Bytes of trees that are compared in all.
MAX_ALL = 512 * 1024 * 1024
#: Folders in which two trees may differ.
MAX_FOLDERS = 50_000
#: Files that they may add or change in all: git holds every one of a pair before it tells the first.
MAX_FILES = 500_000
_MODES = (0o100644, 0o100755, 0o120000, 0o160000, FOLDER)

Entries = Sequence[tuple[bytes, Entry]]
#: A folder as it was and as it is; None where it was not.
_Pair = tuple[ObjectId | None, ObjectId]
#: Pairs that lie equally deep, with a path of each and at how many paths it is.
_Level = dict[_Pair, tuple[bytes, int]]
#: What makes the second no tree, how many of its files the first has not like that, and its folders of that kind.
_Difference = tuple[str | None, int, Sequence[tuple[bytes, _Pair]]]
_Trees = TypeVar("_Trees", bound="tuple[ObjectId | None, ...]")


class Trees:
    """The trees of one repository. Everything is by id, so nothing that was read can go stale.

    A tree that is not there is `evidence-incomplete`: it never counts as empty.
    """

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._entries: dict[ObjectId, Entries] = {}
        self._by_name: dict[ObjectId, Mapping[bytes, Entry]] = {}
        self._folders: dict[tuple[ObjectId, bytes], ObjectId | None] = {}
        self._differences: dict[_Pair, _Difference] = {}
        self._kept = 0
        self._compared = 0

    def load(self, ids: Iterable[ObjectId]) -> None:
        """Read trees in one batch. Raises Undecided `evidence-incomplete` and `limits-exceeded`."""
        wanted = [tree for tree in dict.fromkeys(ids) if tree not in self._entries]
        if not wanted:
            return
        sizes = self._sizes(wanted)
        for some in _groups([(tree,) for tree in wanted], sizes):
            for (tree,), entries in zip(some, self._parsed([tree for (tree,) in some]), strict=True):
                self._kept += len(entries)
                if self._kept > MAX_ENTRIES:
                    message = f"over {MAX_ENTRIES} entries of folders to look at"
                    raise Undecided("limits-exceeded", message, "split the pull request")
                self._entries[tree] = entries

    def _sizes(self, trees: Sequence[ObjectId]) -> dict[ObjectId, int]:
        """How many bytes each has. Raises Undecided `evidence-incomplete` for one that is not here."""
        infos = dict(zip(trees, self._objects.info(trees), strict=True))
        for tree, info in infos.items():
            if info is None:
                raise Undecided("evidence-incomplete", f"tree {tree} is not here", "git fetch --unshallow")
        return {tree: info.size for tree, info in infos.items() if info is not None}

    def _parsed(self, trees: Sequence[ObjectId]) -> Iterator[Entries]:
        """The entries of trees, read in one batch, which are then the caller's to keep."""
        for tree, raw in zip(trees, self._objects.contents(trees, type="tree", limit=MAX_TREE), strict=True):
            if raw is None:
                raise Undecided("evidence-incomplete", f"tree {tree} is not here", "git fetch --unshallow")
            # An entry has a zero, and its id may have more: twice as many are too many entries or made to be.
            entries = _entries(raw, len(tree) // 2) if raw.count(b"\0") <= 2 * MAX_IN_FOLDER else None
            if entries is None or len(entries) > MAX_IN_FOLDER:
                message = f"a folder of more than {MAX_IN_FOLDER} entries"
                raise Undecided("limits-exceeded", message, "divide it into several folders")
            yield entries

    def entries(self, tree: ObjectId) -> Entries:
        """A tree's entries in their order, twins and all."""
        self.load([tree])
        return self._entries[tree]

    def by_name(self, tree: ObjectId) -> Mapping[bytes, Entry]:
        """A tree's entries by name."""
        if tree not in self._by_name:
            self._by_name[tree] = dict(self.entries(tree))
        return self._by_name[tree]

    def at(self, tree: ObjectId, path: bytes) -> Entry | None:
        """What a path holds below a tree; None where nothing is there. The root (empty) is a folder."""
        if not path:
            return Entry(FOLDER, tree)
        folder, _, name = path.rpartition(b"/")
        found = self._folder(tree, folder) if not path.startswith(b"/") else None
        return self.by_name(found).get(name) if found is not None else None

    def _folder(self, tree: ObjectId, folder: bytes) -> ObjectId | None:
        """The tree at a path, from the nearest folder above it that is known."""
        unknown: list[bytes] = []
        while folder and (tree, folder) not in self._folders:
            unknown.append(folder)
            folder = folder.rpartition(b"/")[0]
        found = self._folders[tree, folder] if folder else tree
        for path in reversed(unknown):
            entry = self.by_name(found).get(path.rpartition(b"/")[2]) if found is not None else None
            found = entry.id if entry is not None and entry.mode == FOLDER else None
            self._folders[tree, path] = found
        return found

    def load_paths(self, tree: ObjectId, paths: Iterable[bytes]) -> None:
        """Read every folder above the paths, a batch for each level, so that `at` needs to read nothing more."""
        levels: dict[int, list[bytes]] = {}
        for folder in folders_of_all(paths):
            levels.setdefault(folder.count(b"/") + 1 if folder else 0, []).append(folder)
        for level in sorted(levels):
            found = (self.at(tree, folder) for folder in levels[level])
            self.load([entry.id for entry in found if entry is not None and entry.mode == FOLDER])

    def names_in(self, tree: ObjectId, folder: bytes) -> frozenset[bytes]:
        """The names in a folder below a tree; none where there is no such folder."""
        entry = self.at(tree, folder)
        return frozenset(self.by_name(entry.id)) if entry is not None and entry.mode == FOLDER else frozenset()

    def blobs_below(self, tree: ObjectId, folder: bytes) -> list[ObjectId]:
        """The blobs of all files and links below a folder. Raises Undecided `limits-exceeded` for too many folders."""
        top = self.at(tree, folder)
        level = [top.id] if top is not None and top.mode == FOLDER else []
        found: list[ObjectId] = []
        seen = 0
        while level:
            seen += len(level)
            if seen > MAX_FOLDERS:
                raise Undecided("limits-exceeded", f"over {MAX_FOLDERS} folders below {folder.decode()}")
            self.load(level)
            entries = [entry for one in level for _, entry in self.entries(one)]
            found += [entry.id for entry in entries if entry.mode not in (FOLDER, SUBMODULE)]
            level = [entry.id for entry in entries if entry.mode == FOLDER]
        return list(dict.fromkeys(found))

    def malformed(self, pairs: Iterable[tuple[ObjectId, ObjectId]], most: int = MAX_FOLDERS) -> list[tuple[bytes, str]]:
        """Of each pair, the folders of the second that differ from those of the first and are no trees, and why.

        git compares trees as it finds them; one with an entry twice, or out of order, shows different contents to
        different readers. Raises Undecided `limits-exceeded` where git would have to walk more than `most` folders: one
        that holds another ten times, which holds another ten times, is small until somebody does. Here folders that
        are alike are looked at once, and only what differs is kept.
        """
        found: set[tuple[bytes, str]] = set()
        level: _Level = {}
        for before, after in pairs:
            if before != after:
                _add(level, (before, after), b"", 1)
        walked = files = 0
        while level:
            walked += sum(times for _, times in level.values())
            if walked > most:
                raise Undecided("limits-exceeded", f"over {most} changed folders", "split the pull request")
            below: _Level = {}
            self._look_at(level)
            for pair, (folder, times) in level.items():
                fault, added, children = self._differences[pair]
                found.update([(folder, fault)] if fault is not None else [])
                files += times * added
                if files > MAX_FILES:
                    raise Undecided("limits-exceeded", f"over {MAX_FILES} changed files", "split the pull request")
                for name, child in children:
                    path = folder + b"/" + name if folder else name
                    if len(path) > MAX_PATH:
                        raise Undecided("limits-exceeded", f"a path of over {MAX_PATH} bytes", "shorten it")
                    _add(below, child, path, times)
            level = below
        return sorted(found)

    def _look_at(self, level: _Level) -> None:
        """Note in what the pairs differ that were not looked at yet."""
        pairs = [pair for pair in level if pair not in self._differences]
        sizes = self._sizes(list(dict.fromkeys(tree for pair in pairs for tree in pair if tree is not None)))
        for some in _groups(pairs, sizes):
            trees = list(dict.fromkeys(tree for pair in some for tree in pair if tree is not None))
            self._compared += sum(sizes[tree] for tree in trees)
            if self._compared > MAX_ALL:
                raise Undecided("limits-exceeded", f"over {MAX_ALL} bytes of trees", "split the pull request")
            entries = dict(zip(trees, self._parsed(trees), strict=True))
            for old, new in some:
                self._differences[old, new] = _difference(entries[old] if old is not None else (), entries[new])


def _difference(old: Entries, new: Entries) -> _Difference:
    known = dict(old)
    differ = [(name, entry, known.get(name)) for name, entry in new if known.get(name) != entry]
    folders = [(name, entry, was) for name, entry, was in differ if entry.mode == FOLDER]
    children = [
        (name, (was.id if was is not None and was.mode == FOLDER else None, entry.id)) for name, entry, was in folders
    ]
    return next(iter(faults(new)), None), len(differ) - len(folders), children


def _add(level: _Level, pair: _Pair, path: bytes, times: int) -> None:
    """Note that a pair of folders is met so many times more, and the longest path at which it is."""
    known, before = level.get(pair, (path, 0))
    level[pair] = (max(known, path, key=len), before + times)


def _groups(pairs: Sequence[_Trees], sizes: Mapping[ObjectId, int]) -> Iterator[Sequence[_Trees]]:
    """Parts of a list, each as long as its trees have no more than `_AT_ONCE` bytes; a large one comes alone."""
    some: list[_Trees] = []
    total = 0
    for pair in pairs:
        size = sum(sizes[tree] for tree in pair if tree is not None)
        if some and total + size > _AT_ONCE:
            yield some
            some, total = [], 0
        some.append(pair)
        total += size
    if some:
        yield some


def _entries(raw: bytes, id_size: int) -> Entries:
    return [(name, Entry(mode, object_id)) for mode, name, object_id in tree_entries(raw, id_size)]


def faults(entries: Entries) -> list[str]:
    """What makes a list of entries no well-formed tree."""
    names = [name for name, _ in entries]
    wrong: list[str] = []
    if len(set(names)) != len(names):
        wrong.append("a name stands in it twice")
    keys = [name + b"/" if entry.mode == FOLDER else name for name, entry in entries]
    if keys != sorted(keys):
        wrong.append("its entries are out of order")
    if any(entry.mode not in _MODES for _, entry in entries):
        wrong.append("an entry has a mode that git does not write")
    if any(name in (b"", b".", b"..") or b"/" in name or name.lower() == b".git" for name in names):
        wrong.append("a name that no file can have")
    return wrong
