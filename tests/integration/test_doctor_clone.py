"""`doctor` on a real clone: it sees what is torn and stale, and changes nothing."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from claims import record
from claims.arbiter.choose import choose_arbiter
from claims.arbiter.remote import RemoteArbiter
from claims.names import LockKey, claim_ref, lock_ref, log_ref
from gate.github import clone as checks
from gate.github.finding import Diagnosis, diagnose
from tests.integration.sessions import opened
from tests.integration.test_mirror import ANN, BOB, hold, put
from tests.support.board import board_files, task_id
from tests.support.repo import Repo, clone, origin
from tests.unit.values import NOW, ended, task


@pytest.fixture
def hub(tmp_path: Path) -> Repo:
    return origin(tmp_path / "hub.git", board_files([task_id(1), task_id(2)]))


def seen(repo: Repo, now: datetime = NOW) -> Diagnosis:
    """The diagnosis; nothing of the repository may have changed, the mirror neither."""
    before = repo.snapshot()
    with opened(repo, now=lambda: now) as session:
        arbiter = choose_arbiter(session)
        found = diagnose(checks.checks(session, arbiter))
        assert isinstance(arbiter, RemoteArbiter)
        arbiter.let_go()
    assert repo.snapshot() == before
    return found


def codes(found: Diagnosis) -> list[str]:
    return [one.code for one in found.findings]


def test_in_order(hub: Repo, tmp_path: Path) -> None:
    """Also where the clone has not heard yet of claims that others made."""
    here = clone(hub, tmp_path / "here")
    hold(hub, ANN)
    assert seen(here) == Diagnosis()
    here.git("fetch", "-q", "origin", "refs/swarm/*:refs/swarm/*")
    assert seen(here) == Diagnosis()


def test_torn_stray_expired_and_not_queued(hub: Repo, tmp_path: Path) -> None:
    here = clone(hub, tmp_path / "here")
    hold(hub, ANN)
    hold(hub, BOB)
    hub.git("update-ref", "-d", lock_ref(LockKey("k")))
    hub.git("update-ref", "-d", claim_ref(task(2)))
    found = seen(here)
    assert (codes(found), found.unknown) == (["claim-torn", "lock-stray"], ())
    assert codes(seen(here, NOW + timedelta(hours=1))) == ["claim-torn", "lock-stray", "claim-expired"]
    hub.commit({f".agents/tasks/queued/{task_id(1)}.md": None})
    assert "claim-not-queued" in codes(seen(here))


def test_the_log_tells_what_has_ended(hub: Repo, tmp_path: Path) -> None:
    """Beside refs that do not read."""
    here = clone(hub, tmp_path / "here")
    hold(hub, ANN)
    put(hub, lock_ref(LockKey("m")), "no claim")
    put(hub, claim_ref(task(3)), "no claim")
    assert codes(seen(here)) == ["claim-malformed", "claim-malformed"]
    hub.git("update-ref", log_ref(task(1), NOW), hub.blob(record.encode(ended(ANN, at=0))))
    found = seen(here)
    assert codes(found) == ["claim-malformed", "claim-malformed", "claim-torn"]
    assert found.findings[-1].fix == "swarm reap"


def test_drift_is_seen_and_left(hub: Repo, tmp_path: Path) -> None:
    here = clone(hub, tmp_path / "here")
    hold(here, ANN)
    assert codes(seen(here)) == ["mirror-drift"]
    hold(hub, ANN)
    put(here, lock_ref(LockKey("k")), "older")
    assert codes(seen(here)) == ["mirror-drift"]


def test_a_remote_that_does_not_answer_is_not_in_order(hub: Repo, tmp_path: Path) -> None:
    here = clone(hub, tmp_path / "here")
    here.git("remote", "set-url", "origin", str(tmp_path / "nowhere"))
    found = seen(here)
    assert found.verdict == "undecided"
    (unknown,) = found.unknown
    assert unknown.codes[0] == "claim-malformed" and unknown.codes[-1] == "mirror-drift"
    assert unknown.reason.startswith("remote-unreachable: ")
