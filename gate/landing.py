"""What would land: from base and head to the tree that a merge would give, and the paths that have to be judged.

`docs/gate.md`, *What would land*, says why each step is there. Whatever cannot be computed is a `NoLanding` (a finding
that the author can mend) or an Undecided; never an empty list of changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from claims.errors import Undecided
from claims.names import ObjectId
from claims.values import dataclass, field
from gate.tree import MAX_PATH, Change, Entry, by_path

#: More paths or commits than these are not judged.
MAX_PATHS = 50_000
#: Bytes of all these paths and of the folders above them: what is known of each takes a multiple in memory.
MAX_PATH_BYTES = 6 * 1024 * 1024
MAX_COMMITS = 10_000
#: Parents of these commits, which each is compared with; and changes to those, paths that they share among them.
MAX_PARENTS = 30_000
MAX_TOUCHED = 500_000
#: Folders in which all these commits differ from their parents: more than that is nobody's work.
MAX_FOLDERS_TOUCHED = 500_000

#: The tree without entries, by the length of an object id in hex.
EMPTY_TREES = {
    40: ObjectId("4b825dc642cb6eb9a060e54bf8d69288fbee4904"),
    64: ObjectId("6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"),
}


class NoLanding(Exception):
    """Nothing lands, or it is not clear what: a landing code, what is, and what to do."""

    def __init__(self, code: str, message: str, fix: str | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.fix = code, message, fix


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit of the head that base lacks."""

    id: ObjectId
    tree: ObjectId
    parents: tuple[ObjectId, ...]


@dataclass(frozen=True, slots=True)
class CommitChanges:
    """What one commit changes by itself: against its parent, or against the re-merge of its parents.

    A merge also changes what is like none of its parents, merged cleanly or not: base may have renamed a file that a
    parent edits, and what another merge undoes was still there.
    """

    commit: ObjectId
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Landing:
    """What would land.

    `landed` are the changes from base to the landing tree, `proposed` those from the merge base to head without what
    base has likewise, `commits` those of each head-only commit. `odd_trees` are the folders that are no well-formed
    trees, of what lands and of the commits, and why.
    """

    base: ObjectId
    head: ObjectId
    merge_base: ObjectId
    tree: ObjectId
    base_tree: ObjectId
    landed: tuple[Change, ...]
    proposed: tuple[Change, ...]
    commits: tuple[CommitChanges, ...] = field(default=())
    odd_trees: tuple[tuple[bytes, str], ...] = ()

    def paths(self) -> dict[bytes, Change]:
        """Every path of landing and proposal, with its change from base where it has one."""
        return {**by_path(self.proposed), **by_path(self.landed)}


class History(Protocol):
    """What landing needs of a repository. Every method raises Undecided where git cannot tell."""

    def divergence(self, base: ObjectId, head: ObjectId, most: int) -> tuple[list[ObjectId], list[Commit]]:
        """The merge bases, and the commits of head that base lacks, at most so many, parents later."""
        ...

    def tree_of(self, commit: ObjectId) -> ObjectId: ...

    def merges(
        self, ours: ObjectId, theirs: ObjectId, directory_renames: Sequence[bool]
    ) -> list[tuple[ObjectId, bool]]:
        """For each setting, the tree of a merge and whether it is clean."""
        ...

    def remerges(self, pairs: Sequence[tuple[ObjectId, ...]]) -> list[ObjectId]:
        """The tree of each pair's merge, clean or not. Raises Undecided `timed-out` where all take too long."""
        ...

    def like_no_parent(self, merges: Sequence[ObjectId]) -> dict[ObjectId, tuple[Change, ...]]:
        """The paths at which each merge has something else than every parent of it, as changes to one of those."""
        ...

    def malformed(self, pairs: Sequence[tuple[ObjectId, ObjectId]], most: int | None = None) -> list[tuple[bytes, str]]:
        """The folders of each second tree that differ from the first's and are no well-formed trees, and why.

        Raises Undecided `limits-exceeded` where they differ in more folders than are looked at: a folder that holds
        another ten times, which holds another ten times, and so on, is small until git lists it.
        """
        ...

    def changes(self, pairs: Sequence[tuple[ObjectId, ObjectId]]) -> list[tuple[Change, ...]]:
        """The changes between each pair of trees."""
        ...


def compute(history: History, base: ObjectId, head: ObjectId, merge_ref: Commit | None = None) -> Landing:
    """Find out what would land if `head` were merged into `base` now.

    `merge_ref` is GitHub's test merge where there is one. Raises NoLanding with a landing code; Undecided
    `limits-exceeded` and whatever `history` raises.
    """
    bases, commits = history.divergence(base, head, MAX_COMMITS + 1)
    merge_base = _only(bases, base)
    base_tree, head_tree = history.tree_of(base), history.tree_of(head)
    tree = head_tree if merge_base == base else _merged(history, base, head)
    if merge_ref is not None and merge_ref.parents == (base, head) and merge_ref.tree != tree:
        raise NoLanding(
            "landing-mismatch",
            f"merging gives the tree {tree}, GitHub's test merge has {merge_ref.tree}",
            f"git rebase {base[:12]}",
        )
    if len(commits) > MAX_COMMITS:
        raise Undecided("limits-exceeded", f"more than {MAX_COMMITS} commits, which is what is judged", "git rebase -i")
    befores = _trees_before(history, commits)
    whole = [(base_tree, tree), (history.tree_of(merge_base), head_tree), (base_tree, head_tree)]
    single = [(before, commit.tree) for commit, trees in zip(commits, befores, strict=True) for before in trees]
    odd = history.malformed(whole[:1])
    history.malformed(whole[1:2])  # what is odd in it is some commit's
    odd += history.malformed(single, MAX_FOLDERS_TOUCHED)
    landed, proposed, differing, *rest = history.changes([*whole, *single])
    like_none = history.like_no_parent([commit.id for commit in commits if len(commit.parents) == 2])
    if sum(map(len, rest)) > MAX_TOUCHED:
        message = f"the commits touch more than {MAX_TOUCHED} paths, each counted as often as it is touched"
        raise Undecided("limits-exceeded", message, "git rebase -i")
    # A fix that was cherry-picked from base is proposed and lands nothing: head and base are equal there.
    differ = {change.path for change in differing}
    shared = {change.path: change.after for change in proposed if change.path not in differ}
    found = Landing(
        base,
        head,
        merge_base,
        tree,
        base_tree,
        landed,
        tuple(change for change in proposed if change.path in differ),
        _per_commit(commits, befores, rest, like_none, shared),
        tuple(sorted(set(odd))),
    )
    _check_limits(found)
    return found


def nothing_lands(landing: Landing) -> NoLanding:
    """The finding where no path is left to judge."""
    return NoLanding(
        "no-change", f"merging {landing.head[:12]} would change nothing on base", "commit the work and push"
    )


def _only(bases: Sequence[ObjectId], base: ObjectId) -> ObjectId:
    if not bases:
        raise NoLanding(
            "no-common-history", "base and head have no commit in common", f"git rebase --onto {base[:12]} --root"
        )
    if len(bases) > 1:
        raise NoLanding(
            "base-ambiguous",
            f"base and head have {len(bases)} merge bases, so what would land depends on which is taken",
            f"git rebase {base[:12]}",
        )
    return bases[0]


def _merged(history: History, base: ObjectId, head: ObjectId) -> ObjectId:
    """The tree of the merge, the same whether git guesses renamed folders or not."""
    trees = [tree for tree, clean in history.merges(base, head, (True, False)) if clean]
    if not trees:
        raise NoLanding(
            "landing-conflict", "head conflicts with base", f"git merge {base[:12]}   # and solve the conflicts"
        )
    if len(trees) == 1 or trees[0] != trees[1]:
        raise NoLanding(
            "landing-ambiguous",
            "base renamed a folder that head adds files to: where they land depends on git's settings",
            f"git rebase {base[:12]}",
        )
    return trees[0]


def _trees_before(history: History, commits: Sequence[Commit]) -> list[list[ObjectId]]:
    """The trees that each commit is compared with: its parent's, or that of its parents merged anew.

    So an honest merge of base adds nothing, and one that changes files on the way shows. A commit with more parents
    cannot be merged anew and is compared with each; one without parents brings all that it has.
    """
    if sum(len(commit.parents) for commit in commits) > MAX_PARENTS:
        raise Undecided("limits-exceeded", f"the commits have more than {MAX_PARENTS} parents", "git rebase -i")
    merged = iter(history.remerges([commit.parents for commit in commits if len(commit.parents) == 2]))
    found: list[list[ObjectId]] = []
    for commit in commits:
        if len(commit.parents) == 2:
            found.append([next(merged)])
        else:
            trees = dict.fromkeys(map(history.tree_of, commit.parents))
            found.append([*trees] or [EMPTY_TREES[len(commit.tree)]])
    return found


def _per_commit(
    commits: Sequence[Commit],
    befores: Sequence[Sequence[ObjectId]],
    changes: Sequence[tuple[Change, ...]],
    like_none: Mapping[ObjectId, Sequence[Change]],
    shared: Mapping[bytes, Entry | None],
) -> tuple[CommitChanges, ...]:
    """What each commit changes, without the changes to what base has by now: `shared` are the entries that it has."""
    rest = iter(changes)
    found: list[CommitChanges] = []
    for commit, trees in zip(commits, befores, strict=True):
        touched = [change for _ in trees for change in next(rest)]
        known = {change.path for change in touched}
        touched += [change for change in like_none.get(commit.id, ()) if change.path not in known]
        kept = (change for change in touched if change.path not in shared or change.after != shared[change.path])
        found.append(CommitChanges(commit.id, tuple(kept)))
    return tuple(found)


def _check_limits(found: Landing) -> None:
    paths = set(found.paths())
    paths.update(change.path for commit in found.commits for change in commit.changes)
    if len(paths) > MAX_PATHS:
        message = f"{len(paths)} changed paths; {MAX_PATHS} are judged"
        raise Undecided("limits-exceeded", message, "split the pull request")
    if any(len(path) > MAX_PATH for path in paths):
        raise Undecided("limits-exceeded", f"a path of over {MAX_PATH} bytes", "shorten it")
    _check_length(paths)


def _check_length(paths: Iterable[bytes]) -> None:
    """Raise Undecided `limits-exceeded` where these paths, and each folder above one, are too long together.

    A folder in a folder, two thousand deep, is at two thousand paths of its own; a few small trees make many of those.
    """
    total = 0
    seen: set[bytes] = set()
    for path in paths:
        while path and path not in seen:
            seen.add(path)
            total += len(path)
            if total > MAX_PATH_BYTES:
                message = f"the changed paths and their folders have over {MAX_PATH_BYTES} bytes in all"
                raise Undecided("limits-exceeded", message, "split the pull request")
            path = path.rpartition(b"/")[0]
