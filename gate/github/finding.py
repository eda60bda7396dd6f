"""What `swarm-gate doctor` finds: something that needs a hand, or something that it could not look at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from claims.errors import SwarmError
from claims.values import dataclass

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that needs a hand: what is, what was expected, and a command or a sentence that mends it."""

    code: str
    found: str
    expected: str
    fix: str

    def to_json(self) -> dict[str, str]:
        return {"code": self.code, "found": self.found, "expected": self.expected, "fix": self.fix}


@dataclass(frozen=True, slots=True)
class Unknown:
    """Checks that could not be made, and why: nobody knows whether these things are in order."""

    codes: tuple[str, ...]
    reason: str
    fix: str | None = None

    def to_json(self) -> dict[str, object]:
        return {"codes": list(self.codes), "reason": self.reason, "fix": self.fix}


@dataclass(frozen=True, slots=True)
class Check:
    """One check: the code of what it finds, and how it looks. `look` raises SwarmError where it cannot."""

    code: str
    look: Callable[[], Iterable[Finding | Unknown]]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All that was found and all that could not be looked at; in order where there is neither."""

    findings: tuple[Finding, ...] = ()
    unknown: tuple[Unknown, ...] = ()

    @property
    def verdict(self) -> str:
        """`fail` where something needs a hand; `undecided` where only something could not be looked at."""
        return "fail" if self.findings else "undecided" if self.unknown else "pass"

    def to_json(self) -> dict[str, object]:
        return {
            "version": 1,
            "verdict": self.verdict,
            "findings": [one.to_json() for one in self.findings],
            "unknown": [one.to_json() for one in self.unknown],
        }


def once(read: Callable[[], T]) -> Callable[[], T]:
    """`read`, made at most once for all that ask, whether it gives something or raises SwarmError."""
    kept: list[T | SwarmError] = []

    def answer() -> T:
        if not kept:
            try:
                kept.append(read())
            except SwarmError as fault:
                kept.append(fault)
        if isinstance(kept[0], SwarmError):
            raise kept[0].with_traceback(None)
        return kept[0]

    return answer


def diagnose(checks: Sequence[Check]) -> Diagnosis:
    """Make every check. One that cannot be made stops none of the others, and is never taken for one in order."""
    findings: list[Finding] = []
    unknown: list[Unknown] = []
    for check in checks:
        try:
            for one in check.look():
                if isinstance(one, Finding):
                    findings.append(one)
                else:
                    unknown.append(one)
        except SwarmError as fault:
            unknown.append(Unknown((check.code,), f"{fault.code}: {fault.message}", fault.hint))
    return Diagnosis(tuple(dict.fromkeys(findings)), tuple(_together(unknown)))


def _together(unknown: Iterable[Unknown]) -> Iterator[Unknown]:
    """One for each reason: a token that may not look at all is told once, with everything that it hides."""
    codes: dict[tuple[str, str | None], list[str]] = {}
    for one in unknown:
        codes.setdefault((one.reason, one.fix), []).extend(one.codes)
    for (reason, fix), hidden in codes.items():
        yield Unknown(tuple(dict.fromkeys(hidden)), reason, fix)
