"""A check that cannot be made is never one in order."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from claims.errors import Undecided
from gate.github.finding import Check, Diagnosis, Finding, Unknown, diagnose, once

WRONG = Finding("a", "is so", "was to be so", "do this")


def unable() -> Iterator[Finding]:
    raise Undecided("github-unavailable", "GET /x: 403", "get a permission")


def test_what_cannot_be_looked_at_is_told_once_for_each_reason() -> None:
    seen = diagnose([Check("a", unable), Check("b", lambda: [WRONG]), Check("c", unable), Check("d", list)])
    assert seen.findings == (WRONG,)
    assert seen.unknown == (Unknown(("a", "c"), "github-unavailable: GET /x: 403", "get a permission"),)


@pytest.mark.parametrize(
    ("seen", "verdict"),
    [
        (Diagnosis(), "pass"),
        (Diagnosis((WRONG,)), "fail"),
        (Diagnosis((), (Unknown(("a",), "why"),)), "undecided"),
        (Diagnosis((WRONG,), (Unknown(("a",), "why"),)), "fail"),
    ],
)
def test_verdict(seen: Diagnosis, verdict: str) -> None:
    assert seen.verdict == verdict


def test_what_fails_is_tried_once() -> None:
    tries: list[int] = []

    def read() -> int:
        tries.append(1)
        raise Undecided("timed-out", "too late")

    asked = once(read)
    for _ in range(2):
        with pytest.raises(Undecided, match="too late"):
            asked()
    assert len(tries) == 1
    assert once(lambda: 5)() == 5
