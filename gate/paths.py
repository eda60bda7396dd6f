"""The paths to judge: what would land, what head proposes, and, unless only the sum counts, what commits touch."""

from __future__ import annotations

from collections.abc import Iterator

from claims.board.config import History
from claims.names import ObjectId
from claims.values import dataclass
from gate.landing import Landing
from gate.tree import Change


@dataclass(frozen=True, slots=True)
class Judged:
    """A path to judge. `commit` is the first that touches it where nothing of it lands."""

    path: bytes
    change: Change
    commit: ObjectId | None = None

    @property
    def where(self) -> str:
        """Words that say how the path comes into it, for a message."""
        return "" if self.commit is None else f" (touched by commit {self.commit[:12]}, though nothing of it lands)"


def paths_to_judge(landing: Landing, history: History) -> tuple[Judged, ...]:
    """Every path to judge, in the order of their bytes."""
    found = {path: Judged(path, change) for path, change in landing.paths().items()}
    if history is History.COMMITS:
        for judged in only_on_the_way(landing):
            found.setdefault(judged.path, judged)
    return tuple(found[path] for path in sorted(found))


def only_on_the_way(landing: Landing) -> Iterator[Judged]:
    """The paths that only commits touch: changed and restored before the end."""
    known = landing.paths()
    seen: set[bytes] = set()
    for commit in landing.commits:
        for change in commit.changes:
            if change.path not in known and change.path not in seen:
                seen.add(change.path)
                yield Judged(change.path, change, commit.commit)
