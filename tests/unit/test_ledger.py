"""What counts when a transaction was torn: each rule with the scenario that it is about, and its twin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from claims.ledger import ENDS, Entry, Key, Ledger, carrying, keys_of
from claims.names import LockKey, RefName, SlotKey, claim_ref, lock_ref, slot_ref
from claims.record import Claim
from tests.unit.values import NOW, Refs, claim, ended, minutes, task

KEY = Key(LockKey("k"), lock_ref(LockKey("k")))
SLOT = Key(SlotKey("wip:feature:1"), slot_ref(SlotKey("wip:feature:1")))
ANN = claim(1, "ann", locks=["k"], slots=(SLOT.name,))
BOB = claim(2, "bob", locks=["k"])


def expired(one: Claim) -> Claim:
    return replace(one, claimed_at=minutes(-60), expires_at=minutes(0))


def taker(refs: Refs, *aside: Claim, key: Key = KEY) -> str | None:
    """Who takes a key, by name; `unreadable` where nobody can tell."""
    entry = refs.ledger().taker(key, aside)
    return None if entry is None else (entry.claim.agent if entry.claim else "unreadable")


# Rule 1: taken while a held claim lists it, or while its ref's own blob is unexpired.

TAKEN: dict[str, tuple[Refs, str | None]] = {
    "nobody has it": (Refs(), None),
    "a claim lists it and its ref is there": (Refs().held(ANN), "ann"),
    "a claim lists it, its ref is torn away": (Refs().claim_ref(ANN), "ann"),
    "an expired claim lists it": (Refs().held(expired(ANN)), "ann"),
    "an expired claim lists it, its ref is torn away": (Refs().claim_ref(expired(ANN)), "ann"),
    "a claim lists another": (Refs().held(replace(ANN, locks=(LockKey("other"),))), None),
    "its ref alone is there, unexpired": (Refs().keys_of(ANN), "ann"),
    "its ref alone is there, expired: debris": (Refs().keys_of(expired(ANN)), None),
    "its ref alone is there, of a closed record: debris": (Refs().keys_of(ended(ANN)), None),
    "its ref does not read": (Refs().broken(KEY.ref), "unreadable"),
    "a completion record lists it": (Refs().claim_ref(ended(ANN, "done")), None),
    "a claim lists it, its ref is of another, expired": (Refs().claim_ref(ANN).keys_of(expired(BOB)), "ann"),
    "its ref is of one whose end is on record": (Refs().keys_of(ANN).log(ended(ANN)), None),
    "a claim lists it whose end is on record": (Refs().held(ANN).log(ended(ANN)), None),
    "a claim lists it whose end is of another": (Refs().held(ANN).log(ended(claim(1, "eve"))), "ann"),
    "a claim lists it that is done but there": (Refs().held(ANN).log(ended(ANN, "done")), "ann"),
    "a claim of this clone lists it": (Refs().unpublished(ANN), "ann"),
    "a claim of this clone lists another": (Refs().unpublished(replace(ANN, locks=())), None),
}


@pytest.mark.parametrize("case", TAKEN)
def test_rule_1_taken(case: str) -> None:
    refs, expected = TAKEN[case]
    assert taker(refs) == expected


@pytest.mark.parametrize("refs", [Refs().held(ANN), Refs().claim_ref(ANN), Refs().keys_of(ANN)])
def test_rule_1_what_is_set_aside_does_not_count(refs: Refs) -> None:
    assert taker(refs, ANN) is None
    assert taker(refs, replace(ANN, expires_at=minutes(90))) is None, "a claim stays itself when it is renewed"
    assert taker(refs, BOB) == "ann"
    assert taker(refs, replace(ANN, token_hash="f" * 64)) == "ann"


def test_rule_1_slots_are_keys_like_locks() -> None:
    assert taker(Refs().held(ANN), key=SLOT) == "ann"
    assert taker(Refs().claim_ref(ANN), key=SLOT) == "ann"
    assert taker(Refs().held(BOB), key=SLOT) is None


def test_rule_1_what_does_not_read_is_never_set_aside() -> None:
    assert taker(Refs().broken(KEY.ref), ANN, BOB) == "unreadable"


def test_rule_1_behind_one_that_is_set_aside_another_counts() -> None:
    assert taker(Refs().claim_ref(BOB).held(ANN), ANN) == "bob"


# Rule 2: a claim whose end is in the log has ended, even if its ref is still there.


def test_the_ends_are_all_outcomes_but_done() -> None:
    """A `done` claim's ref stays as the completion record; `reopened` is how that one ends."""
    assert set(ENDS) == {"released", "stolen", "expired", "reopened"}


@pytest.mark.parametrize("outcome", ENDS)
def test_rule_2_what_ended_is_not_held(outcome: str) -> None:
    ledger = Refs().held(ANN).log(ended(ANN, outcome)).ledger()
    assert ledger.has_ended(ANN)
    assert list(ledger.held()) == []
    assert ledger.held_on(ANN.task) is None


@pytest.mark.parametrize(
    "log",
    [
        Refs(),
        Refs().log(of=task(1)),
        Refs().log(ended(ANN, "done")),
        Refs().log(ended(replace(ANN, token_hash="f" * 64))),
        Refs().log(ended(replace(ANN, claimed_at=minutes(-11)))),
        Refs().log(ended(BOB)),
    ],
)
def test_rule_2_without_evidence_it_is_held(log: Refs) -> None:
    ledger = log.held(ANN).ledger()
    assert not ledger.has_ended(ANN)
    assert [entry.claim for entry in ledger.held()] == [ANN]


def test_rule_2_holds_for_a_claim_however_often_it_was_renewed() -> None:
    renewed = replace(ANN, expires_at=minutes(90))
    assert Refs().held(renewed).log(ended(ANN, "stolen")).ledger().held_on(ANN.task) is None


def test_rule_2_an_entry_that_does_not_read_is_no_evidence() -> None:
    ledger = Refs().held(ANN).log(of=ANN.task).ledger()
    odd = Entry(RefName("refs/swarm/claim-log/x/y"), ledger.claims[ANN.task].id, None, "broken")
    assert not replace(ledger, logs={ANN.task: (odd,)}).has_ended(ANN)


def test_a_completion_record_is_finished_until_it_was_reopened() -> None:
    done = ended(ANN, "done")
    finished = Refs().claim_ref(done).log(done).ledger()
    assert finished.held_on(ANN.task) is None
    entry = finished.finished_on(ANN.task)
    assert entry is not None and entry.claim == done
    assert Refs().claim_ref(done).log(done, ended(ANN, "reopened", -4)).ledger().finished_on(ANN.task) is None


@pytest.mark.parametrize("refs", [Refs(), Refs().held(ANN), Refs().broken(claim_ref(ANN.task))])
def test_nothing_else_is_finished(refs: Refs) -> None:
    assert refs.ledger().finished_on(ANN.task) is None


def test_held_claims_are_of_the_arbiter_and_of_this_clone() -> None:
    ledger = Refs().held(ANN).unpublished(BOB).ledger()
    assert [(entry.claim.agent, entry.published) for entry in ledger.held() if entry.claim] == [
        ("ann", True),
        ("bob", False),
    ]


def test_where_a_task_is_held_twice_the_published_claim_comes_first() -> None:
    here = claim(1, "bob")
    found = Refs().unpublished(here).held(ANN).ledger().held_on(ANN.task)
    assert found is not None and found.claim == ANN


def test_the_locks_of_a_claim_in_this_clone_are_no_claims() -> None:
    ledger = Refs().unpublished(ANN).ledger()
    assert len(ledger.local) == 3
    assert len(list(ledger.held())) == 1


# Rule 3: a success that was not told outright needs the whole set.


def whole(refs: Refs, one: Claim) -> bool:
    ledger = refs.ledger()
    return ledger.whole(ledger.claims[one.task])


def test_rule_3_the_whole_set() -> None:
    assert whole(Refs().held(ANN), ANN)
    assert whole(Refs().held(claim(3)), claim(3)), "a claim without keys is whole by itself"


@pytest.mark.parametrize("missing", [KEY.ref, SLOT.ref])
def test_rule_3_a_key_is_missing(missing: RefName) -> None:
    assert not whole(Refs().held(ANN).without(missing), ANN)


def test_rule_3_a_key_is_anothers() -> None:
    assert not whole(Refs().held(ANN).keys_of(BOB), ANN)
    assert not whole(Refs().held(ANN).keys_of(replace(ANN, token_hash="f" * 64)), ANN)
    assert not whole(Refs().held(ANN).broken(KEY.ref), ANN)


def test_rule_3_the_version_of_a_key_does_not_matter() -> None:
    assert whole(Refs().claim_ref(ANN).keys_of(replace(ANN, expires_at=minutes(90))), ANN)


def test_rule_3_a_claim_of_this_clone_is_whole_by_what_is_here() -> None:
    ledger = Refs().unpublished(ANN).ledger()
    entry = ledger.local[claim_ref(ANN.task)]
    assert ledger.whole(entry)
    rest = {ref: at for ref, at in ledger.local.items() if ref != KEY.ref}
    assert not replace(ledger, local=rest).whole(entry)
    assert not Refs().keys_of(BOB).ledger().whole(entry)


# Rule 4 is about transactions.


def test_rule_4_the_keys_of_a_claim_are_in_the_order_in_which_refs_are_locked() -> None:
    refs = [key.ref for key in keys_of(claim(locks=["a", "b", "c", "d"], slots=(SLOT.name,)))]
    assert refs == sorted(refs)
    assert len(refs) == 5


# Rule 5: what a steal took along and the log lacks.

OLDEST = ended(claim(1, "old"), "stolen", -30)
OLDER = replace(ended(claim(1, "older"), "stolen", -20), replaced=OLDEST)
THIEF = claim(1, "thief", replaced=OLDER)


def owed(*logged: Claim) -> list[str]:
    return [one.agent for one in Refs().log(*logged, of=task(1)).ledger().owed(THIEF)]


def test_rule_5_what_is_owed_comes_oldest_first() -> None:
    assert owed() == ["old", "older"]
    assert owed(OLDER) == ["old"]
    assert owed(OLDEST) == ["older"]
    assert owed(OLDEST, OLDER) == []


def test_rule_5_any_end_will_do() -> None:
    assert owed(ended(claim(1, "older"), "expired", -1)) == ["old"]


def test_rule_5_a_claim_that_replaced_nothing_owes_nothing() -> None:
    assert Refs().ledger().owed(ANN) == ()


def test_rule_5_owed_records_are_carried_on_as_they_came() -> None:
    first, second = Refs().ledger().owed(THIEF)
    assert carrying([]) is None
    assert carrying([first]) == replace(OLDEST, replaced=None)
    carried = carrying([first, second])
    assert carried == OLDER
    assert Refs().ledger().owed(replace(THIEF, replaced=carried)) == (first, second)


def test_rule_5_what_the_log_has_by_now_is_carried_no_further() -> None:
    left = Refs().log(OLDEST).ledger().owed(THIEF)
    assert carrying(left) == replace(OLDER, replaced=None)


# Rule 6: it touches only keys that carry the claim.


def carried(refs: Refs) -> set[str]:
    return {key.name for key, _ in refs.ledger().keys_carrying(ANN)}


@pytest.mark.parametrize(
    ("refs", "names"),
    [
        (Refs().held(ANN), {"k", "wip:feature:1"}),
        (Refs().keys_of(ANN), {"k", "wip:feature:1"}),
        (Refs().keys_of(replace(ANN, expires_at=minutes(90))), {"k", "wip:feature:1"}),
        (Refs().held(ANN).without(KEY.ref), {"wip:feature:1"}),
        (Refs().held(ANN).keys_of(BOB), {"wip:feature:1"}),
        (Refs().held(ANN).keys_of(replace(ANN, token_hash=None)), set()),
        (Refs().held(ANN).broken(KEY.ref), {"wip:feature:1"}),
        (Refs(), set()),
    ],
)
def test_rule_6_keys_that_carry_it(refs: Refs, names: set[str]) -> None:
    assert carried(refs) == names


def test_rule_6_keys_that_it_does_not_list_are_not_its_own() -> None:
    assert {key.name for key, _ in Refs().held(ANN).ledger().keys_carrying(replace(ANN, locks=()))} == {SLOT.name}


# Clocks: a new record is later than every one of its task.


def test_the_first_record_is_now() -> None:
    ledger = Refs().ledger()
    assert ledger.latest_record(task()) is None
    assert ledger.next_instant(task()) == NOW


@pytest.mark.parametrize(
    "say",
    [
        lambda refs, at: refs.held(claim(claimed_at=at)),
        lambda refs, at: refs.log(ended(claim(), at=(at - NOW) / timedelta(minutes=1))),
        lambda refs, at: refs.log(ended(claim(claimed_at=at))),
        lambda refs, at: refs.claim_ref(ended(claim(), "done", (at - NOW) / timedelta(minutes=1))),
        lambda refs, at: refs.held(claim(replaced=ended(claim(), "stolen", (at - NOW) / timedelta(minutes=1)))),
        lambda refs, at: refs.unpublished(claim(claimed_at=at)),
    ],
)
def test_a_record_is_later_than_every_one_of_its_task(say: Callable[..., Refs]) -> None:
    tick = timedelta(milliseconds=1)
    for at, after in [
        (NOW - tick, NOW),
        (NOW, NOW + tick),
        (minutes(1), minutes(1) + tick),
        (minutes(5), minutes(5) + tick),
        (minutes(5) + tick, NOW),
    ]:
        assert say(Refs(), at).ledger().next_instant(task()) == after


def test_records_of_other_tasks_do_not_count() -> None:
    assert Refs().held(claim(2, claimed_at=minutes(1))).log(of=task(1)).ledger().next_instant(task(1)) == NOW


def test_records_that_do_not_read_do_not_count() -> None:
    ledger = Refs().broken(claim_ref(task(1))).log(ended(claim(), at=1)).ledger()
    (logged,) = ledger.logs[task(1)]
    odd = replace(logged, claim=None)
    assert replace(ledger, logs={task(1): (odd,)}).next_instant(task(1)) == NOW
    assert ledger.next_instant(task(1)) > minutes(1)


def test_refs_are_found_by_name() -> None:
    ledger: Ledger = Refs().held(ANN).ledger()
    assert ledger.entry_at(KEY.ref) == ledger.keys[KEY.ref]
    assert ledger.id_at(KEY.ref) == ledger.keys[KEY.ref].id
    assert ledger.entry_at(RefName("refs/x")) is None
    assert ledger.id_at(RefName("refs/x")) is None
