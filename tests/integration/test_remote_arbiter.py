"""A remote as arbiter: what a fetch reads and leaves alone, and what each answer to a push means."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from claims import record
from claims.arbiter import Outcome, Verdict
from claims.arbiter.choose import choose_arbiter
from claims.arbiter.remote import RemoteArbiter, push
from claims.errors import Undecided
from claims.git import Git
from claims.names import FETCHES, SLOTS, LockKey, ObjectId, RefName, claim_ref, lock_ref, log_ref
from claims.transaction import Edit, Transaction, ordered
from tests.integration.sessions import opened
from tests.support import remotes
from tests.support.git_wrapper import GitWrapper
from tests.support.http_origin import HttpOrigin
from tests.support.repo import Repo, clone, origin
from tests.support.torn import needs_strace, torn_receive_pack
from tests.unit.values import NOW, claim, ended, task

ANN = claim(1, "ann", locks=["k"])
KEY = lock_ref(LockKey("k"))
CLAIM = claim_ref(task(1))
LOG = log_ref(task(1), NOW)
GONE = RefName(f"{SLOTS}gone")


@pytest.fixture
def hub(tmp_path: Path) -> Repo:
    """The remote, without a work tree."""
    return origin(tmp_path / "hub.git", {"a": ""})


@pytest.fixture
def here(hub: Repo, tmp_path: Path) -> Repo:
    here = clone(hub, tmp_path / "here")
    here.branch("topic")
    return here


@pytest.fixture
def server(tmp_path: Path) -> Iterator[HttpOrigin]:
    with HttpOrigin(tmp_path / "served") as server:
        yield server


def put(repo: Repo, ref: str, content: bytes | str) -> ObjectId:
    blob = ObjectId(repo.blob(content))
    repo.git("update-ref", ref, blob)
    return blob


# Reading.


def test_it_is_the_one_where_a_remote_is(here: Repo) -> None:
    with opened(here) as session:
        chosen = choose_arbiter(session)
        assert isinstance(chosen, RemoteArbiter)
        assert chosen.remote == "origin"


def test_one_fetch_reads_base_the_live_refs_and_the_log(here: Repo, hub: Repo) -> None:
    blob = put(hub, CLAIM, record.encode(ANN))
    hub.git("update-ref", KEY, blob)
    done = ended(claim(1, "bob"), at=0)
    put(hub, LOG, record.encode(done))
    put(hub, log_ref(task(2), NOW), record.encode(ended(claim(2), at=0)))
    base = hub.commit({"b": ""})
    with opened(here, now=lambda: NOW) as session:
        reading = RemoteArbiter(session, "origin").read([task(1)])
        assert session.git.network_operations == 1
    ledger = reading.ledger
    assert (reading.base, ledger.now) == (base, NOW)
    assert {name: entry.claim for name, entry in ledger.claims.items()} == {task(1): ANN}
    assert {ref: (entry.id, entry.claim) for ref, entry in ledger.keys.items()} == {KEY: (blob, ANN)}
    assert {name: [entry.claim for entry in log] for name, log in ledger.logs.items()} == {task(1): [done]}


def test_what_is_here_does_not_count(here: Repo, hub: Repo) -> None:
    """Neither a stale mirror, nor a base that is ahead or behind."""
    put(here, CLAIM, record.encode(ANN))
    here.git("branch", "-f", "main", here.commit({"ahead": ""}))
    here.git("update-ref", "refs/remotes/origin/main", "main")
    with opened(here, now=lambda: NOW) as session:
        reading = RemoteArbiter(session, "origin").read()
    assert (reading.base, reading.ledger.claims, reading.ledger.local) == (hub.oid("main"), {}, {})


CONFIGURED = {
    "remote.origin.prune": "true",
    "fetch.prune": "true",
    "fetch.pruneTags": "true",
    "remote.origin.tagOpt": "--tags",
    "fetch.recurseSubmodules": "true",
    "gc.auto": "1",
    "fetch.writeCommitGraph": "true",
}


@pytest.mark.parametrize("mirrors", [False, True])
def test_a_fetch_touches_nothing_of_the_users_whatever_is_configured(here: Repo, hub: Repo, mirrors: bool) -> None:
    hub.git("tag", "v1", "main")
    hub.git("branch", "feature", "main")
    put(hub, CLAIM, record.encode(ANN))
    put(here, "refs/swarm/task-claims/unpublished", "x")
    here.git("update-ref", "refs/remotes/origin/gone", "HEAD")
    here.git("tag", "mine")
    for key, value in CONFIGURED.items():
        here.git("config", key, value)
    if mirrors:
        here.git("config", "remote.origin.fetch", "+refs/*:refs/*")
    before = here.snapshot()
    with opened(here, now=lambda: NOW) as session:
        arbiter = RemoteArbiter(session, "origin")
        arbiter.read([task(1)])
        during = here.snapshot()
        fetched = {ref for ref in during.refs if ref.startswith(FETCHES)}
        assert len(fetched) == 2
        rest = {ref: value for ref, value in during.refs.items() if ref not in fetched}
        assert dataclasses.replace(during, refs=rest) == before
    assert not (here.path / ".git" / "FETCH_HEAD").exists()
    assert not (here.path / ".git" / "objects" / "info" / "commit-graphs").exists()


def test_what_a_fetch_was_kept_under_goes_at_the_end(here: Repo, hub: Repo) -> None:
    put(hub, CLAIM, record.encode(ANN))
    with opened(here, now=lambda: NOW) as session:
        arbiter = RemoteArbiter(session, "origin")
        first = arbiter.read()
        arbiter.read_claims_again(first)
        arbiter.read([task(1)])
        assert len(here.refs(FETCHES)) == 5
        assert arbiter.finish() == []
    assert here.refs(FETCHES) == {}


def test_leftovers_go_when_they_are_an_hour_old_and_others_fetches_stay(here: Repo) -> None:
    now = int(time.time())
    old = [f"{FETCHES}{now - 3700}-0123abcd/heads/main", f"{FETCHES}odd", f"{FETCHES}odd-1/x"]
    young = [f"{FETCHES}{now - 60}-0123abcd/heads/main", f"{FETCHES}{now + 60}-0123abcd/heads/main"]
    for ref in [*old, *young]:
        put(here, ref, "x")
    with opened(here) as session:
        arbiter = RemoteArbiter(session, "origin")
        reading = arbiter.read()
        assert (reading.ledger.claims, reading.ledger.keys) == ({}, {})
        arbiter.finish()
    assert sorted(here.refs(FETCHES)) == sorted(young)


def test_reading_the_claims_again_leaves_the_rest_as_it_was(here: Repo, hub: Repo) -> None:
    put(hub, KEY, record.encode(ANN))
    with opened(here, now=lambda: NOW) as session:
        arbiter = RemoteArbiter(session, "origin")
        first = arbiter.read([task(1)])
        put(hub, CLAIM, record.encode(ANN))
        put(hub, KEY, record.encode(claim(2, "bob", locks=["k"])))
        hub.commit({"b": ""})
        again = arbiter.read_claims_again(first)
    assert list(again.ledger.claims) == [task(1)]
    ledger = dataclasses.replace(first.ledger, claims=again.ledger.claims, odd=again.ledger.odd)
    assert again == dataclasses.replace(first, ledger=ledger)


def test_a_remote_without_base_says_which_branches_it_has(here: Repo, hub: Repo) -> None:
    hub.git("branch", "feature/x", "main")
    with opened(here, base="trunk") as session, pytest.raises(Undecided) as caught:
        RemoteArbiter(session, "origin").read()
    assert caught.value.code == "base-not-found"
    assert caught.value.message == "origin has no branch 'trunk' to take as base; its branches: feature/x, main"
    assert caught.value.hint == "--base feature/x, or: git config swarm.base feature/x"


def test_a_remote_without_any_branch_says_so(here: Repo, hub: Repo) -> None:
    hub.git("update-ref", "-d", "refs/heads/main")
    with opened(here) as session, pytest.raises(Undecided, match="its branches: none"):
        RemoteArbiter(session, "origin").read()


@pytest.mark.parametrize("url", [remotes.nobody_home, lambda: "file:///nowhere/gone.git", lambda: "ext::sh -c x"])
def test_a_remote_that_is_not_there_is_unreachable(here: Repo, url: Callable[[], str]) -> None:
    here.git("config", "remote.origin.url", url())
    before = here.snapshot()
    with opened(here) as session:
        arbiter = RemoteArbiter(session, "origin")
        with pytest.raises(Undecided) as caught:
            arbiter.read()
        assert arbiter.finish() == []
    assert (caught.value.code, caught.value.hint) == ("remote-unreachable", "git ls-remote origin")
    assert here.snapshot() == before


@pytest.mark.parametrize("status", [401, 403, 404, 500, 503])
def test_a_server_that_fails_is_unreachable(tmp_path: Path, server: HttpOrigin, status: int) -> None:
    server.create(files={"a": ""})
    here = clone(server.url(), tmp_path / "here")
    server.fail_with(status, "refs-for-fetch")
    with opened(here) as session, pytest.raises(Undecided) as caught:
        RemoteArbiter(session, "origin").read()
    assert caught.value.code == "remote-unreachable"


def test_a_server_that_stalls_is_unreachable_at_the_deadline(tmp_path: Path, server: HttpOrigin) -> None:
    server.create(files={"a": ""})
    here = clone(server.url(), tmp_path / "here")
    server.stall(30, "fetch")
    with (
        opened(here, env={"SWARM_TIMEOUT": "1"}) as session,
        pytest.raises(Undecided, match="ended after 1 s") as caught,
    ):
        RemoteArbiter(session, "origin").read()
    assert caught.value.code == "remote-unreachable"


def test_a_partial_clone_reads_claims_all_the_same(tmp_path: Path, hub: Repo) -> None:
    hub.git("config", "uploadpack.allowFilter", "true")
    here = clone(hub, tmp_path / "partial", "--filter=blob:none")
    put(hub, CLAIM, record.encode(ANN))
    with opened(here, now=lambda: NOW) as session:
        assert RemoteArbiter(session, "origin").read().ledger.claims[task(1)].claim == ANN
        assert session.git.network_operations == 1


def test_a_shallow_clone_too(tmp_path: Path, hub: Repo) -> None:
    hub.commit({"b": ""})
    here = clone(hub, tmp_path / "shallow", "--depth=1")
    put(hub, CLAIM, record.encode(ANN))
    base = hub.commit({"c": ""})
    with opened(here, now=lambda: NOW) as session:
        arbiter = RemoteArbiter(session, "origin")
        reading = arbiter.read()
        assert (reading.base, reading.ledger.claims[task(1)].claim) == (base, ANN)
        assert arbiter.finish() == []


# Writing.


def stage(hub: Repo, here: Repo) -> Transaction:
    """Two creations, a move and a deletion. The new blob is here alone."""
    old, new = put(hub, KEY, "old"), ObjectId(here.blob("new"))
    hub.git("update-ref", GONE, old)
    return ordered([Edit(CLAIM, None, new), Edit(KEY, old, new), Edit(GONE, old, None), Edit(LOG, None, new)])


def sent(here: Repo, transaction: Transaction, deadline: float = 30, env: dict[str, str] | None = None) -> Outcome:
    return push(Git(here.path, {**os.environ, **(env or {})}), "origin", transaction, deadline)


def is_made(hub: Repo, transaction: Transaction) -> bool:
    refs = hub.refs()
    return all(refs.get(edit.ref) == edit.new for edit in transaction.edits)


def test_all_edits_are_made(here: Repo, hub: Repo) -> None:
    transaction = stage(hub, here)
    assert sent(here, transaction) == Outcome(Verdict.APPLIED)
    assert is_made(hub, transaction)


SPOILT: dict[str, Callable[[Repo], object]] = {
    "what is to be created is there": lambda hub: put(hub, CLAIM, "else"),
    "what is to be moved has moved": lambda hub: put(hub, KEY, "else"),
    "what is to be moved is gone": lambda hub: hub.git("update-ref", "-d", KEY),
    "what is to be deleted has moved": lambda hub: put(hub, GONE, "else"),
    "a ref is where a folder is to be": lambda hub: put(hub, LOG.rpartition("/")[0], "else"),
    "a folder is where a ref is to be": lambda hub: put(hub, f"{CLAIM}/x", "else"),
}


@pytest.mark.parametrize("case", SPOILT)
def test_where_one_expected_value_does_not_hold_nothing_is_made(here: Repo, hub: Repo, case: str) -> None:
    transaction = stage(hub, here)
    SPOILT[case](hub)
    before = hub.refs()
    outcome = sent(here, transaction)
    assert (outcome.verdict, hub.refs()) == (Verdict.REFUSED, before), outcome
    assert outcome.words


def test_what_is_to_be_deleted_and_is_gone_is_no_success(here: Repo, hub: Repo) -> None:
    transaction = stage(hub, here)
    hub.git("update-ref", "-d", GONE)
    before = hub.refs()
    assert sent(here, transaction).verdict is not Verdict.APPLIED
    assert hub.refs() == before


@pytest.mark.parametrize("ref", [CLAIM, KEY])
def test_what_is_there_already_is_no_success(here: Repo, hub: Repo, ref: RefName) -> None:
    """git says `=`, exits 0 and makes the other edits. A transaction that somebody else made is not ours."""
    transaction = stage(hub, here)
    put(hub, ref, "new")
    assert sent(here, transaction).verdict is not Verdict.APPLIED


def test_what_was_made_is_no_success_the_second_time(here: Repo, hub: Repo) -> None:
    new = ObjectId(here.blob("new"))
    transaction = ordered([Edit(CLAIM, None, new), Edit(KEY, None, new)])
    assert sent(here, transaction).verdict is Verdict.APPLIED
    assert sent(here, transaction).verdict is Verdict.UNKNOWN


@pytest.mark.parametrize("edit", range(4))
def test_a_busy_lock_refuses_and_names_its_file(here: Repo, hub: Repo, edit: int) -> None:
    transaction = stage(hub, here)
    lock = hub.git_path(f"{transaction.edits[edit].ref}.lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.touch()
    before = hub.refs()
    outcome = sent(here, transaction)
    assert (outcome.verdict, hub.refs()) == (Verdict.REFUSED, before), outcome
    assert f"{transaction.edits[edit].ref}.lock': File exists" in outcome.words
    lock.unlink()
    assert sent(here, transaction).verdict is Verdict.APPLIED


@pytest.mark.parametrize("refuse", [remotes.refuse_namespace, remotes.hide_namespace, remotes.read_only])
def test_a_server_that_does_not_take_it_says_why(here: Repo, hub: Repo, refuse: Callable[[Repo], None]) -> None:
    # Of a namespace that is hidden one cannot expect any value but absence.
    new = ObjectId(here.blob("new"))
    transaction = ordered([Edit(CLAIM, None, new), Edit(KEY, None, new)])
    refuse(hub)
    outcome = sent(here, transaction)
    assert (outcome.verdict, hub.refs()) == (Verdict.REJECTED, {}), outcome
    assert any(words in outcome.words for words in ("no such refs here", "hidden ref", "read only")), outcome


@pytest.mark.parametrize("hooked", [CLAIM, KEY, GONE, LOG])
def test_a_hook_that_refuses_one_ref_refuses_all(here: Repo, hub: Repo, hooked: RefName) -> None:
    transaction = stage(hub, here)
    hook = hub.path / "hooks" / "update"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f'#!/bin/sh\nif test "$1" = {hooked}; then echo not this one; exit 1; fi\n')
    hook.chmod(0o755)
    before = hub.refs()
    outcome = sent(here, transaction)
    assert (outcome.verdict, hub.refs()) == (Verdict.REJECTED, before), outcome
    assert "not this one" in outcome.words


def test_what_hooks_say_does_not_matter_where_they_agree(here: Repo, hub: Repo) -> None:
    transaction = stage(hub, here)
    for name in ("pre-receive", "update", "post-receive", "post-update"):
        hook = hub.path / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\necho '!\t:{CLAIM}\t[remote rejected] (no)'; echo permission denied >&2; exit 0\n")
        hook.chmod(0o755)
    assert sent(here, transaction).verdict is Verdict.APPLIED
    assert is_made(hub, transaction)


def test_a_server_that_is_not_atomic_is_never_pushed_to_in_parts(here: Repo, hub: Repo) -> None:
    transaction = stage(hub, here)
    remotes.no_atomic(hub)
    before = hub.refs()
    with pytest.raises(Undecided) as caught:
        sent(here, transaction)
    assert (caught.value.code, hub.refs()) == ("remote-not-atomic", before)


CONFIGURED_FOR_PUSH = {
    "push.default": "matching",
    "push.followTags": "true",
    "push.gpgSign": "true",
    "push.pushOption": "ci.skip",
    "push.recurseSubmodules": "on-demand",
    "push.useForceIfIncludes": "true",
    "remote.origin.mirror": "true",
    "remote.origin.push": "refs/heads/*:refs/heads/*",
    "push.autoSetupRemote": "true",
}


def test_only_the_edits_are_pushed_whatever_is_configured(here: Repo, hub: Repo) -> None:
    transaction = stage(hub, here)
    here.git("switch", "-q", "main")
    here.commit({"mine": ""})
    here.git("tag", "-a", "-m", "t", "v1")
    for key, value in CONFIGURED_FOR_PUSH.items():
        here.git("config", key, value)
    hook = here.path / ".git" / "hooks" / "pre-push"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    others = hub.refs("refs/heads/") | hub.refs("refs/tags/")
    assert sent(here, transaction).verdict is Verdict.APPLIED
    assert hub.refs("refs/heads/") | hub.refs("refs/tags/") == others
    assert is_made(hub, transaction)


def test_no_edits_are_never_pushed(here: Repo, hub: Repo) -> None:
    """Told of no ref, git would push the user's branch."""
    here.git("config", "push.default", "current")
    with pytest.raises(AssertionError):
        sent(here, Transaction())
    assert "refs/heads/topic" not in hub.refs("refs/")


def test_a_server_over_ipc_that_is_gone_is_not_known(here: Repo, hub: Repo) -> None:
    transaction = stage(hub, here)
    here.git("config", "remote.origin.url", "file:///nowhere/gone.git")
    assert sent(here, transaction).verdict is Verdict.UNKNOWN


@pytest.mark.parametrize(
    ("status", "verdict"), [(403, Verdict.REJECTED), (500, Verdict.UNKNOWN), (502, Verdict.UNKNOWN)]
)
def test_what_a_web_server_answers(tmp_path: Path, server: HttpOrigin, status: int, verdict: Verdict) -> None:
    hub = server.create(files={"a": ""})
    here = clone(server.url(), tmp_path / "here")
    transaction = stage(hub, here)
    before = hub.refs()
    server.fail_with(status, "refs-for-push")
    assert (sent(here, transaction).verdict, hub.refs()) == (verdict, before)


def test_a_web_server_that_is_read_only_says_so(tmp_path: Path, server: HttpOrigin) -> None:
    hub = server.create(files={"a": ""})
    here = clone(server.url(), tmp_path / "here")
    transaction = stage(hub, here)
    remotes.read_only(hub)
    assert sent(here, transaction).verdict is Verdict.REJECTED


def test_a_reply_that_is_lost_is_not_known_although_it_was_made(tmp_path: Path, server: HttpOrigin) -> None:
    hub = server.create(files={"a": ""})
    here = clone(server.url(), tmp_path / "here")
    transaction = stage(hub, here)
    server.refuse_next_push_reply()
    assert sent(here, transaction).verdict is Verdict.UNKNOWN
    assert is_made(hub, transaction)


def test_a_push_that_is_lost_is_not_known_although_it_was_not_made(tmp_path: Path, server: HttpOrigin) -> None:
    hub = server.create(files={"a": ""})
    here = clone(server.url(), tmp_path / "here")
    transaction = stage(hub, here)
    before = hub.refs()
    server.drop_before_apply()
    assert (sent(here, transaction).verdict, hub.refs()) == (Verdict.UNKNOWN, before)


def test_a_push_that_stalls_is_not_known_at_the_deadline(tmp_path: Path, server: HttpOrigin) -> None:
    hub = server.create(files={"a": ""})
    here = clone(server.url(), tmp_path / "here")
    transaction = stage(hub, here)
    server.stall(30)
    outcome = sent(here, transaction, deadline=1)
    assert (outcome.verdict, outcome.words) == (Verdict.UNKNOWN, "git push was ended after 1 s")


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("code", [130, 137, 141])
def test_a_push_that_was_killed_is_not_known(tmp_path: Path, here: Repo, hub: Repo, when: str, code: int) -> None:
    transaction = stage(hub, here)
    wrapper = GitWrapper(tmp_path / "wrapper")
    wrapper.fail(code, "", "push", when="after" if when == "after" else "before")
    assert sent(here, transaction, env=wrapper.env).verdict is Verdict.UNKNOWN
    assert is_made(hub, transaction) == (when == "after")


def test_a_push_that_a_signal_ended_is_not_known(tmp_path: Path, here: Repo, hub: Repo) -> None:
    """Not an error: on an error the token of a claim that may be there would be deleted."""
    transaction = stage(hub, here)
    stub = tmp_path / "bin" / "git"
    stub.parent.mkdir()
    stub.write_text("#!/bin/sh\nkill -KILL $$\n")
    stub.chmod(0o755)
    env = {"PATH": f"{stub.parent}{os.pathsep}{os.environ['PATH']}"}
    assert sent(here, transaction, env=env) == Outcome(Verdict.UNKNOWN, "git push ended with -9")


@needs_strace
@pytest.mark.parametrize("k", [1, 2])
def test_a_server_that_dies_half_way_is_not_known(here: Repo, hub: Repo, k: int) -> None:
    new = ObjectId(here.blob("new"))
    transaction = ordered([Edit(CLAIM, None, new), Edit(KEY, None, new)])
    with torn_receive_pack(here, k):
        assert sent(here, transaction).verdict is Verdict.UNKNOWN
    assert len(hub.refs()) == k - 1


def test_reading_and_writing_is_two_network_operations(here: Repo, hub: Repo) -> None:
    transaction = stage(hub, here)
    with opened(here, now=lambda: NOW) as session:
        arbiter = RemoteArbiter(session, "origin")
        arbiter.read([task(1)])
        assert arbiter.apply(transaction).verdict is Verdict.APPLIED
        assert arbiter.finish() == []
        assert session.git.network_operations == 2


@pytest.mark.parametrize("name", ["my.hub", "a-b", "team/hub"])
def test_a_remote_may_have_any_name_that_git_gives_it(here: Repo, hub: Repo, name: str) -> None:
    here.git("remote", "rename", "origin", name)
    transaction = stage(hub, here)
    with opened(here, remote=name, now=lambda: NOW) as session:
        arbiter = RemoteArbiter(session, name)
        arbiter.read()
        assert arbiter.apply(transaction).verdict is Verdict.APPLIED
        assert arbiter.finish() == []
    assert here.oid(f"refs/remotes/{name}/main") == hub.oid("main")
