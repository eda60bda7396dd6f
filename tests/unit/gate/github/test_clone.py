"""What `doctor` makes of claims: one thing wrong in each scene, and nothing in the scene without it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from claims.board.task import State
from claims.ledger import Ledger
from claims.names import LockKey, ObjectId, RefName, TaskId, claim_ref, lock_ref
from gate.github import clone
from gate.github.clone import LOCK_AGE, Claims
from gate.github.finding import Finding
from tests.unit.values import NOW, Refs, claim, ended, minutes, task

ANN, BOB = claim(1, "ann", locks=["k"]), claim(2, "bob", locks=["l"])
QUEUED: Mapping[TaskId, State | None] = {task(1): State.QUEUED, task(2): State.QUEUED}
KEY = lock_ref(LockKey("k"))
LOOKS: list[Callable[[Claims], Iterable[Finding]]] = [
    clone.malformed,
    clone.torn,
    clone.stray,
    clone.expired,
    clone.not_queued,
    clone.unpublished,
]


def found(ledger: Ledger, states: Mapping[TaskId, State | None] = QUEUED) -> list[Finding]:
    return [one for look in LOOKS for one in look(Claims(ledger, states, "main", "origin"))]


def codes(ledger: Ledger, states: Mapping[TaskId, State | None] = QUEUED) -> list[str]:
    return [one.code for one in found(ledger, states)]


def test_nothing_is_wrong_with_whole_live_claims_and_completion_records() -> None:
    done = ended(claim(3, "cid"), "done")
    assert found(Refs().held(ANN, BOB).claim_ref(done).log(of=task(1)).ledger()) == []


def test_a_claim_without_one_of_its_locks() -> None:
    (one,) = found(Refs().held(ANN, BOB).without(KEY).ledger())
    assert (one.code, one.found) == ("claim-torn", f"the claim of ann on {task(1)} lacks its refs for k")
    assert one.fix.startswith(f"swarm renew {task(1)} ")


def test_a_claim_that_has_ended_and_is_still_there() -> None:
    refs = Refs().held(ANN).log(ended(ANN))
    assert [(one.code, one.fix) for one in found(refs.ledger())] == [("claim-torn", "swarm reap")]
    assert codes(Refs().held(ANN).log(ended(claim(1, "eve"))).ledger()) == [], "another claim's end"


def test_a_lock_without_a_claim() -> None:
    (live,) = found(Refs().held(BOB).keys_of(ANN).ledger())
    assert (live.code, live.fix.split("   # ")[0]) == ("lock-stray", "swarm reap")
    assert "from 2026-08-14T09:50:00.000Z on" in live.fix
    over = claim(1, "ann", locks=["k"], left=-1)
    assert [one.fix for one in found(Refs().keys_of(over).ledger())] == ["swarm reap"]


def test_a_lock_whose_claim_was_replaced() -> None:
    other = claim(1, "eve", token_hash="0" * 64)
    assert codes(Refs().held(other).keys_of(ANN).ledger()) == ["lock-stray"]


def test_a_claim_that_ran_out() -> None:
    refs = Refs().held(ANN)
    assert codes(refs.ledger(minutes(19))) == []
    assert codes(refs.ledger(minutes(20))) == ["claim-expired"]


@pytest.mark.parametrize(
    ("state", "words"),
    [(State.DONE, "which is in done on main"), (State.BACKLOG, "in backlog on"), (None, "nowhere on main")],
)
def test_a_claim_of_a_task_that_base_does_not_queue(state: State | None, words: str) -> None:
    (one,) = found(Refs().held(ANN).ledger(), {task(1): state})
    assert one.code == "claim-not-queued" and words in one.found


def test_a_claim_that_only_this_clone_has() -> None:
    assert codes(Refs().unpublished(ANN).ledger()) == ["claim-unpublished"]
    alone = Claims(Refs().held(replace(ANN, local=True)).ledger(), QUEUED, "main", None)
    assert [one for look in LOOKS for one in look(alone)] == [], "without a remote that is how claims are"


def test_refs_that_do_not_read() -> None:
    refs = Refs().broken(claim_ref(task(1)), "not a\x1b[1m JSON").broken(KEY)
    one, other = found(refs.ledger())
    assert {one.code, other.code} == {"claim-malformed"}
    assert "\x1b" not in one.found and one.fix.startswith(
        "git push --atomic --force-with-lease=refs/swarm/task-claims/"
    )


def test_drift() -> None:
    a, b = ObjectId("a" * 40), ObjectId("b" * 40)
    refs = [RefName(f"refs/swarm/slots/{number}") for number in range(5)]
    assert list(clone.drift({}, "origin")) == []
    assert list(clone.drift({refs[0]: (None, a)}, "origin")) == [], "it is learnt of with the next command"
    (one,) = clone.drift({refs[0]: (a, None), refs[1]: (a, b), refs[2]: (a, b), refs[3]: (b, a)}, "origin")
    assert one.found.startswith("4 refs of this clone are not what origin has: ") and one.found.endswith("and 1 more")


@pytest.mark.parametrize(
    "name",
    [
        "packed-refs.lock",
        "refs/swarm/task-claims/T-20260814-00000001.lock",
        "worktrees/w/index.lock",
        "refs/heads/a.lock",
    ],
)
def test_lock_files_that_nobody_holds_any_more(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    (path.parent / "no-lock").touch()
    os.utime(path, (NOW.timestamp() - LOCK_AGE + 1,) * 2)
    assert list(clone.lock_files(tmp_path, NOW)) == [], "somebody may be at work"
    os.utime(path, (NOW.timestamp() - LOCK_AGE,) * 2)
    assert [(one.code, one.fix.split("   #")[0]) for one in clone.lock_files(tmp_path, NOW)] == [
        ("lock-file", f"rm {path}")
    ]
