"""The gate's own repository: bare, in a temporary folder, with nothing of the user's or of the head's in force.

It borrows the objects of a repository on this machine. It has no work tree, no attributes, no hooks, no replace refs
or grafts, no configuration but its own, and never asks a remote for objects behind anybody's back.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from claims.errors import SwarmError, Undecided
from claims.git import Completed, Git, Objects, ProcessTimedOut
from claims.names import ObjectId, parse_object_id
from gate.landing import Commit
from gate.tree import Change, Entry
from gate.trees import MAX_FOLDERS, Trees

#: Seconds for one git process.
DEADLINE = 120.0
#: High enough for honest work; a hostile number of renames runs into the deadline.
_RENAME_LIMIT = 20_000
#: Bytes in which changes are told: 50,000 paths make a tenth of it.
_MOST_COMMIT = 1024 * 1024
_MOST_CHANGES = 64 * 1024 * 1024
#: Commits of a claim's branch that are followed from what it names.
_MOST_BEYOND = 100_000

#: What to do where objects are missing.
MORE_HISTORY = "git fetch --unshallow, and try again"
MORE_BLOBS = "git fetch --refetch --no-filter, and try again"

_CONFIG = (
    *("-c", "core.attributesFile=" + os.devnull),
    *("-c", "core.commitGraph=false"),
    *("-c", "core.quotePath=false"),
    *("-c", "diff.renames=false"),
    *("-c", "log.showSignature=false"),
)


class GateRepository:
    """Answers what `gate.landing` and `gate.gather` ask, from objects only."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._trees: dict[ObjectId, ObjectId] = {}
        self.objects: Objects = git.objects()
        self.trees = Trees(self.objects)

    @property
    def merging(self) -> Git:
        """git, as it merges."""
        return self._git

    def commit(self, commit: ObjectId) -> Commit:
        """A commit by its id. Raises Undecided `evidence-incomplete`."""
        raw = self.objects.contents([commit], type="commit", limit=_MOST_COMMIT)[0]
        if raw is None:
            raise Undecided("evidence-incomplete", f"the commit {commit} is not here", MORE_HISTORY)
        lines = raw.partition(b"\n\n")[0].split(b"\n")
        parents = tuple(_id(line.removeprefix(b"parent ")) for line in lines if line.startswith(b"parent "))
        return Commit(commit, self.tree_of(commit), parents)

    def divergence(self, base: ObjectId, head: ObjectId, most: int) -> tuple[list[ObjectId], list[Commit]]:
        bases, commits = self._run_all(
            ("merge-base", "--all", base, head),
            (
                *("rev-list", "--topo-order", "--no-commit-header", "--format=%H %T %P", f"--max-count={most}"),
                *(head, f"^{base}"),
            ),
            ok=(0, 1),
        )
        if commits.code != 0:
            raise Undecided("evidence-incomplete", commits.words, MORE_HISTORY)
        return [_id(line) for line in bases.out.split()], [self._commit(line) for line in commits.out.split(b"\n")[:-1]]

    def first_parents(self, head: ObjectId, base: ObjectId, most: int) -> list[Commit]:
        """The commits from head by first parents, head first, at most so many, without what base has."""
        listed = self._run(
            *("rev-list", "--first-parent", "--topo-order", "--no-commit-header", "--format=%H %T %P"),
            *(f"--max-count={most}", head, f"^{base}"),
        )
        return [self._commit(line) for line in listed.out.split(b"\n")[:-1]]

    def is_in_history(self, ids: Sequence[ObjectId], of: ObjectId) -> dict[ObjectId, bool]:
        """Whether each id is a commit in the history of `of`. One that is not here is not in it."""
        infos = dict(zip(ids, self.objects.info(ids), strict=True))
        # In a repository of longer ids a short one is an abbreviation, and rev-list would list the whole one.
        commits = [one for one, info in infos.items() if info is not None and info.type == "commit" and info.id == one]
        here = [one for one in commits if one != of]
        found = {one: one == of for one in ids}
        if here:
            # Whatever is beyond is listed, the ids themselves among it.
            listed = self._run("rev-list", f"--max-count={_MOST_BEYOND}", *here, f"^{of}").out.split()
            if len(listed) >= _MOST_BEYOND:
                message = f"the commits that claims name lead over {_MOST_BEYOND} commits away from base"
                raise Undecided("limits-exceeded", message)
            beyond = {_id(line) for line in listed}
            found.update((one, one not in beyond) for one in here)
        return found

    def tree_of(self, commit: ObjectId) -> ObjectId:
        if commit not in self._trees:
            info = self.objects.info([f"{commit}^{{tree}}"])[0]
            if info is None or info.type != "tree":
                raise Undecided("evidence-incomplete", f"commit {commit} has no tree here", "git fetch --unshallow")
            self._trees[commit] = info.id
        return self._trees[commit]

    def bring(self, blobs: Sequence[ObjectId]) -> None:
        """Make blobs readable, all in one fetch where there is somebody to fetch from: here there is nobody."""

    def sizes(self, blobs: Sequence[ObjectId]) -> list[int]:
        """The sizes of blobs in bytes. Raises Undecided `evidence-incomplete` for what is here as no blob."""
        self.bring(blobs)
        infos = self.objects.info(blobs)
        missing = [blob for blob, info in zip(blobs, infos, strict=True) if info is None or info.type != "blob"]
        if missing:
            raise Undecided("evidence-incomplete", f"the file {missing[0]} is not here", MORE_BLOBS)
        return [info.size for info in infos if info is not None]

    def read_blobs(self, blobs: Sequence[ObjectId], limit: int) -> list[bytes]:
        """Their contents. Raises Undecided `evidence-incomplete`, and `limits-exceeded` for one over `limit` bytes."""
        self.bring(blobs)
        found = self.objects.contents(blobs, type="blob", limit=limit)
        for blob, data in zip(blobs, found, strict=True):
            if data is None:
                raise Undecided("evidence-incomplete", f"the file {blob} is not here", MORE_BLOBS)
        return [data for data in found if data is not None]

    def merges(
        self, ours: ObjectId, theirs: ObjectId, directory_renames: Sequence[bool]
    ) -> list[tuple[ObjectId, bool]]:
        commands = [
            (
                *("-c", f"merge.directoryRenames={'true' if setting else 'false'}", "-c", "merge.renames=true"),
                *("-c", f"merge.renameLimit={_RENAME_LIMIT}"),
                *("merge-tree", "--write-tree", "--allow-unrelated-histories", "-z", "--no-messages", ours, theirs),
            )
            for setting in directory_renames
        ]
        merged = self._run_all(*commands, ok=(0, 1), git=self.merging)
        return [(_id(done.out.partition(b"\0")[0]), done.code == 0) for done in merged]

    def remerges(self, pairs: Sequence[tuple[ObjectId, ...]]) -> list[ObjectId]:
        until = time.monotonic() + DEADLINE
        found: dict[tuple[ObjectId, ...], ObjectId] = {}
        for ours, theirs in pairs:
            if (ours, theirs) not in found:
                if time.monotonic() > until:
                    message = f"merging the parents of {len(pairs)} merges anew took over {DEADLINE:g} s"
                    raise ProcessTimedOut("timed-out", message, "rebase the branch, so that it has fewer")
                ((found[ours, theirs], _),) = self.merges(ours, theirs, (False,))
        return [found[pair] for pair in pairs]

    def like_no_parent(self, merges: Sequence[ObjectId]) -> dict[ObjectId, tuple[Change, ...]]:
        if not merges:
            return {}
        return parse_combined(self._diff_trees("-c", stdin="".join(f"{commit}\n" for commit in merges)))

    def malformed(self, pairs: Sequence[tuple[ObjectId, ObjectId]], most: int | None = None) -> list[tuple[bytes, str]]:
        return self.trees.malformed(pairs, most or MAX_FOLDERS)

    def changes(self, pairs: Sequence[tuple[ObjectId, ObjectId]]) -> list[tuple[Change, ...]]:
        different = [pair for pair in dict.fromkeys(pairs) if pair[0] != pair[1]]
        found: dict[tuple[ObjectId, ObjectId], tuple[Change, ...]] = {}
        if different:
            stdin = "".join(f"{before} {after}\n" for before, after in different)
            found = parse_diff(self._diff_trees(stdin=stdin))
            if len(found) != len(different):
                raise Undecided("evidence-incomplete", "git diff-tree did not answer for every pair of trees")
        return [found.get(pair, ()) for pair in pairs]

    def _diff_trees(self, *options: str, stdin: str) -> bytes:
        with _as_evidence():
            return self._git.read(
                *_CONFIG,
                *("diff-tree", "--stdin", "-r", "-z", "--raw", "--no-renames", "--no-abbrev"),
                *("--ignore-submodules=none", *options),
                stdin=stdin.encode("ascii"),
                most=_MOST_CHANGES,
                deadline=DEADLINE,
            )

    def _commit(self, line: bytes) -> Commit:
        commit, tree, *parents = (_id(word) for word in line.split())
        self._trees[commit] = tree
        return Commit(commit, tree, tuple(parents))

    def _run(self, *args: str, stdin: bytes = b"", ok: Sequence[int] = (0,)) -> Completed:
        with _as_evidence():
            return self._git.run(*_CONFIG, *args, stdin=stdin, ok=ok, deadline=DEADLINE)

    def _run_all(self, *commands: Sequence[str], ok: Sequence[int], git: Git | None = None) -> list[Completed]:
        """Run several at once; their answers in order."""
        with _as_evidence():
            begun = [(git or self._git).begin(*_CONFIG, *command) for command in commands]
            try:
                return [one.end(ok=ok, deadline=DEADLINE) for one in begun]
            finally:
                for one in begun:
                    one.stop()


@contextmanager
def _as_evidence() -> Iterator[None]:
    """Make `evidence-incomplete` of what git could not answer."""
    try:
        yield
    except ProcessTimedOut:
        raise
    except SwarmError as error:
        if error.code in ("git-missing", "git-too-old", "limits-exceeded"):
            raise
        raise Undecided("evidence-incomplete", error.message, MORE_HISTORY) from None


@contextmanager
def borrowing(objects: Path, object_format: str, environ: Mapping[str, str]) -> Iterator[GateRepository]:
    """A gate repository over the objects of another one, gone at the end."""
    with borrowed_git(objects, object_format, environ) as git:
        repository = GateRepository(git)
        try:
            yield repository
        finally:
            repository.objects.close()


@contextmanager
def borrowed_git(objects: Path, object_format: str, environ: Mapping[str, str]) -> Iterator[Git]:
    """git in a sealed repository that has the objects in a folder, gone at the end."""
    with tempfile.TemporaryDirectory(prefix="swarm-gate-") as folder:
        git = sealed(Path(folder), object_format, environ)
        alternates = git.directory / "objects" / "info" / "alternates"
        alternates.parent.mkdir(parents=True, exist_ok=True)
        alternates.write_text(_quoted(objects), encoding="utf-8", errors="surrogateescape")
        yield git


def sealed(folder: Path, object_format: str, environ: Mapping[str, str]) -> Git:
    """git in an empty bare repository below `folder`, with nothing of the user's in force and no way to a remote."""
    kept = {
        **{name: value for name, value in environ.items() if not name.startswith(("GIT_", "XDG_"))},
        "HOME": str(folder),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "SWARM_GIT_CONFIG_SEALED": "1",
    }
    place = folder / "repository"
    _create(place, object_format)
    git = Git(place, kept)
    git.environ.update({"GIT_ATTR_NOSYSTEM": "1", "GIT_ALLOW_PROTOCOL": "none"})
    return git


def _create(place: Path, object_format: str) -> None:
    """An empty bare repository, as gitrepository-layout(5) has it: `git init` takes as long as a merge."""
    for folder in ("objects", "refs"):
        (place / folder).mkdir(parents=True)
    (place / "HEAD").write_text("ref: refs/heads/none\n", encoding="ascii")
    # Only version 1 has extensions, and sha1 is none.
    version, extension = (
        (0, "") if object_format == "sha1" else (1, f"[extensions]\n\tobjectFormat = {object_format}\n")
    )
    core = f"[core]\n\trepositoryFormatVersion = {version}\n\tbare = true\n"
    (place / "config").write_text(core + extension, encoding="ascii")


def parse_diff(out: bytes) -> dict[tuple[ObjectId, ObjectId], tuple[Change, ...]]:
    """Read `diff-tree --stdin -r -z --raw`: a line with both trees, then for each path a head and the path.

    Raises Undecided `evidence-incomplete` for anything else.
    """
    found: dict[tuple[ObjectId, ObjectId], list[Change]] = {}
    at, current = 0, None
    while at < len(out):
        if out[at : at + 1] != b":":
            end = out.find(b"\n", at)
            words = out[at:end].split(b" ")
            if end < 0 or len(words) != 2:
                raise Undecided("evidence-incomplete", "git diff-tree answered something that is no header")
            current = found.setdefault((_id(words[0]), _id(words[1])), [])
            at = end + 1
            continue
        end = out.find(b"\0", at)
        stop = out.find(b"\0", end + 1)
        fields = out[at + 1 : end].split(b" ")
        if end < 0 or stop < 0 or len(fields) != 5 or current is None:
            raise Undecided("evidence-incomplete", "git diff-tree answered something that is no change")
        old_mode, new_mode, old, new, _ = fields
        current.append(Change(out[end + 1 : stop], _entry(old_mode, old), _entry(new_mode, new)))
        at = stop + 1
    return {pair: tuple(changes) for pair, changes in found.items()}


def parse_combined(out: bytes) -> dict[ObjectId, tuple[Change, ...]]:
    """Read `diff-tree --stdin -c -r -z --raw` of merges: a commit, then for each path a head with all sides, and it.

    A change is to what the first parent has there, or, where it has nothing, the second. Raises Undecided
    `evidence-incomplete` for anything else.
    """
    found: dict[ObjectId, list[Change]] = {}
    current: list[Change] | None = None
    fields = iter(out.split(b"\0")[:-1])
    for field in fields:
        if not field.startswith(b":"):
            current = found.setdefault(_id(field), [])
            continue
        path, words = next(fields, None), field.lstrip(b":").split(b" ")
        count = len(words) // 2
        if path is None or current is None or len(words) != 2 * count + 1 or count < 2:
            raise Undecided("evidence-incomplete", "git diff-tree answered something that is no change of a merge")
        *before, after = map(_entry, words[:count], words[count : 2 * count])
        current.append(Change(path, next((entry for entry in before if entry is not None), None), after))
    return {commit: tuple(changes) for commit, changes in found.items()}


def _entry(mode: bytes, object_id: bytes) -> Entry | None:
    number = int(mode, 8)
    return Entry(number, _id(object_id)) if number else None


def _id(raw: bytes) -> ObjectId:
    try:
        return parse_object_id(raw.decode("ascii", "replace"))
    except ValueError as error:
        raise Undecided("evidence-incomplete", f"git answered something that is no object id: {error}") from None


def _quoted(path: Path) -> str:
    """A line of `info/alternates`; git reads a quoted one as a C string."""
    text = str(path).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{text}"\n'
