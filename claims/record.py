"""The claim blob: a `Claim` as a value, and its canonical bytes.

Reading is strict, because anyone who may push can write one of these: what does not read exactly is not a claim.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar, cast

from claims import clock
from claims.names import (
    AgentName,
    Branch,
    LockKey,
    ObjectId,
    SlotKey,
    TaskId,
    parse_agent,
    parse_branch,
    parse_lock_key,
    parse_object_id,
    parse_task_id,
)
from claims.values import dataclass, field, replace

#: The largest claim blob that is read.
MAX_BYTES: Final = 16 * 1024
#: The largest one that is written for a new claim: its closed record, and that inside a thief's, must still be read.
MAX_NEW_BYTES: Final = 6 * 1024
#: How far past the reader's clock the lease of a held claim may end: a day, and the clocks' difference.
MAX_LEASE: Final = timedelta(hours=24) + clock.MAX_SKEW
#: How deep unknown members may be nested. Python would read more, and then fail to write how the claim ended.
MAX_DEPTH: Final = 16
#: Characters of the reason that an ended claim may give.
MAX_REASON: Final = 1000

OUTCOMES: Final = ("released", "done", "stolen", "expired", "reopened")

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_TOKEN_HASH = re.compile(r"[0-9a-f]{64}")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Closed:
    """How a claim ended. `by` is an agent or `unknown`; `commit` is the branch's tip then, where it was known."""

    at: datetime
    by: str
    outcome: str
    reason: str | None
    commit: ObjectId | None
    #: Members that this version does not know, kept as they were read.
    unknown: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim, held or closed, as its blob says it. Members that are None, empty or False are absent there."""

    task: TaskId
    agent: AgentName
    branch: Branch
    base_commit: ObjectId
    claimed_at: datetime
    expires_at: datetime
    locks: tuple[LockKey, ...]
    plan_revision: int
    task_digest: str | None = None
    branch_commit: ObjectId | None = None
    repository: int | None = None
    token_hash: str | None = None
    slots: tuple[SlotKey, ...] = ()
    local: bool = False
    replaced: Claim | None = None
    closed: Closed | None = None
    #: Members that this version does not know, kept as they were read.
    unknown: Mapping[str, Any] = field(default_factory=dict)

    def expired(self, now: datetime) -> bool:
        return now >= self.expires_at

    @property
    def identity(self) -> tuple[object, ...]:
        """What stays the same through every renewal and in the closed record."""
        return (self.task, self.agent, self.branch, self.claimed_at, self.token_hash)

    def same_claim(self, other: Claim) -> bool:
        """Whether `other` is this claim at another moment of its life."""
        return self.identity == other.identity


def close(claim: Claim, closed: Closed, owed: Claim | None = None) -> Claim:
    """The record of how `claim` ended. `owed` is what it still carries of claims whose end the log lacks."""
    return replace(claim, replaced=owed, closed=closed)


def encode(claim: Claim) -> bytes:
    """Canonical bytes: UTF-8 JSON, members sorted, no blanks, one newline at the end."""
    text = json.dumps(to_json(claim), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8") + b"\n"


def to_json(claim: Claim) -> dict[str, Any]:
    """The blob's members, as they are written."""
    members: dict[str, Any] = {
        **claim.unknown,
        "task": claim.task,
        "agent": claim.agent,
        "branch": claim.branch,
        "baseCommit": claim.base_commit,
        "claimedAt": clock.format_instant(claim.claimed_at),
        "expiresAt": clock.format_instant(claim.expires_at),
        "locks": list(claim.locks),
        "planRevision": claim.plan_revision,
    }
    optional: dict[str, Any] = {
        "taskDigest": claim.task_digest,
        "branchCommit": claim.branch_commit,
        "repository": claim.repository,
        "tokenHash": claim.token_hash,
        "slots": list(claim.slots) or None,
        "local": claim.local or None,
        "replaced": None if claim.replaced is None else to_json(claim.replaced),
        "closed": None if claim.closed is None else closed_to_json(claim.closed),
    }
    members.update((name, value) for name, value in optional.items() if value is not None)
    return members


def closed_to_json(closed: Closed) -> dict[str, Any]:
    """The members of `closed`; `reason` and `commit` may be null but are always there."""
    return {
        **closed.unknown,
        "at": clock.format_instant(closed.at),
        "by": closed.by,
        "outcome": closed.outcome,
        "reason": closed.reason,
        "commit": closed.commit,
    }


def decode(data: bytes, now: datetime) -> Claim:
    """Read a claim blob. Raises ValueError with one line that says what is wrong.

    `now` bounds the lease: a held claim that would run for longer than a day is no claim.
    """
    if len(data) > MAX_BYTES:
        raise ValueError(f"{len(data)} bytes; {MAX_BYTES} are read")
    claim = _claim(_members(_strict_json(data)))
    if claim.closed is None and claim.expires_at > now + MAX_LEASE:
        raise ValueError(f"expiresAt {clock.format_instant(claim.expires_at)} is more than a day ahead")
    return claim


def _strict_json(data: bytes) -> Any:
    """JSON without what `json` lets pass: other encodings, a BOM, NaN, infinities, duplicate members, surrogates."""
    try:
        value = json.loads(
            data.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite
        )
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except UnicodeError:
        raise ValueError("not UTF-8") from None
    return value


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a member stands twice")
    return members


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"{text[:20]} is out of range")
    return number


def _members(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return cast("dict[str, Any]", value)


def _claim(members: dict[str, Any]) -> Claim:
    take = _Taker(members)
    claim = Claim(
        task=take.required("task", _text(parse_task_id)),
        agent=take.required("agent", _text(parse_agent)),
        branch=take.required("branch", _text(parse_branch)),
        base_commit=take.required("baseCommit", _text(parse_object_id)),
        claimed_at=take.required("claimedAt", _text(clock.parse_instant)),
        expires_at=take.required("expiresAt", _text(clock.parse_instant)),
        locks=take.required("locks", _sorted_texts(parse_lock_key)),
        plan_revision=take.required("planRevision", _integer(0)),
        task_digest=take.optional("taskDigest", _text(_matching(_DIGEST))),
        branch_commit=take.optional("branchCommit", _text(parse_object_id)),
        repository=take.optional("repository", _integer(1)),
        token_hash=take.optional("tokenHash", _text(_matching(_TOKEN_HASH))),
        slots=take.optional("slots", _sorted_texts(_slot_key)) or (),
        local=take.optional("local", _true) or False,
        replaced=take.optional("replaced", _replaced),
        closed=take.optional("closed", _closed),
        unknown=take.rest,
    )
    _refuse_deep(claim.unknown, MAX_DEPTH)
    if claim.expires_at < claim.claimed_at:
        raise ValueError("expiresAt is before claimedAt")
    if claim.replaced is not None and claim.replaced.task != claim.task:
        raise ValueError("replaced: is of another task")
    return claim


def _refuse_deep(value: Any, left: int) -> None:
    if left < 0:
        raise ValueError("nested too deeply")
    if isinstance(value, (Mapping, list)):
        for child in value.values() if isinstance(value, Mapping) else value:
            _refuse_deep(child, left - 1)


class _Taker:
    """Takes members out of an object one by one; `rest` is what nobody asked for."""

    def __init__(self, members: dict[str, Any]) -> None:
        self.rest = dict(members)

    def required(self, name: str, read: Callable[[Any], T]) -> T:
        if name not in self.rest:
            raise ValueError(f"{name} is missing")
        return self._read(name, read)

    def optional(self, name: str, read: Callable[[Any], T]) -> T | None:
        return self._read(name, read) if name in self.rest else None

    def nullable(self, name: str, read: Callable[[Any], T]) -> T | None:
        """A member that has to be there and may be null."""
        return self.required(name, lambda value: None if value is None else read(value))

    def _read(self, name: str, read: Callable[[Any], T]) -> T:
        try:
            return read(self.rest.pop(name))
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None


def _text(parse: Callable[[str], T]) -> Callable[[Any], T]:
    def read(value: Any) -> T:
        if type(value) is not str:
            raise ValueError("not a string")
        return parse(value)

    return read


def _integer(least: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        if type(value) is not int or not least <= value < 2**63:
            raise ValueError(f"not an integer from {least}")
        return value

    return read


def _sorted_texts(parse: Callable[[str], T]) -> Callable[[Any], tuple[T, ...]]:
    def read(value: Any) -> tuple[T, ...]:
        if type(value) is not list:
            raise ValueError("not a list")
        texts = [_text(str)(item) for item in value]
        if texts != sorted(set(texts)):
            raise ValueError("not sorted, or with repeats")
        return tuple(parse(text) for text in texts)

    return read


def _matching(pattern: re.Pattern[str]) -> Callable[[str], str]:
    def read(text: str) -> str:
        if pattern.fullmatch(text) is None:
            raise ValueError(f"not of the form {pattern.pattern}")
        return text

    return read


def _slot_key(text: str) -> SlotKey:
    if not (text.isprintable() and text.startswith(("wip:", "agent:")) and len(text) <= 120):
        raise ValueError("not a slot key")
    return SlotKey(text)


def _true(value: Any) -> bool:
    if value is not True:
        raise ValueError("not true")
    return True


def _replaced(value: Any) -> Claim:
    claim = _claim(_members(value))
    if claim.closed is None:
        raise ValueError("not a closed record")
    return claim


def _closed(value: Any) -> Closed:
    take = _Taker(_members(value))
    closed = Closed(
        at=take.required("at", _text(clock.parse_instant)),
        by=take.required("by", _text(parse_agent)),
        outcome=take.required("outcome", _text(_outcome)),
        reason=take.nullable("reason", _text(_reason)),
        commit=take.nullable("commit", _text(parse_object_id)),
        unknown=take.rest,
    )
    _refuse_deep(closed.unknown, MAX_DEPTH)
    return closed


def _outcome(text: str) -> str:
    if text not in OUTCOMES:
        raise ValueError(f"not one of {', '.join(OUTCOMES)}")
    return text


def _reason(text: str) -> str:
    if len(text) > MAX_REASON:
        raise ValueError(f"over {MAX_REASON} characters")
    return text
