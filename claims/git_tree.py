"""The board's `TreeReader` over a commit, through `git cat-file`."""

from __future__ import annotations

from collections.abc import Sequence

from claims.board.board import Board, Entry
from claims.board.node import MAX_FILE
from claims.errors import Undecided
from claims.names import ObjectId
from claims.session import Session

#: The largest tree object that is read: 10,000 task files make one of half a megabyte.
_MAX_TREE = 64 * 1024 * 1024


class GitTree:
    """The tree of one commit."""

    def __init__(self, session: Session, commit: ObjectId) -> None:
        self._session = session
        self._commit = commit
        self._folders: dict[str, tuple[Entry, ...]] = {}

    def list(self, folder: str) -> tuple[Entry, ...] | None:
        raw = self._session.objects.contents([self._name(folder)], type="tree", limit=_MAX_TREE)[0]
        return None if raw is None else parse_tree(raw, len(self._commit) // 2)

    def read(self, paths: Sequence[str]) -> Sequence[bytes | None]:
        if self._session.partial_clone:
            self._fetch_missing(paths)
        return self._session.objects.contents([self._name(path) for path in paths], type="blob", limit=MAX_FILE)

    def exists(self, paths: Sequence[str]) -> Sequence[bool]:
        if self._session.partial_clone:  # to ask git for the type of a blob would fetch it
            return [self._is_listed(path) for path in paths]
        return [info is not None for info in self._session.objects.info([self._name(path) for path in paths])]

    def _is_listed(self, path: str) -> bool:
        folder, _, name = path.rpartition("/")
        return any(entry.name == name for entry in self._folder(folder))

    def _folder(self, folder: str) -> tuple[Entry, ...]:
        if folder not in self._folders:
            self._folders[folder] = self.list(folder) or ()
        return self._folders[folder]

    def _name(self, path: str) -> str:
        return f"{self._commit}:{path}"

    def _fetch_missing(self, paths: Sequence[str]) -> None:
        """Ask the remote for the blobs that a partial clone lacks, all in one fetch instead of one each."""
        folders = sorted({path.rpartition("/")[0] for path in paths})
        wanted = set(paths)
        ids = [
            entry.id
            for folder in folders
            for entry in self._folder(folder)
            if f"{folder}/{entry.name}" in wanted and entry.id is not None
        ]
        if not ids:
            return
        git = self._session.git
        listing = git.run(
            "rev-list",
            "--objects",
            "--no-object-names",
            "--no-walk",
            "--missing=print",
            "--stdin",
            stdin="".join(f"{object_id}\n" for object_id in ids).encode("ascii"),
        ).out
        missing = [line[1:] for line in listing.decode("ascii").split() if line.startswith("?")]
        if not missing:
            return
        remote = self._session.remote or self._session.remote_left_out
        if remote is None:
            raise Undecided("evidence-incomplete", f"{len(missing)} files of the board are not in this partial clone")
        git.run(
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-prune",
            "--no-recurse-submodules",
            "--no-write-fetch-head",
            "--no-auto-maintenance",
            "--refmap=",
            remote,
            *missing,
            deadline=self._session.network_deadline,
            network=True,
        )


def board_at(session: Session, commit: ObjectId) -> Board:
    """The board as `commit` has it."""
    return Board(commit, GitTree(session, commit))


def parse_tree(raw: bytes, id_size: int) -> tuple[Entry, ...]:
    """A tree object's entries; `id_size` is the length of an object id in bytes. Raises Undecided `git-failed`."""
    entries: list[Entry] = []
    at = 0
    while at < len(raw):
        end = raw.find(b"\0", at)
        mode, _, name = raw[at:end].partition(b" ")
        at = end + 1 + id_size
        if end < 0 or at > len(raw) or not mode.isdigit():
            raise Undecided("git-failed", "a tree object does not read as one")
        object_id = ObjectId(raw[end + 1 : at].hex())
        entries.append(Entry(name.decode("utf-8", "surrogateescape"), int(mode, 8), object_id))
    return tuple(entries)
