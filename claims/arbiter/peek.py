"""A look ahead: a reading that was made to find out what a command is about serves as its first reading."""

from __future__ import annotations

from collections.abc import Sequence

from claims.arbiter import Arbiter, Outcome, Reading
from claims.names import ObjectId, TaskId
from claims.notice import Notice
from claims.transaction import Transaction


class Peeked:
    """An arbiter whose first `read` may be answered by the `peek` before it, which saves a fetch."""

    def __init__(self, arbiter: Arbiter) -> None:
        self._arbiter = arbiter
        self.remote = arbiter.remote
        self._peeked: tuple[frozenset[TaskId], Reading] | None = None

    def peek(self, logs: Sequence[TaskId]) -> Reading:
        """Read, and keep the reading for the next `read` that wants no other logs."""
        reading = self._arbiter.read(logs)
        self._peeked = (frozenset(logs), reading)
        return reading

    def read(self, logs: Sequence[TaskId] = ()) -> Reading:
        peeked, self._peeked = self._peeked, None
        if peeked is not None and peeked[0].issuperset(logs):
            return peeked[1]
        return self._arbiter.read(logs)

    def read_claims_again(self, reading: Reading) -> Reading:
        return self._arbiter.read_claims_again(reading)

    def write(self, data: bytes) -> ObjectId:
        return self._arbiter.write(data)

    def apply(self, transaction: Transaction) -> Outcome:
        return self._arbiter.apply(transaction)

    def finish(self) -> list[Notice]:
        return self._arbiter.finish()
