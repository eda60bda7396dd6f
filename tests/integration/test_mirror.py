"""The mirror in real clones: in line after every command, never behind what another command knew, never in the way."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from claims import record
from claims.arbiter import Verdict
from claims.arbiter.remote import RemoteArbiter
from claims.errors import Undecided
from claims.names import FETCHES, SLOTS, LockKey, ObjectId, RefName, claim_ref, lock_ref, log_ref
from claims.record import Claim
from claims.transaction import Edit, ordered
from tests.integration.sessions import opened
from tests.support.repo import Repo, clone, origin
from tests.unit.values import NOW, claim, ended, task

ANN = claim(1, "ann", locks=["k"])
BOB = claim(2, "bob", locks=["l"])
CLAIM, KEY = claim_ref(task(1)), lock_ref(LockKey("k"))
TRACKING = "refs/remotes/origin/main"


@pytest.fixture
def hub(tmp_path: Path) -> Repo:
    return origin(tmp_path / "hub.git", {"a": ""})


@pytest.fixture
def here(hub: Repo, tmp_path: Path) -> Repo:
    here = clone(hub, tmp_path / "here")
    here.branch("topic")
    return here


@contextmanager
def remote_of(repo: Repo) -> Iterator[RemoteArbiter]:
    with opened(repo, now=lambda: NOW) as session:
        yield RemoteArbiter(session, "origin")


def put(repo: Repo, ref: str, content: bytes | str) -> ObjectId:
    blob = ObjectId(repo.blob(content))
    repo.git("update-ref", ref, blob)
    return blob


def hold(repo: Repo, one: Claim, **more: object) -> dict[str, str]:
    """Claim ref and locks, with `more` members; what the refs are then."""
    blob = put(repo, claim_ref(one.task), json.dumps(json.loads(record.encode(one)) | more))
    for key in one.locks:
        repo.git("update-ref", lock_ref(key), blob)
    return {claim_ref(one.task): blob, **{lock_ref(key): blob for key in one.locks}}


def read_and_finish(repo: Repo, *logs: int) -> list[str]:
    """The codes of the warnings."""
    with remote_of(repo) as arbiter:
        arbiter.read([task(number) for number in logs])
        return [notice.code for notice in arbiter.finish()]


def test_it_is_brought_in_line_with_the_remote(here: Repo, hub: Repo) -> None:
    """Made, moved and deleted, whatever is here."""
    put(here, CLAIM, "older")
    hold(here, BOB)
    put(here, f"{SLOTS}stale", "x")
    hold(hub, ANN)
    hub.git("update-ref", log_ref(task(1), NOW), hub.blob(record.encode(ended(ANN, at=0))))
    later = hub.commit({"b": ""})
    assert read_and_finish(here, 1) == []
    assert here.refs() == {ref: value for ref, value in hub.refs().items() if "claim-log" not in ref}
    assert here.oid(TRACKING) == later
    assert here.refs(FETCHES) == {}


def test_where_all_is_level_nothing_is_written(here: Repo, hub: Repo) -> None:
    hold(hub, ANN)
    read_and_finish(here)
    before = here.snapshot()
    assert read_and_finish(here) == []
    assert here.snapshot() == before


def test_a_base_that_was_not_tracked_is_from_now_on(here: Repo, hub: Repo) -> None:
    here.git("update-ref", "-d", TRACKING)
    assert read_and_finish(here) == []
    assert here.oid(TRACKING) == hub.oid("main")


def test_a_base_that_was_rewound_is_followed(here: Repo, hub: Repo) -> None:
    first = hub.oid("main")
    hub.commit({"b": ""})
    read_and_finish(here)
    assert here.oid(TRACKING) == hub.oid("main")
    hub.git("update-ref", "refs/heads/main", str(first))
    read_and_finish(here)
    assert here.oid(TRACKING) == first


def test_what_was_written_is_here_at_once(here: Repo, hub: Repo) -> None:
    old = put(hub, f"{SLOTS}gone", "old")
    with remote_of(here) as arbiter:
        arbiter.read()
        new = arbiter.write(record.encode(ANN))
        log = log_ref(task(1), NOW)
        edits = [Edit(CLAIM, None, new), Edit(RefName(f"{SLOTS}gone"), old, None), Edit(log, None, new)]
        assert arbiter.apply(ordered(edits)).verdict is Verdict.APPLIED
        assert arbiter.finish() == []
    assert here.refs() == {CLAIM: new}


def test_what_was_refused_is_not_here(here: Repo, hub: Repo) -> None:
    with remote_of(here) as arbiter:
        arbiter.read()
        theirs = put(hub, CLAIM, record.encode(ANN))
        mine = arbiter.write(record.encode(claim(1, "bob")))
        assert arbiter.apply(ordered([Edit(CLAIM, None, mine)])).verdict is Verdict.REFUSED
        arbiter.read()
        assert arbiter.finish() == []
    assert here.refs() == {CLAIM: theirs}


def test_an_older_reading_is_never_put_over_a_newer_one(here: Repo, hub: Repo) -> None:
    """Another command, begun later, has brought the mirror further meanwhile."""
    hold(hub, ANN)
    read_and_finish(here)
    with remote_of(here) as slow:
        slow.read()
        for ref in (CLAIM, KEY):
            hub.git("update-ref", "-d", ref)
        newer = hold(hub, BOB)
        base = hub.commit({"b": ""})
        assert read_and_finish(here) == []
        assert slow.finish() == []
    assert here.refs() == newer
    assert here.oid(TRACKING) == base


def test_what_a_command_wrote_is_here_although_another_moved_the_rest(here: Repo, hub: Repo) -> None:
    with remote_of(here) as slow:
        slow.read()
        theirs = hold(hub, BOB)
        assert read_and_finish(here) == []
        new = slow.write(record.encode(ANN))
        assert slow.apply(ordered([Edit(CLAIM, None, new)])).verdict is Verdict.APPLIED
        assert slow.finish() == []
    assert here.refs() == {CLAIM: new, **theirs}
    assert here.refs(FETCHES) == {}


@pytest.mark.parametrize("ref", [CLAIM, KEY, TRACKING])
def test_a_mirror_that_cannot_be_moved_is_a_warning(here: Repo, hub: Repo, ref: str) -> None:
    hold(hub, ANN)
    hub.commit({"b": ""})
    lock = here.git_path(f"{ref}.lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.touch()
    with remote_of(here) as arbiter:
        assert list(arbiter.read().ledger.claims) == [task(1)]
        (notice,) = arbiter.finish()
    assert notice.code == "mirror-behind"
    assert str(lock) in notice.message
    assert here.refs(FETCHES) == {}
    lock.unlink()
    assert read_and_finish(here) == []
    assert here.refs() == hub.refs()


def test_a_fetch_that_fails_leaves_it_alone(here: Repo, hub: Repo) -> None:
    hold(hub, ANN)
    read_and_finish(here)
    before = here.snapshot()
    hub.path.rename(hub.path.with_name("gone.git"))
    with remote_of(here) as arbiter:
        with pytest.raises(Undecided):
            arbiter.read()
        assert arbiter.finish() == []
    assert here.snapshot() == before


def test_nothing_was_read_so_nothing_is_finished(here: Repo) -> None:
    put(here, CLAIM, "x")
    with remote_of(here) as arbiter:
        assert arbiter.finish() == []
    assert list(here.refs()) == [CLAIM]


# Claims that were made without the remote.


def test_a_claim_of_this_clone_stays_and_is_in_the_ledger(here: Repo, hub: Repo) -> None:
    mine = hold(here, ANN, local=True)
    theirs = hold(hub, BOB)
    with remote_of(here) as arbiter:
        ledger = arbiter.read([task(1)]).ledger
        assert sorted(ledger.local) == sorted(mine)
        assert [(entry.claim.agent, entry.published) for entry in ledger.held() if entry.claim] == [
            ("bob", True),
            ("ann", False),
        ]
        assert arbiter.finish() == []
    assert here.refs() == mine | theirs


def test_it_stays_out_of_the_way_of_the_remotes_own(here: Repo, hub: Repo) -> None:
    """Where both are, what is here stays; the remote's counts all the same."""
    mine = hold(here, ANN, local=True)
    hold(hub, claim(1, "bob", locks=["k", "l"]))
    with remote_of(here) as arbiter:
        held = arbiter.read([task(1)]).ledger.held_on(task(1))
        assert held is not None and held.claim is not None and held.claim.agent == "bob"
        assert arbiter.finish() == []
    assert here.refs() == mine | {lock_ref(LockKey("l")): hub.oid(lock_ref(LockKey("l")))}


@pytest.mark.parametrize("where", ["claim", "log"])
def test_once_it_was_published_what_is_left_of_it_goes(here: Repo, hub: Repo, where: str) -> None:
    hold(here, ANN, local=True)
    if where == "claim":
        hold(hub, ANN)
    else:
        hub.git("update-ref", log_ref(task(1), NOW), hub.blob(record.encode(ended(ANN, at=0))))
    with remote_of(here) as arbiter:
        assert arbiter.read([task(1)]).ledger.local == {}
        assert arbiter.finish() == []
    assert here.refs() == {ref: value for ref, value in hub.refs().items() if "claim-log" not in ref}


def test_published_by_this_very_command_it_goes_too(here: Repo, hub: Repo) -> None:
    hold(here, ANN, local=True)
    with remote_of(here) as arbiter:
        arbiter.read([task(1)])
        new = arbiter.write(record.encode(ANN))
        edits = [Edit(CLAIM, None, new), Edit(KEY, None, new)]
        assert arbiter.apply(ordered(edits)).verdict is Verdict.APPLIED
        assert arbiter.finish() == []
    assert here.refs() == hub.refs() == {CLAIM: new, KEY: new}


def test_a_copy_that_the_remote_lacks_by_now_is_stale_and_goes(here: Repo, hub: Repo) -> None:
    hold(here, ANN)
    assert read_and_finish(here) == []
    assert here.refs() == hub.refs() == {}


def test_linked_worktrees_share_it(here: Repo, hub: Repo) -> None:
    other = here.worktree("other", "other")
    hold(hub, ANN)
    assert read_and_finish(other) == []
    assert here.refs() == other.refs() == hub.refs()


def test_many_at_once_do_not_make_each_other_fail(here: Repo, hub: Repo) -> None:
    """Sixteen commands of one clone fetch while base and claims move; in the end all is level."""

    def move() -> None:
        for number in range(12):
            hub.commit({f"f{number}": ""})
            put(hub, claim_ref(task(number % 3)), record.encode(claim(number % 3, "ann", left=number + 1)))

    with ThreadPoolExecutor(17) as pool:
        mover = pool.submit(move)
        assert list(pool.map(lambda number: read_and_finish(here, number), range(16))) == [[]] * 16
        mover.result()
    assert here.refs(FETCHES) == {}
    assert read_and_finish(here) == []
    assert here.refs() == hub.refs()
    assert here.oid(TRACKING) == hub.oid("main")
