"""Names: each is parsed once and trusted by its type afterwards; and where every ref lives.

The parsers raise ValueError with a line that says what is wrong; callers know the place and add it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache
from typing import NewType

from claims import clock

TaskId = NewType("TaskId", str)
ProposalId = NewType("ProposalId", str)
AgentName = NewType("AgentName", str)
Branch = NewType("Branch", str)
LockKey = NewType("LockKey", str)
SlotKey = NewType("SlotKey", str)
#: A full object id: 40 or 64 lowercase hex digits.
ObjectId = NewType("ObjectId", str)
#: A full ref name, as in `refs/heads/main`.
RefName = NewType("RefName", str)

CLAIMS = "refs/swarm/task-claims/"
LOCKS = "refs/swarm/task-locks/"
SLOTS = "refs/swarm/slots/"
LOG = "refs/swarm/claim-log/"
ARCHIVE = RefName("refs/swarm/claim-log-archive")
FETCHES = "refs/swarm-fetch/"
#: The refs that say who holds what. The log is history and is read by task.
LIVE = (CLAIMS, LOCKS, SLOTS)

_TASK_ID = re.compile(r"T-([0-9]{8})-[0-9a-f]{8}")
_PROPOSAL_ID = re.compile(r"P-([0-9]{8})-[0-9a-f]{8}")
_AGENT = re.compile(r"[A-Za-z0-9._:@/+][A-Za-z0-9._:@/+-]{0,99}")
_LOCK = re.compile(r"[A-Za-z0-9._/:@+-]{1,120}")
_OBJECT_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
# git-check-ref-format(1): what a component may not hold, may not start or end with.
_BAD_IN_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//")


def parse_task_id(text: str) -> TaskId:
    """`T-YYYYMMDD-<8 lowercase hex>` with a real date. Raises ValueError."""
    return TaskId(_dated(_TASK_ID, text, "task id", "T-YYYYMMDD-<8 hex digits>"))


def task_ids_among(texts: Iterable[str]) -> list[TaskId]:
    """Those of the texts that `parse_task_id` takes, in order; for the thousands of names of a folder."""
    matches = map(_TASK_ID.fullmatch, texts)
    return [TaskId(match[0]) for match in matches if match is not None and _is_real(match[1])]


def parse_proposal_id(text: str) -> ProposalId:
    """`P-YYYYMMDD-<8 lowercase hex>` with a real date. Raises ValueError."""
    return ProposalId(_dated(_PROPOSAL_ID, text, "proposal id", "P-YYYYMMDD-<8 hex digits>"))


def parse_agent(text: str) -> AgentName:
    """1 to 100 of `A-Z a-z 0-9 . _ : @ / + -`, not starting with `-`. Raises ValueError."""
    if _AGENT.fullmatch(text) is None:
        raise ValueError(f"{text!r} is not an agent name: 1 to 100 of A-Z a-z 0-9 . _ : @ / + -, not starting with -")
    return AgentName(text)


def parse_branch(text: str) -> Branch:
    """A short branch name that `refs/heads/<name>` can hold. Raises ValueError."""
    parts = text.split("/")
    sound = (
        0 < len(text.encode("utf-8", "surrogatepass")) <= 1000
        and text.isprintable()
        and text != "HEAD"
        and not text.startswith("-")
        and not text.endswith(".")
        and _BAD_IN_REF.search(text) is None
        and all(part and not part.startswith(".") and not part.endswith(".lock") for part in parts)
        and all(len(part.encode("utf-8", "surrogatepass")) <= 255 for part in parts)
    )
    if not sound:
        raise ValueError(f"{text!r} is not a branch name")
    return Branch(text)


def parse_lock_key(text: str) -> LockKey:
    """1 to 120 of `A-Z a-z 0-9 . _ / : @ + -`. Raises ValueError."""
    if _LOCK.fullmatch(text) is None:
        raise ValueError(f"{text!r} is not a lock key: 1 to 120 of A-Z a-z 0-9 . _ / : @ + -")
    return LockKey(text)


def parse_object_id(text: str) -> ObjectId:
    """A full object id, SHA-1 or SHA-256. Raises ValueError."""
    if _OBJECT_ID.fullmatch(text) is None:
        raise ValueError(f"{text!r} is not a full object id")
    return ObjectId(text)


def parse_slug(text: str) -> str:
    """Lowercase words and digits joined by single hyphens, at most 64. Raises ValueError."""
    if len(text) > 64 or _SLUG.fullmatch(text) is None:
        raise ValueError(f"{text!r} is not a slug: lowercase words and digits joined by hyphens")
    return text


def wip_slot(kind: str, number: int) -> SlotKey:
    """The key of the `number`-th slot (from 1) under the cap on tasks of `kind`."""
    return SlotKey(f"wip:{kind}:{number}")


def agent_slot(agent: AgentName) -> SlotKey:
    """The key of an agent's only slot, where the configuration allows one claim an agent."""
    return SlotKey(f"agent:{agent}")


def claim_ref(task: TaskId) -> RefName:
    return RefName(CLAIMS + task)


def lock_ref(key: LockKey) -> RefName:
    return RefName(LOCKS + _short_hash(key))


def slot_ref(key: SlotKey) -> RefName:
    return RefName(SLOTS + _short_hash(key))


def log_prefix(task: TaskId) -> str:
    return f"{LOG}{task}/"


def log_ref(task: TaskId, closed_at: datetime) -> RefName:
    return RefName(log_prefix(task) + clock.format_stamp(closed_at))


def branch_ref(branch: Branch) -> RefName:
    return RefName(f"refs/heads/{branch}")


def task_of_claim_ref(ref: str) -> TaskId:
    """The task that a claim ref belongs to. Raises ValueError where the name is not one of ours."""
    if not ref.startswith(CLAIMS):
        raise ValueError(f"{ref!r} is not a claim ref")
    return parse_task_id(ref[len(CLAIMS) :])


def task_and_stamp_of_log_ref(ref: str) -> tuple[TaskId, datetime]:
    """The task and the `closed.at` that a log ref is named after. Raises ValueError."""
    task, _, stamp = ref[len(LOG) :].partition("/") if ref.startswith(LOG) else ("", "", "")
    return parse_task_id(task), clock.parse_stamp(stamp)


def _short_hash(key: str) -> str:
    import hashlib  # OpenSSL takes 3 ms to load, and most commands that read need no hash

    return hashlib.sha256(key.encode()).hexdigest()[:16]


def _dated(pattern: re.Pattern[str], text: str, what: str, form: str) -> str:
    match = pattern.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a {what}: {form}")
    day = match.group(1)
    if not _is_real(day):
        raise ValueError(f"{text!r} is not a {what}: {day} is not a real date")
    return text


@lru_cache(maxsize=256)
def _is_real(day: str) -> bool:
    """Whether `20260814` is a date. Boards have thousands of ids of few days."""
    try:
        clock.parse_date(f"{day[:4]}-{day[4:6]}-{day[6:]}")
    except ValueError:
        return False
    return True
