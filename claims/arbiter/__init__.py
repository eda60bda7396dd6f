"""Arbiters: whoever decides between claimants. The remote where there is one, else the shared git directory.

Both apply a transaction all or none, with the expected value of every ref. What they answer is an `Outcome`; only
APPLIED is a success, and UNKNOWN is settled by reading back (`claims.operations.attempt`).
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Protocol

from claims.ledger import Ledger
from claims.names import ObjectId, TaskId
from claims.notice import Notice
from claims.transaction import Transaction
from claims.values import dataclass


class Verdict(enum.Enum):
    """What an arbiter made of a transaction."""

    APPLIED = "applied"
    #: Nothing was written: an expected value did not hold, or a lock was busy. git does not tell which.
    REFUSED = "refused"
    #: Nothing was written, and trying again is no use: a hook, a permission, a namespace that is not served.
    REJECTED = "rejected"
    #: It may have been written, or may be yet: the connection broke, or the process was ended.
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Outcome:
    """An arbiter's answer and git's words for it, on one line."""

    verdict: Verdict
    words: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """The base branch's commit and the ledger, as the arbiter has them now."""

    base: ObjectId
    ledger: Ledger


class Arbiter(Protocol):
    """Reads and changes claims where they are decided."""

    #: The remote's name, None for the shared git directory.
    remote: str | None

    def read(self, logs: Sequence[TaskId] = ()) -> Reading:
        """Read base, the live refs, and the logs of the named tasks. Raises Undecided where that is impossible."""

    def read_claims_again(self, reading: Reading) -> Reading:
        """The same reading with the claim refs as they are by now: one reading is no snapshot."""

    def write(self, data: bytes) -> ObjectId:
        """Store a blob; no ref points at it yet."""

    def apply(self, transaction: Transaction) -> Outcome:
        """Make all edits or none."""

    def finish(self) -> list[Notice]:
        """Bring this clone in line with what the arbiter said. What fails here is a notice, never an error."""
