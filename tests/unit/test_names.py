"""Names: what each parser takes, each refusal beside the nearest text that it takes; and where every ref lives."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Callable
from datetime import datetime, timezone

import pytest

from claims import names
from claims.names import AgentName, Branch, LockKey, SlotKey, TaskId

TASK = TaskId("T-20260814-abcdef01")
AT = datetime(2026, 8, 14, 9, 30, 0, 125_000, tzinfo=timezone.utc)

# What is taken, and what is not although it is nearly the same.
TABLE: dict[str, tuple[Callable[[str], str], list[str], list[str]]] = {
    "task id": (
        names.parse_task_id,
        ["T-20260814-abcdef01", "T-20240229-00000000"],
        [
            "",
            "T-20260814-abcdef0",
            "T-20260814-abcdef011",
            "T-20260814-ABCDEF01",
            "T-20260814-abcdefg1",
            "t-20260814-abcdef01",
            "P-20260814-abcdef01",
            "T-20260230-abcdef01",
            "T-20250229-00000000",
            "T-00000814-abcdef01",
            "T-20260814-abcdef01\n",
            " T-20260814-abcdef01",
            "T-٢٠٢٦0814-abcdef01",
            "T-20260814_abcdef01",
        ],
    ),
    "proposal id": (
        names.parse_proposal_id,
        ["P-20260814-abcdef01"],
        ["T-20260814-abcdef01", "P-20260832-abcdef01", "P-20260814-abcdef01/"],
    ),
    "agent": (
        names.parse_agent,
        ["a", "codex:auth", "a-", "A.b_c:d@e/f+g-h", "a" * 100, "unknown"],
        ["", "-a", "a" * 101, "a b", "a\n", "ä", "a;b", "a$b", "a\0"],
    ),
    "lock key": (
        names.parse_lock_key,
        ["spec-lock", "-", "a/b:c@d+e", "x" * 120],
        ["", "x" * 121, "a b", "a\n", "ä", "a*", "a~", "a,b"],
    ),
    "object id": (
        names.parse_object_id,
        ["0" * 40, "0123456789abcdef" * 4],
        ["", "0" * 39, "0" * 41, "0" * 63, "0" * 65, "A" * 40, "g" * 40, "0" * 40 + "\n"],
    ),
    "slug": (
        names.parse_slug,
        ["a", "a-b-2", "a" * 64],
        ["", "-a", "a-", "a--b", "A", "a_b", "a" * 65, "a\n"],
    ),
}
TAKEN = [(parse, text) for parse, good, _ in TABLE.values() for text in good]
REFUSED = [(parse, text) for parse, _, bad in TABLE.values() for text in bad]

BRANCHES = ["main", "agent/T-1", "a.b", "a@b", "@", "ä/ö", "feature#1", "a" * 255, "a-", "$(x)", "HEAD/x", "a.lockx"]
NOT_BRANCHES = [
    "",
    "HEAD",
    "-a",
    "a.",
    "a..b",
    "a b",
    "a~b",
    "a^b",
    "a:b",
    "a?b",
    "a*b",
    "a[b",
    "a\\b",
    "a@{b",
    "a//b",
    "/a",
    "a/",
    ".a",
    "a/.b",
    "a.lock",
    "a.lock/b",
    "a\x7f",
    "a\n",
    "a\x1b[1m",
    "a\u202eb",
    "\ud800",
    "a" * 256,
    "/".join(["a" * 200] * 6),
]


@pytest.mark.parametrize(("parse", "text"), TAKEN)
def test_taken(parse: Callable[[str], str], text: str) -> None:
    assert parse(text) == text


@pytest.mark.parametrize(("parse", "text"), REFUSED)
def test_refused(parse: Callable[[str], str], text: str) -> None:
    with pytest.raises(ValueError, match="is not a"):
        parse(text)


@pytest.mark.parametrize("text", BRANCHES)
def test_a_branch_is_one_that_git_takes(text: str) -> None:
    assert names.branch_ref(names.parse_branch(text)) == f"refs/heads/{text}"
    subprocess.run(["git", "check-ref-format", f"refs/heads/{text}"], check=True)


@pytest.mark.parametrize("text", NOT_BRANCHES)
def test_not_a_branch(text: str) -> None:
    with pytest.raises(ValueError, match="is not a branch name"):
        names.parse_branch(text)


@pytest.mark.parametrize("letter", ["a", "ä"])
def test_a_branch_has_at_most_a_thousand_bytes(letter: str) -> None:
    """As much as a claim has room for; git takes more."""
    size = len(letter.encode())
    parts = [letter * (200 // size) for _ in range(4)]
    longest = "/".join([*parts, letter * (196 // size)])
    assert len(longest.encode()) == 1000
    assert names.parse_branch(longest) == longest
    with pytest.raises(ValueError, match="is not a branch name"):
        names.parse_branch(longest + "a")


def test_where_refs_live() -> None:
    assert names.claim_ref(TASK) == "refs/swarm/task-claims/T-20260814-abcdef01"
    assert names.lock_ref(LockKey("spec-lock")) == "refs/swarm/task-locks/474cc8e6e4f0452f"
    assert names.log_ref(TASK, AT) == "refs/swarm/claim-log/T-20260814-abcdef01/20260814T093000.125Z"
    assert names.branch_ref(Branch("a/b")) == "refs/heads/a/b"
    assert names.ARCHIVE == "refs/swarm/claim-log-archive"


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (names.wip_slot("planning", 2), "wip:planning:2"),
        (names.agent_slot(AgentName("codex:auth")), "agent:codex:auth"),
    ],
)
def test_slots(key: SlotKey, text: str) -> None:
    assert key == text
    assert names.slot_ref(key) == f"refs/swarm/slots/{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def test_refs_are_read_back() -> None:
    assert names.task_of_claim_ref(names.claim_ref(TASK)) == TASK
    assert names.task_and_stamp_of_log_ref(names.log_ref(TASK, AT)) == (TASK, AT)


@pytest.mark.parametrize(
    "ref",
    [
        f"refs/swarm/task-locks/{TASK}",
        f"refs/swarm/task-claims/{TASK}/x",
        "refs/swarm/task-claims/",
        f"x/refs/swarm/task-claims/{TASK}",
        f"refs/swarm/task_claims/{TASK}",
    ],
)
def test_not_a_claim_ref(ref: str) -> None:
    with pytest.raises(ValueError):
        names.task_of_claim_ref(ref)


@pytest.mark.parametrize(
    "ref",
    [
        f"refs/swarm/claim-log/{TASK}",
        f"refs/swarm/claim-log/{TASK}/20260814T093000.125Z/x",
        f"refs/swarm/claim-log/{TASK}/2026-08-14T09:30:00.125Z",
        f"refs/swarm/task-claims/{TASK}/20260814T093000.125Z",
        "refs/swarm/claim-log-archive",
    ],
)
def test_not_a_log_ref(ref: str) -> None:
    with pytest.raises(ValueError):
        names.task_and_stamp_of_log_ref(ref)
