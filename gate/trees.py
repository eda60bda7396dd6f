"""Trees as bytes, each read and parsed once; many at a time where many are wanted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from claims.errors import Undecided
from claims.git import Objects
from claims.git_tree import tree_entries
from claims.names import ObjectId
from gate.tree import FOLDER, MAX_PATH, SUBMODULE, Entry, folders_of_all

#: The largest tree object that is read.
MAX_TREE = 64 * 1024 * 1024
#: Bytes of trees that are read in all: 50,000 paths in folders of a hundred make a tenth of it.
MAX_ALL = 512 * 1024 * 1024
#: Folders in which two trees may differ.
MAX_FOLDERS = 50_000
_MODES = (0o100644, 0o100755, 0o120000, 0o160000, FOLDER)

Entries = Sequence[tuple[bytes, Entry]]


class Trees:
    """The trees of one repository. Everything is by id, so nothing that was read can go stale.

    A tree that is not there is `evidence-incomplete`: it never counts as empty.
    """

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._entries: dict[ObjectId, Entries] = {}
        self._by_name: dict[ObjectId, Mapping[bytes, Entry]] = {}
        self._folders: dict[tuple[ObjectId, bytes], ObjectId | None] = {}
        self._malformed: dict[tuple[ObjectId, ObjectId], list[tuple[bytes, str]]] = {}
        self._size = 0

    def load(self, ids: Iterable[ObjectId]) -> None:
        """Read trees in one batch. Raises Undecided `evidence-incomplete` and `limits-exceeded`."""
        wanted = [tree for tree in dict.fromkeys(ids) if tree not in self._entries]
        if not wanted:
            return
        for tree, raw in zip(wanted, self._objects.contents(wanted, type="tree", limit=MAX_TREE), strict=True):
            if raw is None:
                raise Undecided("evidence-incomplete", f"tree {tree} is not here", "git fetch --unshallow")
            self._size += len(raw)
            if self._size > MAX_ALL:
                raise Undecided("limits-exceeded", f"over {MAX_ALL} bytes of trees", "split the pull request")
            self._entries[tree] = [
                (name, Entry(mode, object_id)) for mode, name, object_id in tree_entries(raw, len(tree) // 2)
            ]

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

    def malformed(self, before: ObjectId, after: ObjectId) -> list[tuple[bytes, str]]:
        """The folders below `after` that differ from those below `before` and are no well-formed trees, and why.

        git compares trees as it finds them; one with an entry twice, or out of order, shows different contents to
        different readers. Raises Undecided `limits-exceeded` where they differ in too many folders.
        """
        if (before, after) not in self._malformed:
            self._malformed[before, after] = self._look_for_faults(before, after)
        return self._malformed[before, after]

    def _look_for_faults(self, before: ObjectId, after: ObjectId) -> list[tuple[bytes, str]]:
        found: list[tuple[bytes, str]] = []
        level: list[tuple[bytes, ObjectId | None, ObjectId]] = [(b"", before, after)] if before != after else []
        seen = 0
        while level:
            seen += len(level)
            if seen > MAX_FOLDERS:
                raise Undecided("limits-exceeded", f"over {MAX_FOLDERS} changed folders", "split the pull request")
            self.load([tree for _, old, new in level for tree in (old, new) if tree is not None])
            below: list[tuple[bytes, ObjectId | None, ObjectId]] = []
            for folder, old, new in level:
                entries = self.entries(new)
                found += [(folder, fault) for fault in faults(entries)[:1]]
                known = self.by_name(old) if old is not None else {}
                for name, entry in entries:
                    was = known.get(name)
                    if entry.mode == FOLDER and was != entry:
                        path = folder + b"/" + name if folder else name
                        if len(path) > MAX_PATH:
                            raise Undecided("limits-exceeded", f"a path of over {MAX_PATH} bytes", "shorten it")
                        below.append((path, was.id if was is not None and was.mode == FOLDER else None, entry.id))
            level = below
        return sorted(found)


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
