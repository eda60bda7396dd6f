"""The mirror: which local refs have to move so that they are the remote's, and which are none of its business."""

from __future__ import annotations

from dataclasses import replace

import pytest

from claims.arbiter import mirror
from claims.ledger import Entry
from claims.names import ObjectId, RefName, claim_ref
from claims.transaction import Edit
from tests.unit.values import Refs, claim, ended, task

A, B = ObjectId("a" * 40), ObjectId("b" * 40)
X, Y, Z = (RefName(f"refs/swarm/task-claims/{name}") for name in "xyz")


def test_what_is_level_stays() -> None:
    assert mirror.edits({X: A, Y: B}, {X: A, Y: B}, ()) == []
    assert mirror.edits({}, {}, ()) == []


def test_each_ref_is_made_moved_or_deleted_from_the_value_that_was_read() -> None:
    assert mirror.edits({X: A, Y: A}, {Y: B, Z: B}, ()) == [Edit(X, A, None), Edit(Y, A, B), Edit(Z, None, B)]


@pytest.mark.parametrize("kept", [X, Y, Z])
def test_what_is_kept_stays_whatever_the_remote_has(kept: RefName) -> None:
    found = mirror.edits({X: A, Y: A}, {Y: B, Z: B}, [kept])
    assert kept not in {edit.ref for edit in found}
    assert len(found) == 2


LOCAL = claim(1, "ann", locks=["k"])


def unpublished(here: Refs, remote: Refs) -> set[RefName]:
    return set(mirror.unpublished(here.ledger().local, remote.ledger()))


def test_all_refs_of_a_claim_made_without_a_remote_are_kept() -> None:
    assert unpublished(Refs().unpublished(LOCAL), Refs()) == set(Refs().unpublished(LOCAL).local)


@pytest.mark.parametrize(
    "remote",
    [
        Refs().held(claim(1, "bob", locks=["k"])),
        Refs().held(claim(2, "ann", locks=["k"])),
        Refs().log(ended(claim(1, "bob"))),
        Refs().held(replace(LOCAL, token_hash=None)),
        Refs().broken(claim_ref(task(1))),
    ],
)
def test_it_is_kept_whoever_else_holds_something(remote: Refs) -> None:
    assert len(unpublished(Refs().unpublished(LOCAL), remote)) == 2


@pytest.mark.parametrize(
    "remote",
    [
        Refs().held(LOCAL),
        Refs().claim_ref(replace(LOCAL, claimed_at=LOCAL.expires_at)),
        Refs().claim_ref(ended(LOCAL, "done")),
        Refs().log(ended(LOCAL)),
        Refs().held(claim(1, "bob")).log(ended(LOCAL, "stolen")),
    ],
)
def test_once_the_remote_knows_its_token_it_is_stale(remote: Refs) -> None:
    """Published it has other times and is no longer `local`; the token is the same."""
    assert unpublished(Refs().unpublished(LOCAL), remote) == set()


def test_a_copy_of_the_remotes_own_claims_is_stale_where_the_remote_lacks_it() -> None:
    copies = {at.ref: at for at in Refs().held(LOCAL).claims.values()}
    assert mirror.unpublished(copies, Refs().ledger()) == {}


def test_what_does_not_read_or_is_no_live_ref_is_not_kept() -> None:
    local = replace(LOCAL, local=True)
    entries = {
        X: Entry(X, A, None, "broken"),
        RefName("refs/swarm/claim-log/x"): Entry(RefName("refs/swarm/claim-log/x"), A, local),
        RefName("refs/heads/x"): Entry(RefName("refs/heads/x"), A, local),
    }
    assert mirror.unpublished(entries, Refs().ledger()) == {}
    assert len(mirror.unpublished({Y: Entry(Y, A, local)}, Refs().ledger())) == 1
