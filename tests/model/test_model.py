"""The protocol holds within stated bounds, and each of its rules is needed.

A search visits every state that its bounds allow: so many commands begun, transactions torn, transactions without an
answer (landed, lost or late) and leases run out. The stories below are what it finds with one rule taken away, shortest
first; run with `-rP` to read them step by step. Two agents are A and B, two tasks T1 and T2, a lock L and a slot S.
"""

from __future__ import annotations

import pytest

from tests.model import protocol
from tests.model.invariants import (
    ALL,
    I1_BELIEF,
    I1_RECORD,
    I2_STANDS,
    I2_SUCCESS,
    I4_WEDGE,
    I5_STALE,
    I6_LOST,
    TWO_HOLDERS,
)
from tests.model.protocol import LOG, REFUSED, T1, T2, Context, L, Rules, S, Tell
from tests.model.search import search
from tests.model.state import Budget
from tests.model.world import World

LOCK = ((L,), (L,))
LOCK_AND_SLOT = ((S, L), (L,))
#: A coarser fetch than the default, for the widest bounds.
TWO_MOMENTS = ((LOG, S, T1, T2), (L,))
WITHOUT_DONE = ("claim", "renew", "release", "steal", "reap")
LAPSES = ("claim", "renew", "lapse", "release", "steal", "reap")
#: Bounds, in this order: commands, torn, unanswered, leases that run out.
EVERYWHERE = {
    "a lock": World(needed=LOCK, budget=Budget(3, 1, 1, 1)),
    "a lock and a slot": World(needed=LOCK_AND_SLOT, budget=Budget(3, 1, 0, 1)),
    "four commands": World(needed=LOCK, budget=Budget(4, 1, 0, 1)),
    "two torn": World(needed=LOCK, budget=Budget(3, 2, 0, 1)),
    "no keys": World(needed=((), ()), budget=Budget(3, 1, 0, 1)),
    "leases ended at will": World(needed=LOCK, budget=Budget(3, 1, 0, 1), verbs=LAPSES),
    "base moves the lock": World(needed=((), (L,)), changed=LOCK, budget=Budget(3, 1, 0, 1), verbs=WITHOUT_DONE),
    "three agents": World(needed=LOCK, budget=Budget(3, 1, 0, 1), verbs=WITHOUT_DONE, agents=3),
}
ONLY_IN_FULL = {
    "full: a lock and a slot": World(needed=LOCK_AND_SLOT, budget=Budget(3, 1, 1, 1)),
    "full: a slot": World(needed=((S,), (S,)), budget=Budget(3, 1, 1, 1)),
    "full: no keys": World(needed=((), ()), budget=Budget(3, 1, 1, 1)),
    "full: four commands": World(needed=LOCK, budget=Budget(4, 1, 1, 1), fetch=TWO_MOMENTS),
    "full: five commands": World(needed=LOCK, budget=Budget(5, 1, 0, 1)),
    "full: two torn, two leases": World(needed=LOCK, budget=Budget(3, 2, 1, 2), fetch=TWO_MOMENTS),
    "full: two torn, a lock and a slot": World(needed=LOCK_AND_SLOT, budget=Budget(3, 2, 0, 2)),
    "full: three torn": World(needed=LOCK, budget=Budget(3, 3, 0, 2)),
    "full: two unanswered": World(needed=LOCK, budget=Budget(3, 1, 2, 0)),
    "full: two unanswered, four commands": World(needed=LOCK, budget=Budget(4, 0, 2, 0)),
    "full: leases ended at will": World(needed=LOCK, budget=Budget(3, 1, 1, 1), verbs=LAPSES),
    "full: base moves the lock": World(needed=((), (L,)), changed=LOCK, budget=Budget(3, 2, 0, 2)),
    "full: base moves the slot": World(needed=((), (S,)), changed=((S,), (S,)), budget=Budget(3, 1, 1, 1)),
    "full: locks read first": World(needed=LOCK, budget=Budget(3, 1, 1, 1), fetch=((L, S), (LOG,), (T1, T2))),
    "full: the log read last": World(needed=LOCK, budget=Budget(3, 1, 1, 1), fetch=((T1, T2), (L, S), (LOG,))),
    "full: each ref at its own moment": World(
        needed=LOCK_AND_SLOT, budget=Budget(3, 1, 1, 0), fetch=((LOG,), (S,), (T1,), (T2,), (L,))
    ),
    "full: three agents": World(needed=LOCK, budget=Budget(3, 1, 1, 1), agents=3),
    "full: three agents, four commands": World(needed=LOCK, budget=Budget(4, 1, 0, 1), agents=3),
}


@pytest.mark.parametrize("name", [*EVERYWHERE, *ONLY_IN_FULL])
def test_no_invariant_is_broken(name: str, request: pytest.FixtureRequest) -> None:
    if name in ONLY_IN_FULL and not request.config.getoption("--full", default=False):
        pytest.skip("only with --full")
    world = {**EVERYWHERE, **ONLY_IN_FULL}[name]
    result = search(world)
    print(f"{name}: {result.states} states, none further than {result.depth} steps")
    assert result.violation is None, str(result.violation)


def _without(rules: Rules, invariants: tuple[str, ...], world: World) -> str:
    """The invariant that is broken in `world` under `rules`, a rule being off. With all rules on, none is."""
    assert search(world).violation is None
    found = search(world._replace(rules=rules), invariants).violation
    assert found is not None
    print(found)
    return found.invariant


def _world(budget: Budget, *verbs: str) -> World:
    """Bounds as tight as a story allows."""
    return World(needed=LOCK, budget=budget, verbs=verbs)


def test_rule_1_a_key_that_a_held_claim_lists_is_taken() -> None:
    """A holds T1. Its renewal is torn: the claim ref has moved, the lock still has the older blob, whose lease runs
    out. B claims T2 and takes the lock for debris. Both claims are of record and list the lock.
    """
    world = _world(Budget(3, 1, 0, 1), "claim", "renew")
    assert _without(Rules(listed=False, reread=False), TWO_HOLDERS, world) == I1_RECORD
    assert _without(Rules(listed=False), TWO_HOLDERS, world) == I1_RECORD


def test_rule_1_claim_refs_are_read_again_before_debris_is_taken() -> None:
    """B, claiming T2, reads the claim refs: none. A claims T1; its renewal is torn so that the lock keeps the older
    blob, whose lease runs out. B goes on, reads the lock, finds it expired and listed by no claim it knows of.
    """
    world = _world(Budget(3, 1, 0, 1), "claim", "renew")
    assert _without(Rules(reread=False), TWO_HOLDERS, world) == I1_RECORD


def test_rule_1_a_key_whose_own_blob_is_unexpired_is_taken() -> None:
    """A's claim is torn: the lock is there, the claim ref is not. B takes the lock at that blob, its push floats, its
    second one lands; B is told and releases. A, still waiting, sends again what shows nowhere, and is told. Now the
    floating push lands: the lock has the very blob that it expects. A believes, and the lock is B's.
    """
    world = _world(Budget(3, 1, 1, 0), "claim", "release")
    assert _without(Rules(unexpired=False), ALL, world) == I2_STANDS


def test_rule_2_an_end_in_the_log_ends_the_claim() -> None:
    """B, claiming T2, reads the claim refs: none. A claims T1, and its release is torn: the log has it and the lock is
    gone, the claim ref is not. B goes on, finds the lock free and is told. A's claim is still of record, unless the
    log counts.
    """
    world = _world(Budget(3, 1, 0, 0), "claim", "renew", "release")
    assert _without(Rules(ended=False), TWO_HOLDERS, world) == I1_RECORD


def test_rule_3_only_the_whole_set_is_a_success() -> None:
    """B, claiming T2, reads the claim refs: none. A claims T1, and its release is torn: lock gone, claim ref not. A
    claims T1 again, over the claim that the log says has ended; this is torn too: claim ref moved, lock not created.
    A reads its blob back from the claim ref and is told. B goes on, finds the lock free and is told as well.
    """
    world = _world(Budget(4, 2, 0, 0), "claim", "renew", "release")
    assert _without(Rules(whole=False), TWO_HOLDERS, world) == I1_BELIEF


def test_rule_3_keeps_from_a_false_success() -> None:
    """A steal is torn: claim ref moved, lock not. Its agent reads the claim ref back and is told that it stole."""
    world = _world(Budget(2, 1, 0, 1), "claim", "steal")
    assert _without(Rules(whole=False), (I2_SUCCESS,), world) == I2_SUCCESS


def test_rule_3_starts_again_from_the_fetch() -> None:
    """A's claim of T1 floats and is killed. Base drops the slot from the task. A claims again and reads, slots first:
    none. The push lands. A goes on to the claim ref, finds its own claim without its slot and starts again, over it.
    The slot, no longer needed, is not part of the transaction. The claim was whole, and how it ended is not on record.
    """
    world = World(needed=((S,), (S,)), changed=((), ()), budget=Budget(2, 0, 1, 0), verbs=("claim",))
    assert _without(Rules(refetch=False), (I6_LOST,), world) == I6_LOST


def test_rule_4_a_finished_claim_moves_before_its_locks_go() -> None:
    """B, claiming T2, reads the claim refs: none. A claims T1, and its `release --done` is torn: the lock is gone, the
    claim ref has not moved, and `done` in the log ends nothing. B goes on and finds the lock free.
    """
    world = _world(Budget(3, 1, 0, 0), "claim", "renew", "done")
    assert _without(Rules(done_order=False), TWO_HOLDERS, world) == I1_RECORD


def test_rule_5_a_steal_carries_the_end_of_what_it_took() -> None:
    """A steal by push is torn: existing refs are written first, so the claim ref has moved and the log entry is
    missing. Nothing says how the claim that was stolen ended.
    """
    world = _world(Budget(2, 1, 0, 1), "claim", "steal")
    assert _without(Rules(replaced=False), (I6_LOST,), world) == I6_LOST


def test_rule_5_whatever_takes_over_a_claim_ref_carries_on_what_it_owed() -> None:
    """A steal is torn as above. Its agent starts again, over its own part, with a fresh blob; torn once more in the
    same way, it leaves a claim ref that no longer knows of the claim stolen first, which is not in the log either.
    """
    world = _world(Budget(2, 2, 0, 1), "claim", "steal")
    assert _without(Rules(carried=False), (I6_LOST,), world) == I6_LOST


def test_rule_6_only_refs_with_the_claims_own_token_are_touched() -> None:
    """B, claiming T2, reads the claim refs: none. A claims T1, and its release is torn: lock gone, claim ref not. B
    goes on, finds the lock free and is told. A claims T1 again, clears its ended claim away and with it takes the
    lock that this claim lists, which is B's by now.
    """
    world = _world(Budget(4, 2, 0, 0), "claim", "release")
    assert _without(Rules(own_only=False), (I1_BELIEF,), world) == I1_BELIEF


# What the rules did not say, and has to be done as well


def test_a_claim_found_held_after_an_unanswered_release_is_confirmed_by_moving_it() -> None:
    """A releases, without an answer: the push floats. A claims again and reads the whole set back: already held. The
    push lands, B claims, and both believe. Had A moved the claim, the push would have been refused.
    """
    world = _world(Budget(4, 0, 1, 0), "claim", "release")
    assert _without(Rules(confirm=False), TWO_HOLDERS, world) == I1_BELIEF


def test_a_renewal_is_read_back_where_the_lease_had_run_out_before_the_answer() -> None:
    """A's lease has run out and A's renewal is under way. B's steal is torn: only its log entry is written. The
    renewal lands and A is told yes. But the log has ended that claim, so B, trying again, takes it, unexpired as it is.
    """
    world = _world(Budget(4, 1, 0, 1), "claim", "renew", "steal")
    assert _without(Rules(crossed=False), TWO_HOLDERS, world) == I1_BELIEF


def test_a_renewal_is_read_back_once_a_push_was_not_answered() -> None:
    """A's release floats. A claims again, by moving the claim. Before that push arrives, the release lands torn: only
    its log entry is written. The move lands and A is told yes; for B, claiming, the log has ended that claim.
    """
    world = _world(Budget(4, 1, 1, 0), "claim", "release")
    assert _without(Rules(crossed=False), TWO_HOLDERS, world) == I1_BELIEF


def test_after_a_push_without_an_answer_the_log_is_read_last() -> None:
    """A's renewal floats and its lease runs out. A reads back, the log first: no end. B's steal is torn: only its log
    entry is written. The renewal lands. A goes on to the refs, finds its blob on all of them and is told. But the log
    has ended that claim: whoever comes next takes it.
    """
    world = _world(Budget(3, 1, 1, 1), "claim", "renew", "steal")._replace(tasks=(T1,))
    assert _without(Rules(log_last=False), ALL, world) == I2_STANDS


def test_what_reads_back_as_whole_is_the_same_blob_on_every_ref() -> None:
    """A's claim is torn, only the lock is there, and its lease runs out. B reaps the lock, in a push that floats and a
    second one that lands. A sends its push again, which lands, and renews what has run out; the renewal is torn: claim
    ref moved, lock not. By its token the set reads back as whole, and A is told. The floating push lands and deletes
    the lock, which has the very blob that it expects.
    """
    world = _world(Budget(3, 2, 1, 1), "claim", "renew", "reap")._replace(
        tasks=(T1,), each=2, fetch=((LOG, S, T1, T2, L),)
    )
    assert _without(Rules(same=False), ALL, world) == I2_STANDS


def test_reopening_ends_a_claim_for_good() -> None:
    """A's claim floats, is sent again and lands. A finishes; the task is reopened. The floating push lands: claim ref
    and lock are as they were, and A is told that it holds a claim that it has finished.
    """
    world = _world(Budget(4, 0, 2, 0), "claim", "done", "reopen")._replace(tasks=(T1,))
    assert _without(Rules(reopened_ends=False), (I5_STALE,), world) == I5_STALE


def test_a_wedge_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A `reap` that does nothing leaves an expired claim in everybody's way."""
    world = World(needed=LOCK, budget=Budget(1, 0, 0, 1), verbs=("claim",))
    assert search(world, (I4_WEDGE,)).violation is None

    def nothing(_: Context) -> Tell:
        return Tell("nothing", REFUSED)

    monkeypatch.setitem(protocol._COMMANDS, "reap", nothing)
    found = search(world, (I4_WEDGE,)).violation
    assert found is not None and found.particulars == "reap leaves 2 refs"
