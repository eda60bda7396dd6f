"""The board's `TreeReader` over a commit, through `git cat-file`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from claims.board.board import Board, Entry, NotAFile
from claims.board.config import CONFIG_PATH
from claims.board.node import MAX_FILE
from claims.errors import Undecided
from claims.git import FETCH, ProcessTimedOut, printable
from claims.names import ObjectId
from claims.session import Session

#: The largest tree object that is read: 10,000 task files make one of half a megabyte.
_MAX_TREE = 64 * 1024 * 1024
#: From so many paths of one batch on their folders are read: for a path, git unpacks and searches its folder each time.
_MANY = 64
#: Mode, name and object id, by the length of the id.
_ENTRY = {size: re.compile(rb"([0-7]{5,6}) ([^\0]*)\0(.{%d})" % size, re.DOTALL) for size in (20, 32)}
_FOLDER_MODES = {0o040000: "folder", 0o160000: "submodule"}
#: What git says of an object that is no file, as people call it.
_TYPES = {"tree": "folder", "commit": "submodule"}
_ROOT = CONFIG_PATH.rpartition("/")[0]


class GitTree:
    """The tree of one commit. Once a folder was listed, its files are found by what was listed."""

    def __init__(self, session: Session, commit: ObjectId) -> None:
        self._session = session
        self._commit = commit
        self._folders: dict[str, dict[str, Entry] | None] = {}
        self._brought: tuple[str, ...] = ()

    def bring_below(self, folder: str) -> None:
        """In a partial clone, fetch what is missing of the files below a folder, at once, however they are read then.

        Raises Undecided `remote-unreachable`, and `evidence-incomplete` where no remote is asked.
        """
        if self._session.partial_clone and self._listed(folder) is not None:
            self._bring(sorted(self._missing_below([folder])))
            self._brought = (*self._brought, f"{folder}/")

    def list(self, folder: str) -> tuple[Entry, ...] | None:
        listed = self._listed(folder)
        return None if listed is None else tuple(listed.values())

    def files(self, folder: str) -> Sequence[str]:
        if folder in self._folders:
            return [entry.name for entry in self.list(folder) or () if entry.mode not in _FOLDER_MODES]
        raw = self._raw(folder) or b""
        names = [name for mode, name, _ in _split(raw, len(self._commit) // 2) if int(mode, 8) not in _FOLDER_MODES]
        return [name.decode("utf-8", "surrogateescape") for name in names]

    def read(self, paths: Sequence[str]) -> Sequence[bytes | None]:
        if self._session.partial_clone:
            self._fetch_missing(paths)
        if any(path.rpartition("/")[0] == _ROOT for path in paths):
            self._listed(_ROOT)  # by its path, git takes a submodule for nothing at all
        names = self._names(paths)
        for path, name in zip(paths, names, strict=True):
            if name is None:
                self._refuse_folder(path)
        asked = [name for name in names if name is not None]
        try:
            found = iter(self._session.objects.contents(asked, type="blob", limit=MAX_FILE))
        except Undecided as fault:
            raise _told_of_path(fault, paths, names) from None
        return [None if name is None else next(found) for name in names]

    def exists(self, paths: Sequence[str]) -> Sequence[bool]:
        if self._session.partial_clone:  # to ask git for the type of a blob would fetch it
            self._list_folders_of(paths)
        names = self._names(paths)
        unlisted = [name for name in names if name is not None and ":" in name]
        infos = self._session.objects.info(unlisted)
        there = {name for name, info in zip(unlisted, infos, strict=True) if info is not None and info.type == "blob"}
        return [name is not None and (":" not in name or name in there) for name in names]

    def _names(self, paths: Sequence[str]) -> tuple[str | None, ...]:
        """What git finds each file by: its id where its folder was listed (None: not there), else `<commit>:<path>`."""
        if len(paths) >= _MANY:
            self._list_folders_of(paths)
        return tuple(map(self._name_of, paths))

    def _name_of(self, path: str) -> str | None:
        folder, _, name = path.rpartition("/")
        if folder not in self._folders:
            return self._name(path)
        entry = (self._folders[folder] or {}).get(name)
        return None if entry is None or entry.mode in _FOLDER_MODES else entry.id

    def _refuse_folder(self, path: str) -> None:
        """Raise NotAFile for a path that is known to be a folder or a submodule."""
        folder, _, name = path.rpartition("/")
        entry = (self._folders.get(folder) or {}).get(name)
        if entry is not None and entry.mode in _FOLDER_MODES:
            raise NotAFile(path, _FOLDER_MODES[entry.mode])

    def _list_folders_of(self, paths: Sequence[str]) -> None:
        for folder in sorted({path.rpartition("/")[0] for path in paths}):
            self._listed(folder)

    def _listed(self, folder: str) -> dict[str, Entry] | None:
        if folder not in self._folders:
            self._folders[folder] = self._read_folder(folder)
        return self._folders[folder]

    def _read_folder(self, folder: str) -> dict[str, Entry] | None:
        raw = self._raw(folder)
        if raw is None:
            return None
        return {entry.name: entry for entry in parse_tree(raw, len(self._commit) // 2)}

    def _raw(self, folder: str) -> bytes | None:
        """The folder's tree object; None where there is no such folder."""
        objects = self._session.objects
        info = objects.info([self._name(folder)])[0]
        if info is None or info.type != "tree":
            return None
        return objects.contents([info.id], type="tree", limit=_MAX_TREE)[0] or b""

    def _name(self, path: str) -> str:
        return f"{self._commit}:{path}"

    def _fetch_missing(self, paths: Sequence[str]) -> None:
        """Ask the remote for the blobs that a partial clone lacks, all in one fetch instead of one each."""
        if all(path.startswith(self._brought) for path in paths):
            return
        self._list_folders_of(paths)
        wanted = {name for name in map(self._name_of, dict.fromkeys(paths)) if name is not None}
        if wanted:
            self._bring(sorted(wanted & self._missing_below({path.rpartition("/")[0] for path in paths})))

    def _bring(self, missing: Sequence[str]) -> None:
        if not missing:
            return
        remote = self._session.remote or self._session.remote_left_out
        if remote is None:
            raise Undecided(
                "evidence-incomplete",
                f"{len(missing)} files of the board are not in this partial clone, and no remote is asked",
                "git config swarm.remote NAME   # of those that git remote -v lists",
            )
        self._fetch(remote, missing)

    def _fetch(self, remote: str, ids: Sequence[str]) -> None:
        """Fetch objects. Raises Undecided `remote-unreachable`."""
        try:
            done = self._session.git.run(
                *FETCH,
                remote,
                *ids,
                ok=range(256),
                deadline=self._session.network_deadline,
                network=True,
            )
        except ProcessTimedOut as error:
            raise Undecided("remote-unreachable", f"{remote}: {error.message}", f"git ls-remote {remote}") from None
        if done.code != 0:
            raise Undecided("remote-unreachable", f"{remote}: {done.words}", f"git ls-remote {remote}")

    def _missing_below(self, folders: Iterable[str]) -> set[str]:
        """The blobs below folders that this clone lacks.

        Asked by tree: git 2.39 refuses a missing blob as a starting point (`bad object`), and cat-file would fetch it.
        """
        trees = "".join(f"{self._name(folder)}\n" for folder in sorted(folders) if self._folders.get(folder))
        listing = self._session.git.run(
            "rev-list", "--objects", "--no-object-names", "--missing=print", "--stdin", stdin=trees.encode("utf-8")
        ).out
        return {line[1:] for line in listing.decode("ascii").split() if line.startswith("?")}


def board_at(session: Session, commit: ObjectId) -> Board:
    """The board as `commit` has it."""
    return Board(commit, GitTree(session, commit))


def _told_of_path(fault: Undecided, paths: Sequence[str], names: Sequence[str | None]) -> Undecided:
    """What is wrong with an object, told of the path that names it."""
    if "name" not in fault.details:
        return fault
    path = paths[names.index(fault.details["name"])]
    if fault.code == "limits-exceeded":
        message = f"{printable(path)}: over {MAX_FILE} bytes, which no file under .agents/ may have"
        return Undecided("limits-exceeded", message)
    return NotAFile(path, _TYPES.get(fault.details["type"], fault.details["type"]))


def tree_entries(raw: bytes, id_size: int) -> list[tuple[int, bytes, ObjectId]]:
    """A tree object's entries as mode, name and id; `id_size` is the length of an id in bytes.

    Raises Undecided `git-failed` for what is no tree.
    """
    return [(int(mode, 8), name, ObjectId(object_id.hex())) for mode, name, object_id in _split(raw, id_size)]


def _split(raw: bytes, id_size: int) -> list[tuple[bytes, bytes, bytes]]:
    found: list[tuple[bytes, bytes, bytes]] = _ENTRY[id_size].findall(raw)
    # What the pattern passed over is no entry.
    if sum(len(mode) + len(name) for mode, name, _ in found) + len(found) * (2 + id_size) != len(raw):
        raise Undecided("git-failed", "a tree object does not read as one")
    return found


def parse_tree(raw: bytes, id_size: int) -> tuple[Entry, ...]:
    """The same, as the board has its entries."""
    return tuple(
        Entry(name.decode("utf-8", "surrogateescape"), mode, object_id)
        for mode, name, object_id in tree_entries(raw, id_size)
    )
