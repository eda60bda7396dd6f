"""Proposals: what their files may say."""

from __future__ import annotations

import pytest

from claims.board.proposal import ProposalStatus, Severity, parse_proposal
from claims.errors import Undecided
from tests.support.board import task_id, yaml

ID = "P-20260814-0000000a"
PATH = f".agents/proposals/{ID}.md"
GOOD = {
    "id": ID,
    "title": "The order is wrong",
    "base_plan_revision": 3,
    "severity": "ordering",
    "status": "open",
    "raised_by": "codex:auth",
}


def proposal(**changes: object) -> tuple[bytes, str]:
    members = {key: value for key, value in {**GOOD, **changes}.items() if value is not None}
    return f"---\n{yaml(members)}---\nWhat was found.\n".encode(), PATH


def test_a_proposal() -> None:
    found = parse_proposal(*proposal(task=task_id(1)))
    assert (found.id, found.title, found.base_plan_revision) == (ID, "The order is wrong", 3)
    assert (found.severity, found.status, found.raised_by) == (Severity.ORDERING, ProposalStatus.OPEN, "codex:auth")
    assert (found.task, found.folded_into, found.body) == (task_id(1), None, "What was found.\n")


def test_one_that_was_folded() -> None:
    assert parse_proposal(*proposal(status="folded", folded_into=4)).folded_into == 4


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"id": "P-20260814-0000000b"}, "but the file is named"),
        ({"id": "P-20260230-0000000a"}, "not a real date"),
        ({"title": None}, "`title`"),
        ({"base_plan_revision": -1}, "base_plan_revision"),
        ({"base_plan_revision": True}, "base_plan_revision"),
        ({"severity": "grave"}, "severity"),
        ({"status": "closed"}, "status"),
        ({"raised_by": "two words"}, "raised_by"),
        ({"task": "T-1"}, "task"),
        ({"status": "folded"}, "folded_into"),
        ({"folded_into": 4}, "folded_into"),
        ({"priority": "p0"}, "priority"),
    ],
)
def test_what_does_not_read(changes: dict[str, object], words: str) -> None:
    with pytest.raises(Undecided, match=words) as caught:
        parse_proposal(*proposal(**changes))
    assert caught.value.code == "malformed-task"
    assert caught.value.message.startswith(f"{PATH}:")
