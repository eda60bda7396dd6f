"""The published codes and exit statuses, and folding several reasons into one error."""

from __future__ import annotations

import re

import pytest

from claims import errors
from claims.errors import CODES, Conflict, Refused, SwarmError, Undecided, Usage, error, first_of

#: As published: other programs rely on every word and number here.
PUBLISHED = {
    1: """detached-head on-base-branch task-not-queued dependency-open review-overdue reserved plan-not-approved
        plan-mismatch plan-moved milestone-not-active not-in-milestone finished-elsewhere task-changed task-unknown
        unknown-dependency dependency-cycle nothing-to-reopen claim-not-found claim-expired agent-required""",
    2: """claim-held lock-held claim-lost claim-live stale-token not-holder wip-limit agent-busy branch-busy overlap
        busy moved""",
    3: """not-a-repository git-missing git-too-old git-failed base-not-found remote-unreachable remote-rejected
        remote-not-atomic malformed-task malformed-plan malformed-manifest malformed-config malformed-claim
        limits-exceeded evidence-incomplete github-unavailable unexpected timed-out runner-unavailable output-failed""",
    64: "usage ambiguous-id",
}
CLASSES: dict[int, type[SwarmError]] = {1: Refused, 2: Conflict, 3: Undecided, 64: Usage}


def test_the_codes_and_their_exits_are_the_published_ones() -> None:
    assert {code: exit for exit, codes in PUBLISHED.items() for code in codes.split()} == CODES


def test_the_exits_are_the_published_ones() -> None:
    named = {name: value for name, value in vars(errors).items() if name.startswith("EXIT_")}
    assert named == {
        "EXIT_OK": 0,
        "EXIT_REFUSED": 1,
        "EXIT_CONFLICT": 2,
        "EXIT_UNDECIDED": 3,
        "EXIT_USAGE": 64,
        "EXIT_INTERRUPTED": 130,
    }


@pytest.mark.parametrize("code", CODES)
def test_a_code_is_raised_with_its_class_and_no_other(code: str) -> None:
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", code)
    right = CLASSES[CODES[code]]
    assert type(error(code, "m")) is right
    for wrong in set(CLASSES.values()) - {right}:
        with pytest.raises(AssertionError, match=code):
            wrong(code, "m")


def test_a_code_that_is_not_published_is_refused() -> None:
    with pytest.raises(KeyError):
        Refused("task-lost", "m")


def test_an_error_keeps_its_own_details() -> None:
    given = {"task": "T"}
    raised = Refused("reserved", "m", "h", given)
    given["task"] = "another"
    assert (str(raised), raised.hint, raised.details) == ("m", "h", {"task": "T"})


def test_one_reason_is_itself() -> None:
    only = Refused("reserved", "m")
    assert first_of([only]) is only


def test_of_several_reasons_the_first_decides_and_all_are_told() -> None:
    first = Conflict("claim-held", "held", "swarm tasks", {"task": "T"})
    folded = first_of([first, Refused("reserved", "kept")])
    assert type(folded) is Conflict
    assert (folded.code, folded.message, folded.hint) == ("claim-held", "held", "swarm tasks")
    assert folded.details == {
        "task": "T",
        "reasons": [
            {"code": "claim-held", "message": "held", "hint": "swarm tasks"},
            {"code": "reserved", "message": "kept", "hint": None},
        ],
    }
    assert "reasons" not in first.details
