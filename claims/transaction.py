"""Transactions: which refs move, from what expected value to what, all or none. Pure; an arbiter applies them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from claims.names import CLAIMS, LOG, ObjectId, RefName
from claims.values import dataclass, field


@dataclass(frozen=True, slots=True)
class Edit:
    """One ref, its expected old value and its new one. None means absent; an expected value is always stated."""

    ref: RefName
    old: ObjectId | None
    new: ObjectId | None

    def __post_init__(self) -> None:
        # A push of what is already there reports success without having written anything.
        assert self.old != self.new, f"{self.ref}: nothing to change"


@dataclass(frozen=True, slots=True)
class Transaction:
    """Edits to be made all or none, already in the order in which git shall lock and write them.

    Build it with `ordered`.
    """

    edits: tuple[Edit, ...] = field(default=())

    def after(self, before: Mapping[RefName, ObjectId]) -> dict[RefName, ObjectId]:
        """What the refs of `before` would be with the edits made."""
        refs = dict(before)
        for edit in self.edits:
            if edit.new is None:
                refs.pop(edit.ref, None)
            else:
                refs[edit.ref] = edit.new
        return refs


def ordered(edits: Iterable[Edit], *, claim_first: bool = False) -> Transaction:
    """Sort edits into the one order that everybody uses (rule 4): log entries, locks and slots, then the claim ref.

    One order for all keeps claimants of the same locks from failing each other. `claim_first` is for ending a claim:
    its ref goes before the locks, so that what a kill leaves never shows a claim without them as the holder's own.
    """

    def rank(edit: Edit) -> tuple[int, str]:
        if edit.ref.startswith(LOG):
            return 0, edit.ref
        is_claim = edit.ref.startswith(CLAIMS)
        return (1 if is_claim == claim_first else 2), edit.ref

    return Transaction(tuple(sorted(edits, key=rank)))
