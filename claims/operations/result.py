"""What a command found or did, as a value that the CLI prints."""

from __future__ import annotations

from typing import Any

from claims.admission import deletion_command
from claims.ledger import Entry, Ledger
from claims.names import RefName
from claims.notice import Notice
from claims.record import Claim, to_json
from claims.values import dataclass

#: Members of the blob that command output leaves out: they are of no use to its reader.
_NOT_SHOWN = ("tokenHash", "replaced", "taskDigest")


@dataclass(frozen=True, slots=True)
class Left:
    """The commands that are left to a claim's holder, to be pasted as they stand: one that fails stops the rest.

    `there` leads to where the others work, `finishing` moves the task's file, `handing_in` is what follows it.
    """

    there: tuple[str, ...] = ()
    finishing: tuple[str, ...] = ()
    handing_in: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """One command a line, tied together such that a shell takes them for one."""
        *most, last = (*self.there, *self.finishing, *self.handing_in)
        return [*(f"{command} &&" for command in most), last]

    def to_json(self) -> list[str]:
        """Each can be run by itself, in whatever shell."""
        parts = filter(None, (self.finishing, self.handing_in))
        return [" && ".join([*self.there, *part]) for part in parts]


@dataclass(frozen=True, slots=True)
class ClaimResult:
    """One claim as a command left it. `already`: nothing had to change."""

    claim: Claim
    ref: RefName
    state: str
    remaining: int
    already: bool = False
    notices: tuple[Notice, ...] = ()
    left: Left | None = None

    def to_json(self) -> dict[str, Any]:
        value = {**claim_json(self.claim), "state": self.state, "remaining": self.remaining, "ref": self.ref}
        if self.already:
            value["already"] = True
        if self.left is not None:
            value["next"] = self.left.to_json()
        return {**value, "warnings": [notice.to_json() for notice in self.notices]}


def claim_json(claim: Claim) -> dict[str, Any]:
    """A claim with the blob's member names, and whether a remote arbitrated it."""
    members = {name: value for name, value in to_json(claim).items() if name not in _NOT_SHOWN}
    members.pop("local", None)
    return {**members, "published": not claim.local}


def state_of(claim: Claim, ledger: Ledger) -> str:
    """`active`, `expired` or `finished`."""
    if claim.closed is not None:
        return "finished" if claim.closed.outcome == "done" else claim.closed.outcome
    return "expired" if claim.expired(ledger.now) else "active"


def remaining(claim: Claim, ledger: Ledger) -> int:
    """Whole seconds until the lease runs out, negative once past."""
    return int((claim.expires_at - ledger.now).total_seconds() // 1)


def entry_json(entry: Entry, ledger: Ledger, remote: str | None, *, merged: bool = False) -> dict[str, Any]:
    """A live ref for `status` and `show`: its claim, or that it is malformed, why, and the command that deletes it.

    `merged`: base has the task as done. That is told of completion records.
    """
    if entry.claim is None:
        hint = deletion_command([entry], remote)
        return {"state": "malformed", "ref": entry.ref, "id": entry.id, "fault": entry.fault, "hint": hint}
    claim = entry.claim
    return {
        **claim_json(claim),
        "state": state_of(claim, ledger),
        "remaining": remaining(claim, ledger),
        "ref": entry.ref,
        **({"merged": merged} if claim.closed is not None else {}),
    }
