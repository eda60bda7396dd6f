"""Overlaps: live claims whose authority shares files with another's. A check, not a lock."""

from __future__ import annotations

from collections.abc import Iterable

from claims.admission import Candidate, Situation
from claims.board.authority import Authority
from claims.board.board import Board
from claims.board.config import Overlap
from claims.board.task import State, Task
from claims.errors import Conflict, SwarmError
from claims.git import printable
from claims.ledger import Ledger
from claims.names import ObjectId, TaskId
from claims.notice import Notice
from claims.record import Claim
from claims.session import Session
from claims.values import dataclass

#: Shared paths that are named; of the rest only the number is told.
_NAMED = 10


@dataclass(frozen=True, slots=True)
class Shared:
    """What two live claims share: paths that exist on base, or, where none does, patterns that can meet."""

    claim: Claim
    paths: tuple[str, ...]
    more: int
    patterns: tuple[tuple[str, str], ...]

    def describe(self) -> str:
        if self.paths:
            return ", ".join(self.paths) + (f" and {self.more} more" if self.more else "")
        return ", ".join(f"{mine} with {theirs}" for mine, theirs in self.patterns)

    def notice(self, task: TaskId) -> Notice:
        claim = self.claim
        message = f"{task} shares files with {claim.task}, held by {claim.agent} on {claim.branch}: {self.describe()}"
        details = {
            "task": task,
            "other": claim.task,
            "agent": claim.agent,
            "branch": claim.branch,
            "paths": list(self.paths),
            "more": self.more,
            "patterns": [list(pair) for pair in self.patterns],
        }
        return Notice("overlap", message, details)


def refusals(session: Session, board: Board, candidate: Candidate, situation: Situation) -> list[SwarmError]:
    """Under `overlap: refuse`: one Conflict for each live claim that shares files with the task."""
    if candidate.config.overlap is not Overlap.REFUSE or candidate.task is None:
        return []
    others = [entry.claim for entry in situation.others() if entry.claim is not None]
    found = _shared(session, board, candidate.task.authority, _live(others, situation.ledger, candidate.id))
    return [
        Conflict(
            "overlap", shared.notice(candidate.id).message, "swarm tasks --ready", shared.notice(candidate.id).details
        )
        for shared in found
    ]


def notices(session: Session, board: Board, task: TaskId, ledger: Ledger) -> list[Notice]:
    """A warning for each live claim whose authority shares files with that of `task`."""
    claims = [entry.claim for entry in ledger.held() if entry.claim is not None]
    others = _live(claims, ledger, task)
    if not others:
        return []
    mine = _authorities(board, [task]).get(task)
    return [] if mine is None else [shared.notice(task) for shared in _shared(session, board, mine, others)]


def pairs(session: Session, board: Board, ledger: Ledger) -> list[tuple[TaskId, Shared]]:
    """Every two live claims that share files, each pair once, in order of task id."""
    live = sorted(
        (entry.claim for entry in ledger.held() if entry.claim and not entry.claim.expired(ledger.now)),
        key=lambda claim: claim.task,
    )
    if len(live) < 2:
        return []
    authorities = _authorities(board, [claim.task for claim in live])
    found: list[tuple[TaskId, Shared]] = []
    for number, claim in enumerate(live):
        mine = authorities.get(claim.task)
        if mine is not None:
            found += [(claim.task, shared) for shared in _shared(session, board, mine, live[number + 1 :])]
    return found


def _live(claims: Iterable[Claim], ledger: Ledger, but: TaskId) -> list[Claim]:
    return sorted(
        (claim for claim in claims if claim.task != but and not claim.expired(ledger.now)), key=lambda claim: claim.task
    )


def _shared(session: Session, board: Board, mine: Authority, others: list[Claim]) -> list[Shared]:
    authorities = _authorities(board, [claim.task for claim in others])
    found: list[Shared] = []
    paths: list[bytes] | None = None
    for claim in others:
        theirs = authorities.get(claim.task)
        meeting = mine.can_meet(theirs) if theirs is not None else []
        if theirs is None or not meeting:
            continue
        if paths is None:
            assert board.commit is not None
            paths = _paths_of(session, board.commit)
        both = [path for path in paths if mine.covers(path) and theirs.covers(path)]
        named = tuple(printable(path.decode("utf-8", "replace")) for path in both[:_NAMED])
        patterns = () if both else tuple((str(one.text), str(other.text)) for one, other in meeting[:_NAMED])
        found.append(Shared(claim, named, max(0, len(both) - _NAMED), patterns))
    return found


def _authorities(board: Board, tasks: Iterable[TaskId]) -> dict[TaskId, Authority]:
    """The authorities of queued tasks that read; a claim whose task does not has none to compare."""
    found = board.tasks(dict.fromkeys(tasks, State.QUEUED))
    return {task: read.authority for task, read in found.items() if isinstance(read, Task)}


def _paths_of(session: Session, commit: ObjectId) -> list[bytes]:
    return session.git.run("ls-tree", "-r", "-z", "--full-tree", "--name-only", commit).out.split(b"\0")[:-1]
