"""Make GitHub what the gate needs: compare, change what differs, and read it back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from claims.errors import SwarmError, Undecided
from claims.values import dataclass
from gate.github.desired import Change, There, Wanted, changes, in_the_way
from gate.github.finding import Finding, Unknown
from gate.github.policies import Json
from gate.github.reading import SEE_POLICIES, Answers, Reading, there


class Changes(Answers, Protocol):
    """What is asked of GitHub here."""

    def post(self, path: str, body: Mapping[str, Json]) -> Json: ...

    def patch(self, path: str, body: Mapping[str, Json]) -> Json: ...

    def put(self, path: str, body: Mapping[str, Json]) -> Json: ...


@dataclass(frozen=True, slots=True)
class Setup:
    """What `setup` found to do, and whether it did.

    `held` says why the rulesets are left for later; `unknown` what could not be compared.
    """

    bases: tuple[str, ...]
    changes: tuple[Change, ...]
    applied: bool
    held: tuple[Finding, ...] = ()
    unknown: tuple[Unknown, ...] = ()

    @property
    def enforced(self) -> bool:
        """Whether the check is required by now, as far as it could be seen."""
        return not self.held and (self.applied or not self.changes)

    def to_json(self) -> dict[str, Json]:
        return {
            "version": 1,
            "bases": list(self.bases),
            "applied": self.applied,
            "enforced": self.enforced,
            "changes": [one.to_json() for one in self.changes],
            "held": [one.to_json() for one in self.held],
            "unknown": [one.to_json() for one in self.unknown],
        }


def set_up(api: Changes, bases: tuple[str, ...], *, queue: bool, apply: bool) -> Setup:
    """Compare, and with `apply` make the changes in their order and read back what came of them.

    `bases` are the gated branches, none of them: the default branch. Raises Undecided where something cannot be read,
    where GitHub refuses a change (`details.made`: those before it), and where it reads back otherwise.
    """
    reading = Reading(api)
    wanted = Wanted(bases or (reading.default_branch(),), queue)
    seen = there(reading, wanted)
    held, to_do = in_the_way(seen, wanted), _to_do(seen, wanted)
    if apply:
        _make(api, to_do)
        if to_do:
            _read_back(api, wanted)
    return Setup(wanted.bases, tuple(to_do), apply, tuple(held), _unknown(seen))


def _to_do(seen: There, wanted: Wanted) -> list[Change]:
    """The changes, without the rulesets while something is in the way of them."""
    found = changes(seen, wanted)
    return [one for one in found if not one.requires] if in_the_way(seen, wanted) else found


def _make(api: Changes, to_do: list[Change]) -> None:
    made: list[str] = []
    for change in to_do:
        try:
            _ask(api, change)
        except SwarmError as fault:
            before = f"; made before it: {', '.join(made)}" if made else ""
            raise Undecided(
                fault.code if isinstance(fault, Undecided) else "github-unavailable",
                f"{change.what} was not made: {fault.message}{before}",
                fault.hint or f"a token with {change.needs}, and setup once more: what is done stays done",
                {**fault.details, "made": made, "needs": change.needs},
            ) from fault
        made.append(change.what)


def _ask(api: Changes, change: Change) -> None:
    ask = {"POST": api.post, "PATCH": api.patch, "PUT": api.put}[change.method]
    ask(change.path, change.body)


def _read_back(api: Changes, wanted: Wanted) -> None:
    left = _to_do(there(Reading(api), wanted), wanted)
    if left:
        what = ", ".join(one.what for one in left)
        message = f"GitHub took what it was told, and still has {what} otherwise"
        raise Undecided("github-unavailable", message, "swarm-gate setup   # shows what differs")


def _unknown(seen: There) -> tuple[Unknown, ...]:
    if seen.policies is not None or seen.private:
        return ()
    reason = "GitHub does not show whether an Actions policy lets the gate start in this public repository"
    return (Unknown(("event-policy",), reason, SEE_POLICIES),)
