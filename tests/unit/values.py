"""Claims and ledgers for unit tests, with as little said as the test is about."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

from claims import record
from claims.ledger import Entry, Ledger, keys_of
from claims.names import CLAIMS, AgentName, Branch, LockKey, ObjectId, RefName, TaskId, claim_ref, log_ref
from claims.record import Claim, Closed
from tests.support.board import task_id

NOW = datetime(2026, 8, 14, 9, 30, tzinfo=timezone.utc)
BASE = ObjectId("b" * 40)


def minutes(number: float) -> datetime:
    """That many minutes from NOW."""
    return NOW + timedelta(minutes=number)


def task(number: int = 1) -> TaskId:
    return TaskId(task_id(number))


def token(name: str) -> str:
    """The `tokenHash` of a token."""
    return hashlib.sha256(name.encode()).hexdigest()


def claim(number: int = 1, agent: str = "ann", *, left: float = 20, locks: Iterable[str] = (), **more: Any) -> Claim:
    """A claim of `agent` on task `number`, taken 10 minutes ago, with `left` minutes left (negative: expired).

    Its branch is `<agent>/<number>`, its token the one named after both; `more` says otherwise.
    """
    made = Claim(
        task=task(number),
        agent=AgentName(agent),
        branch=Branch(f"{agent}/{number}"),
        base_commit=BASE,
        claimed_at=min(minutes(-10), minutes(left - 10)),
        expires_at=minutes(left),
        locks=tuple(LockKey(key) for key in sorted(locks)),
        plan_revision=0,
        token_hash=token(f"{agent}/{number}"),
    )
    return replace(made, **more)


def ended(of: Claim, outcome: str = "released", at: float = -5, **more: Any) -> Claim:
    """The record that `of` ended so, `at` minutes from NOW."""
    closed = Closed(minutes(at), of.agent, outcome, None, None)
    return record.close(of, replace(closed, **more))


def blob(data: bytes) -> ObjectId:
    """The id that git gives a blob."""
    return ObjectId(hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest())


def entry(ref: RefName, held: Claim, *, published: bool = True) -> Entry:
    return Entry(ref, blob(record.encode(held)), held, published=published)


class Refs:
    """What an arbiter has, ref by ref; `ledger` makes the value of it. Every method returns the same Refs."""

    def __init__(self) -> None:
        self.claims: dict[TaskId, Entry] = {}
        self.keys: dict[RefName, Entry] = {}
        self.logs: dict[TaskId, list[Entry]] = {}
        self.local: dict[RefName, Entry] = {}

    def held(self, *claims: Claim) -> Refs:
        """The claim refs, with every lock and slot."""
        for one in claims:
            self.claim_ref(one).keys_of(one)
        return self

    def claim_ref(self, one: Claim) -> Refs:
        """The claim ref alone."""
        self.claims[one.task] = entry(claim_ref(one.task), one)
        return self

    def keys_of(self, one: Claim, only: Sequence[str] | None = None) -> Refs:
        """The locks and slots alone, or some of them."""
        for key in keys_of(one):
            if only is None or key.name in only:
                self.keys[key.ref] = entry(key.ref, one)
        return self

    def log(self, *records: Claim, of: TaskId | None = None) -> Refs:
        """The logs of the tasks of `records` were read, and hold them; `of` is a task whose log is empty."""
        if of is not None:
            self.logs.setdefault(of, [])
        for one in records:
            assert one.closed is not None
            self.logs.setdefault(one.task, []).append(entry(log_ref(one.task, one.closed.at), one))
        return self

    def unpublished(self, *claims: Claim) -> Refs:
        """Live refs of this clone that the remote lacks."""
        for one in claims:
            own = replace(one, local=True)
            for ref in [claim_ref(own.task), *(key.ref for key in keys_of(own))]:
                self.local[ref] = entry(ref, own, published=False)
        return self

    def broken(self, ref: RefName, fault: str = "not a JSON object") -> Refs:
        """A ref that does not read as a claim."""
        odd = Entry(ref, blob(ref.encode()), None, fault)
        if ref.startswith(CLAIMS):
            self.claims[TaskId(ref[len(CLAIMS) :])] = odd
        else:
            self.keys[ref] = odd
        return self

    def without(self, *refs: RefName) -> Refs:
        """The same without some refs."""
        for ref in refs:
            self.keys.pop(ref, None)
            self.claims = {name: at for name, at in self.claims.items() if at.ref != ref}
        return self

    def ledger(self, now: datetime = NOW) -> Ledger:
        logs = {name: tuple(sorted(found, key=lambda at: at.ref)) for name, found in self.logs.items()}
        return Ledger(now, dict(self.claims), dict(self.keys), logs, dict(self.local))
