"""What was sent and not answered may land late. Nobody is told a success, or loses one, because of it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from claims.arbiter import Arbiter, Outcome, Reading, Verdict
from claims.errors import Conflict, Refused, Undecided
from claims.names import AgentName, LockKey, TaskId, agent_slot, claim_ref, lock_ref, slot_ref
from claims.operations.claim import claim
from claims.operations.release import release
from claims.operations.renew import renew
from claims.operations.replacing import Request
from claims.operations.steal import steal
from claims.transaction import Transaction
from tests.integration.sessions import Around, arbitrated
from tests.support.board import board_files, plan_file, task_file, task_id
from tests.support.http_origin import HttpOrigin
from tests.support.repo import Repo, clone, init

TASK = TaskId(task_id(1))
LOCK = LockKey("k")
FILE = task_file(TASK, locks=[LOCK])
PLAN = board_files([FILE], plan=1, manifest=[{"id": "m", "title": "M", "status": "active", "tasks": [TASK]}])


@pytest.fixture
def server(tmp_path: Path) -> Iterator[HttpOrigin]:
    with HttpOrigin(tmp_path / "served") as server:
        yield server


def tokens(repo: Repo) -> list[str]:
    return sorted(os.listdir(repo.git_path("swarm")))


def take(repo: Repo, agent: str = "ann", minutes: int = 60) -> bool:
    """Claim; whether it was held already."""
    with arbitrated(repo, agent=agent) as (session, arbiter):
        return claim(session, arbiter, Request(TASK, minutes)).already


def mark_unanswered(repo: Repo) -> None:
    """As a release leaves the token that was killed before its answer came."""
    folder = repo.git_path("swarm")
    (folder / f"token-{TASK}").rename(folder / f"token-{TASK}.0123abcd")


def expire(repo: Repo, agent: str = "ann") -> None:
    with arbitrated(repo, agent=agent) as (session, arbiter):
        renew(session, arbiter, TASK, 0)


def test_held_with_an_answered_token_it_is_told_by_reading(tmp_path: Path) -> None:
    repo = init(tmp_path / "repo", board_files([FILE]))
    repo.branch("topic")
    take(repo)
    before = repo.snapshot()
    assert take(repo)
    assert repo.snapshot() == before


@pytest.mark.parametrize("minutes", [10, 60])
def test_held_with_an_unanswered_token_it_is_confirmed_by_moving_every_ref(tmp_path: Path, minutes: int) -> None:
    """Whether the lease is longer than the configured one (30 minutes) or not."""
    repo = init(tmp_path / "repo", board_files([FILE]))
    repo.branch("topic")
    take(repo, minutes=minutes)
    before = repo.refs()
    mark_unanswered(repo)
    assert take(repo, minutes=minutes)
    after = repo.refs()
    assert after.keys() == before.keys()
    assert all(after[ref] != before[ref] for ref in before)
    assert tokens(repo) == [f"token-{TASK}"]


def test_a_refused_renewal_does_not_answer_for_an_earlier_release(tmp_path: Path, server: HttpOrigin) -> None:
    origin = server.create(files=PLAN)
    here = clone(server.url(), tmp_path / "here")
    here.branch("topic")
    take(here)
    server.late()
    with arbitrated(here, agent="ann") as (session, arbiter), pytest.raises(Undecided, match="may still be"):
        # Sent again, and not run at all this time.
        server.drop_before_apply()
        release(session, arbiter, TASK, None, done=False)
    (marked,) = tokens(here)
    assert marked != f"token-{TASK}"
    origin.commit({".agents/plan.md": plan_file(2), ".agents/manifest.yaml": None}, branch="main")
    with arbitrated(here, agent="ann") as (session, arbiter), pytest.raises(Refused):
        renew(session, arbiter, TASK, None)
    assert tokens(here) == [marked]

    assert take(here)
    before = origin.refs()
    server.land()
    assert origin.refs() == before


def test_a_late_release_lands_on_a_claim_that_was_not_confirmed(tmp_path: Path, server: HttpOrigin) -> None:
    """The twin: without the confirmation the claim that was just told would be gone."""
    origin = server.create(files=PLAN)
    here = clone(server.url(), tmp_path / "here")
    here.branch("topic")
    take(here)
    server.late()
    with arbitrated(here, agent="ann") as (session, arbiter), pytest.raises(Undecided):
        server.drop_before_apply()
        release(session, arbiter, TASK, None, done=False)
    server.land()
    assert claim_ref(TASK) not in origin.refs()


class LandsWhileItIsSentAgain(Around):
    """The first push seems lost, and lands just before the second, which is refused because of it."""

    tried = 0

    def apply(self, transaction: Transaction) -> Outcome:
        self.tried += 1
        if self.tried == 1:
            return Outcome(Verdict.UNKNOWN, "connection lost")
        if self.tried == 2:
            assert self.inner.apply(transaction).verdict is Verdict.APPLIED
        return self.inner.apply(transaction)


class TornOnce(Around):
    """The first push seems lost, and all of it has landed but the lock."""

    tried = 0

    def apply(self, transaction: Transaction) -> Outcome:
        self.tried += 1
        if self.tried > 1:
            return self.inner.apply(transaction)
        part = Transaction(tuple(edit for edit in transaction.edits if edit.ref != lock_ref(LOCK)))
        assert self.inner.apply(part).verdict is Verdict.APPLIED
        return Outcome(Verdict.UNKNOWN, "killed")


@pytest.mark.parametrize("verb", ["claim", "steal"])
@pytest.mark.parametrize("around", [LandsWhileItIsSentAgain, TornOnce])
def test_what_landed_of_ones_own_is_no_loss(tmp_path: Path, verb: str, around: type[Around]) -> None:
    repo = init(tmp_path / "repo", board_files([FILE]))
    other = repo.worktree("other", "other")
    repo.branch("topic")
    if verb == "steal":
        take(other, agent="bob")
        expire(other, agent="bob")
    take_over = steal if verb == "steal" else claim
    with arbitrated(repo, agent="ann") as (session, arbiter):
        taken = take_over(session, around(arbiter), Request(TASK))
    assert taken.claim.agent == "ann"
    ids = {repo.oid(ref) for ref in (claim_ref(TASK), lock_ref(LOCK))}
    assert len(ids) == 1 and None not in ids
    assert tokens(repo) == [f"token-{TASK}"]
    outcomes = [repo.cat(ref) for ref in repo.refs("refs/swarm/claim-log/")]
    assert sum(b'"outcome":"stolen"' in data for data in outcomes) == (1 if verb == "steal" else 0)


class RenewedMeanwhile(Around):
    """While the claims are read again because of debris, the holder renews."""

    def __init__(self, arbiter: Arbiter, holder: Repo) -> None:
        super().__init__(arbiter)
        self._holder = holder

    def read_claims_again(self, reading: Reading) -> Reading:
        with arbitrated(self._holder, agent="bob") as (session, arbiter):
            renew(session, arbiter, TASK, 30)
        return super().read_claims_again(reading)


@pytest.mark.parametrize("renewed", [True, False])
def test_a_lease_that_was_renewed_while_the_thief_looked_twice_is_not_stolen(tmp_path: Path, renewed: bool) -> None:
    repo = init(tmp_path / "repo", board_files([task_file(TASK)]))
    holder, thief = repo.worktree("holder", "bob/topic"), repo.worktree("thief", "ann/topic")
    take(holder, agent="bob")
    expire(holder, agent="bob")
    # By now every agent has a slot, and a killed process has left that of the thief.
    repo.commit(board_files(config={"one_claim_per_agent": True}))
    slot = agent_slot(AgentName("ann"))
    members = json.loads(repo.cat(claim_ref(TASK))) | {"agent": "ann", "slots": [slot], "tokenHash": "0" * 64}
    repo.git("update-ref", slot_ref(slot), repo.blob(json.dumps(members)))
    with arbitrated(thief, agent="ann") as (session, arbiter):
        around = RenewedMeanwhile(arbiter, holder) if renewed else Around(arbiter)
        if renewed:
            with pytest.raises(Conflict) as caught:
                steal(session, around, Request(TASK))
            assert caught.value.code == "claim-live"
        else:
            assert steal(session, around, Request(TASK)).claim.slots == (slot,)
    assert json.loads(repo.cat(claim_ref(TASK)))["agent"] == ("bob" if renewed else "ann")
