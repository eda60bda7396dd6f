"""The paths to judge: what would land, what head proposes, and, unless only the sum counts, what commits touch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from claims.board.config import History
from claims.names import ObjectId
from claims.values import dataclass
from gate.landing import Landing
from gate.tree import EXECUTABLE, FILE, Change


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
    """Every path to judge, in the order of their bytes; one that several odd entries held on the way, for each."""
    found = [Judged(path, change) for path, change in landing.paths().items()]
    if history is History.COMMITS:
        found += only_on_the_way(landing)
    return tuple(sorted(found, key=lambda judged: judged.path))


def only_on_the_way(landing: Landing) -> Iterator[Judged]:
    """The paths that only commits touch: changed and restored before the end."""
    known = landing.paths()
    seen: dict[bytes, list[Judged]] = {}
    # Parents come later in the list, and what came first says more than its removal.
    for commit in reversed(landing.commits):
        for change in commit.changes:
            lands = known.get(change.path)
            # What takes an odd entry's place and lands does not take it out of the history.
            if lands is None or (_is_odd(change) and change.after != lands.after):
                seen.setdefault(change.path, []).append(Judged(change.path, change, commit.commit))
    for judged in seen.values():
        yield from _telling(judged)


def _telling(changes: Sequence[Judged]) -> Iterable[Judged]:
    """Those that rules have something to say of: one for each entry that is no file, else what was there first.

    A link or a name that no file may have is in the history for good, whatever the next commit does.
    """
    odd = {judged.change.after: judged for judged in reversed(changes) if _is_odd(judged.change)}
    if odd:
        return odd.values()
    return [next((judged for judged in changes if judged.change.after is not None), changes[0])]


def _is_odd(change: Change) -> bool:
    return change.after is not None and change.after.mode not in (FILE, EXECUTABLE)
