"""Evidence: everything that the rules see, gathered once, immutable. Rules do no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from claims.board.config import Config
from claims.board.plan import Manifest, Plan
from claims.board.task import State, Task, task_path
from claims.errors import SwarmError
from claims.ledger import Entry as ClaimEntry
from claims.names import Branch, ObjectId, TaskId
from claims.values import dataclass, field
from gate.landing import Landing
from gate.paths import Judged
from gate.tree import Entry

if TYPE_CHECKING:
    from claims.board.whole import Report


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a pull request besides its commits. None: not known, which never counts in its favour.

    `head_repository_id` and `author_id` are GitHub's numeric ids. `fork` tells that the head is in another repository
    than base. `verified` tells whether GitHub has verified every head-only commit as the author's.
    """

    base_branch: Branch
    now: datetime
    head_branch: Branch | None = None
    head_repository: str | None = None
    head_repository_id: int | None = None
    fork: bool = False
    author: str | None = None
    author_id: int | None = None
    verified: bool | None = None


@dataclass(frozen=True, slots=True)
class BaseBoard:
    """The board as base has it. `faults` are the plan or manifest that do not read; they are then None."""

    config: Config
    plan: Plan | None
    manifest: Manifest | None
    faults: tuple[SwarmError, ...] = ()


@dataclass(frozen=True, slots=True)
class Subject:
    """The one task that a pull request is about: on base, and as it would land in `done/`.

    `places` are the states in whose folders base has its file. `base` is the queued file as a value and `base_file` as
    bytes, `fault` why it does not read. `landed_entry` and `landed_file` are what would be in `done/`; the bytes are
    None where it is not there or is no file.
    """

    id: TaskId
    places: tuple[State, ...]
    base: Task | None
    base_file: bytes | None
    fault: SwarmError | None
    landed_entry: Entry | None
    landed_file: bytes | None
    dependencies: Mapping[TaskId, State | None]

    @property
    def queued_path(self) -> bytes:
        return task_path(self.id, State.QUEUED).encode("ascii")

    @property
    def done_path(self) -> bytes:
        return task_path(self.id, State.DONE).encode("ascii")


@dataclass(frozen=True, slots=True)
class Records:
    """The claims on record for the subject: its claim ref, its log, and what was archived of it, oldest first."""

    at: ClaimEntry | None
    log: tuple[ClaimEntry, ...]
    archived: tuple[ClaimEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class Evidence:
    """One pull request, as the rules see it.

    `judged` are the paths to judge, in order. `in_base_history` answers for every commit that a claim names.
    `link_targets` has the target of every added or changed link that the authority names in full, and `links_passed`
    the paths they lead to through yet another link. `folders` has the names in each folder of the landing tree that a
    new path is in or below, `proposals` the bytes of every new proposal (None: too large). `odd_trees` says which trees
    are malformed, and how.
    `landed_board` is what is to say of the board as it would land; None where more changes, or no operator does it.
    """

    facts: Facts
    landing: Landing
    judged: tuple[Judged, ...]
    board: BaseBoard
    subject: Subject | None
    records: Records | None
    in_base_history: Mapping[ObjectId, bool] = field(default_factory=dict)
    link_targets: Mapping[tuple[bytes, Entry | None], bytes] = field(default_factory=dict)
    links_passed: frozenset[bytes] = frozenset()
    folders: Mapping[bytes, frozenset[bytes]] = field(default_factory=dict)
    proposals: Mapping[bytes, bytes | None] = field(default_factory=dict)
    odd_trees: tuple[tuple[bytes, str], ...] = ()
    landed_board: Report | None = None
