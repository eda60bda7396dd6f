"""What would land: from base and head to the tree that a merge would give, and the paths that have to be judged.

`docs/gate.md`, *What would land*, says why each step is there. Whatever cannot be computed is a `NoLanding` (a finding
that the author can mend) or an Undecided; never an empty list of changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from claims.errors import Undecided
from claims.names import ObjectId
from gate.tree import Change, by_path

#: More paths or commits than these are not judged.
MAX_PATHS = 50_000
MAX_COMMITS = 10_000


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
    """What one commit changes by itself: against its parent, or against the re-merge of its parents."""

    commit: ObjectId
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Landing:
    """What would land.

    `landed` are the changes from base to the landing tree, `proposed` those from the merge base to head without what
    base has likewise, `commits` those of each head-only commit.
    """

    base: ObjectId
    head: ObjectId
    merge_base: ObjectId
    tree: ObjectId
    base_tree: ObjectId
    landed: tuple[Change, ...]
    proposed: tuple[Change, ...]
    commits: tuple[CommitChanges, ...] = field(default=())

    def paths(self) -> dict[bytes, Change]:
        """Every path of landing and proposal, with its change from base where it has one."""
        return {**by_path(self.proposed), **by_path(self.landed)}

    def paths_on_the_way(self) -> dict[bytes, ObjectId]:
        """The paths that only commits touch, each with the first such commit: touched and restored."""
        known = self.paths()
        found: dict[bytes, ObjectId] = {}
        for commit in self.commits:
            for change in commit.changes:
                if change.path not in known:
                    found.setdefault(change.path, commit.commit)
        return found


class History(Protocol):
    """What landing needs of a repository. Every method raises Undecided where git cannot tell."""

    def merge_bases(self, base: ObjectId, head: ObjectId) -> list[ObjectId]: ...

    def tree_of(self, commit: ObjectId) -> ObjectId: ...

    def merge(self, ours: ObjectId, theirs: ObjectId, *, directory_renames: bool) -> tuple[ObjectId, bool]:
        """The tree of a merge and whether it is clean."""
        ...

    def commits_between(self, base: ObjectId, head: ObjectId) -> list[Commit]:
        """The commits of head that base lacks, in an order in which parents come later."""
        ...

    def changes(self, pairs: Sequence[tuple[ObjectId, ObjectId]]) -> list[tuple[Change, ...]]:
        """The changes between each pair of trees."""
        ...


def compute(history: History, base: ObjectId, head: ObjectId, merge_ref: Commit | None = None) -> Landing:
    """Find out what would land if `head` were merged into `base` now.

    `merge_ref` is GitHub's test merge where there is one. Raises NoLanding with a landing code; Undecided
    `limits-exceeded` and whatever `history` raises.
    """
    merge_base = _merge_base(history, base, head)
    base_tree, head_tree = history.tree_of(base), history.tree_of(head)
    tree = head_tree if merge_base == base else _merged(history, base, head)
    if merge_ref is not None and merge_ref.parents == (base, head) and merge_ref.tree != tree:
        raise NoLanding(
            "landing-mismatch",
            f"merging gives the tree {tree}, GitHub's test merge has {merge_ref.tree}",
            f"git rebase {base[:12]}",
        )
    commits = history.commits_between(base, head)
    if len(commits) > MAX_COMMITS:
        raise Undecided("limits-exceeded", f"{len(commits)} commits; {MAX_COMMITS} are judged", "git rebase -i")
    befores = [_tree_before(history, commit) for commit in commits]
    pairs = [(base_tree, tree), (history.tree_of(merge_base), head_tree)]
    pairs += [(before, commit.tree) for commit, trees in zip(commits, befores, strict=True) for before in trees]
    landed, proposed, *rest = history.changes(pairs)
    same = _already_on_base(history, proposed, base_tree, head_tree, merge_base == base)
    found = Landing(
        base,
        head,
        merge_base,
        tree,
        base_tree,
        landed,
        tuple(change for change in proposed if change.path not in same),
        _per_commit(commits, befores, rest),
    )
    _check_limits(found)
    if not found.landed and not found.paths_on_the_way() and not found.proposed:
        raise NoLanding("no-change", f"merging {head[:12]} would change nothing on base", "commit the work and push")
    return found


def _merge_base(history: History, base: ObjectId, head: ObjectId) -> ObjectId:
    bases = history.merge_bases(base, head)
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
    trees: list[ObjectId] = []
    for directory_renames in (True, False):
        tree, clean = history.merge(base, head, directory_renames=directory_renames)
        if clean:
            trees.append(tree)
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


def _tree_before(history: History, commit: Commit) -> list[ObjectId]:
    """The trees that a commit is compared with: its parent's, or that of its parents merged anew.

    So an honest merge of base adds nothing, and one that changes files on the way shows. A commit with more parents
    cannot be merged anew and is compared with each.
    """
    if len(commit.parents) == 2:
        tree, _ = history.merge(commit.parents[0], commit.parents[1], directory_renames=False)
        return [tree]
    return [history.tree_of(parent) for parent in commit.parents]


def _per_commit(
    commits: Sequence[Commit], befores: Sequence[Sequence[ObjectId]], changes: Sequence[tuple[Change, ...]]
) -> tuple[CommitChanges, ...]:
    rest = iter(changes)
    return tuple(
        CommitChanges(commit.id, tuple(change for _ in trees for change in next(rest)))
        for commit, trees in zip(commits, befores, strict=True)
    )


def _already_on_base(
    history: History, proposed: Sequence[Change], base_tree: ObjectId, head_tree: ObjectId, level: bool
) -> set[bytes]:
    """The proposed paths at which head and base are equal: a fix that was cherry-picked from base lands nothing."""
    if level or not proposed:
        return set()
    differing = {change.path for change in history.changes([(base_tree, head_tree)])[0]}
    return {change.path for change in proposed} - differing


def _check_limits(found: Landing) -> None:
    count = len(found.paths()) + len(found.paths_on_the_way())
    if count > MAX_PATHS:
        raise Undecided("limits-exceeded", f"{count} changed paths; {MAX_PATHS} are judged", "split the pull request")
