"""Edits with their expected values, and the one order that everybody uses (rule 4)."""

from __future__ import annotations

import itertools

import pytest

from claims.names import LockKey, ObjectId, RefName, agent_slot, claim_ref, lock_ref, log_ref, parse_agent, slot_ref
from claims.transaction import Edit, Transaction, ordered
from tests.unit.values import minutes, task

A, B = ObjectId("a" * 40), ObjectId("b" * 40)
LATE, EARLY = log_ref(task(), minutes(1)), log_ref(task(), minutes(-1))
SLOT = slot_ref(agent_slot(parse_agent("ann")))
LOCKS = sorted(lock_ref(LockKey(key)) for key in "klm")
CLAIM = claim_ref(task())
REFS = [EARLY, LATE, SLOT, *LOCKS, CLAIM]


@pytest.mark.parametrize("value", [A, None])
def test_an_edit_that_changes_nothing_is_none(value: ObjectId | None) -> None:
    """A push of what is there already reports success without writing."""
    with pytest.raises(AssertionError, match="nothing to change"):
        Edit(CLAIM, value, value)


@pytest.mark.parametrize("order", list(itertools.permutations(range(len(REFS))))[::97])
def test_log_entries_then_slots_and_locks_sorted_then_the_claim(order: tuple[int, ...]) -> None:
    edits = [Edit(REFS[number], None, A) for number in order]
    assert [edit.ref for edit in ordered(edits).edits] == REFS


def test_an_ending_has_the_claim_before_the_locks() -> None:
    edits = [Edit(ref, A, None) for ref in REFS]
    assert [edit.ref for edit in ordered(edits, claim_first=True).edits] == [EARLY, LATE, CLAIM, SLOT, *LOCKS]


def test_the_order_does_not_depend_on_what_becomes_of_a_ref() -> None:
    """Locks that are made, moved and dropped are locked in one order by everybody."""
    edits = [Edit(LOCKS[2], A, None), Edit(LOCKS[1], None, B), Edit(CLAIM, A, B), Edit(LOCKS[0], A, B)]
    assert [edit.ref for edit in ordered(edits).edits] == [*LOCKS, CLAIM]


def test_what_is_there_afterwards() -> None:
    kept = RefName("refs/swarm/slots/kept")
    made = Transaction((Edit(CLAIM, A, B), Edit(SLOT, A, None), Edit(LOCKS[0], None, B)))
    before = {CLAIM: A, SLOT: A, kept: A}
    assert made.after(before) == {CLAIM: B, LOCKS[0]: B, kept: A}
    assert before == {CLAIM: A, SLOT: A, kept: A}
