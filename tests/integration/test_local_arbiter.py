"""The shared git directory as arbiter: what it reads, and that a transaction is made whole or refused whole."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from claims import record
from claims.arbiter import Verdict
from claims.arbiter.choose import arbiter_of_unpublished, choose_arbiter
from claims.arbiter.local import LocalArbiter, update_refs, write_blob
from claims.errors import Undecided
from claims.git import Completed, Git, ProcessTimedOut
from claims.ledger import Ledger
from claims.names import CLAIMS, LOCKS, SLOTS, LockKey, ObjectId, RefName, claim_ref, lock_ref, log_ref
from claims.session import Session
from claims.transaction import Edit, Transaction, ordered
from tests.integration.sessions import opened
from tests.support.git_wrapper import GitWrapper
from tests.support.repo import Repo, clone, init
from tests.support.torn import killed_at, needs_strace
from tests.unit.values import NOW, claim, ended, task

ANN = claim(1, "ann", locks=["k"])
KEY = lock_ref(LockKey("k"))
CLAIM = claim_ref(task(1))
LOG = log_ref(task(1), NOW)


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = init(tmp_path / "repo", {"a": ""})
    repo.branch("topic")
    return repo


@pytest.fixture
def session(repo: Repo) -> Iterator[Session]:
    with opened(repo, now=lambda: NOW) as session:
        yield session


@pytest.fixture
def arbiter(session: Session) -> LocalArbiter:
    return LocalArbiter(session)


def put(repo: Repo, ref: str, content: bytes | str) -> ObjectId:
    """A ref to a blob."""
    blob = ObjectId(repo.blob(content))
    repo.git("update-ref", ref, blob)
    return blob


# Reading.


def test_it_is_the_one_where_no_remote_is(session: Session) -> None:
    chosen = choose_arbiter(session)
    assert isinstance(chosen, LocalArbiter)
    assert chosen.remote is None
    assert chosen.finish() == []


def test_base_is_the_local_branch(repo: Repo, arbiter: LocalArbiter) -> None:
    assert arbiter.read().base == repo.oid("main")
    later = repo.commit({"b": ""}, branch="main")
    assert arbiter.read().base == later


def test_without_base_the_branches_are_told(repo: Repo) -> None:
    repo.git("branch", "-D", "main")
    repo.git("branch", "$(x)")
    with opened(repo) as session, pytest.raises(Undecided) as caught:
        LocalArbiter(session).read()
    assert caught.value.code == "base-not-found"
    assert "its branches: $(x), topic" in caught.value.message
    assert caught.value.hint == "--base '$(x)', or: git config swarm.base '$(x)'"
    assert caught.value.details == {"base": "main", "branches": ["$(x)", "topic"]}


def test_a_base_that_is_no_commit_is_none(repo: Repo) -> None:
    repo.git("update-ref", "refs/heads/main", repo.git("rev-parse", "HEAD"))
    with opened(repo, base="nowhere") as session, pytest.raises(Undecided, match="no branch 'nowhere'"):
        LocalArbiter(session).read()


def test_a_repository_without_a_commit_has_none(tmp_path: Path) -> None:
    with opened(init(tmp_path / "new", None)) as session, pytest.raises(Undecided, match="its branches: none"):
        LocalArbiter(session).read()


def test_the_ledger_is_what_the_refs_say(repo: Repo) -> None:
    blob = put(repo, CLAIM, record.encode(ANN))
    repo.git("update-ref", KEY, blob)
    done = ended(claim(1, "bob"), "stolen")
    assert done.closed is not None
    put(repo, log_ref(task(1), done.closed.at), record.encode(done))
    put(repo, log_ref(task(2), NOW), record.encode(ended(claim(2), at=0)))
    with opened(repo, now=lambda: NOW) as session:
        ledger = LocalArbiter(session).read([task(1)]).ledger
    assert ledger.now == NOW
    assert {name: entry.claim for name, entry in ledger.claims.items()} == {task(1): ANN}
    assert {ref: (entry.id, entry.claim) for ref, entry in ledger.keys.items()} == {KEY: (blob, ANN)}
    assert {name: [entry.claim for entry in log] for name, log in ledger.logs.items()} == {task(1): [done]}
    assert (ledger.local, ledger.odd) == ({}, ())


def test_a_log_is_in_order_of_its_stamps_and_empty_where_it_is(repo: Repo, arbiter: LocalArbiter) -> None:
    records = [ended(claim(1), at=at) for at in (-1, -3, -2)]
    for one in records:
        assert one.closed is not None
        put(repo, log_ref(task(1), one.closed.at), record.encode(one))
    logs = arbiter.read([task(1), task(2)]).ledger.logs
    assert [entry.claim for entry in logs[task(1)]] == [records[1], records[2], records[0]]
    assert logs[task(2)] == ()


def test_the_log_of_a_task_is_not_that_of_one_whose_id_begins_alike(repo: Repo, arbiter: LocalArbiter) -> None:
    put(repo, f"refs/swarm/claim-log/{task(1)}0/20260814T093000.000Z", "x")
    assert arbiter.read([task(1)]).ledger.logs == {task(1): ()}


def test_the_second_reading_sees_what_came_since(repo: Repo, arbiter: LocalArbiter) -> None:
    """The first may use the names that were listed on the way in; no other."""
    assert arbiter.read().ledger.claims == {}
    put(repo, CLAIM, record.encode(ANN))
    assert list(arbiter.read().ledger.claims) == [task(1)]
    repo.git("update-ref", "-d", CLAIM)
    assert arbiter.read().ledger.claims == {}


def test_the_first_reading_takes_no_process_where_all_names_were_listed(repo: Repo) -> None:
    put(repo, CLAIM, record.encode(ANN))
    with opened(repo, logs=[task(1)], now=lambda: NOW) as session:
        before = session.git.processes
        assert list(LocalArbiter(session).read([task(1)]).ledger.claims) == [task(1)]
        assert session.git.processes == before
        assert task(2) in LocalArbiter(session).read([task(2)]).ledger.logs
        assert session.git.processes == before + 1


def test_a_ref_that_went_since_its_name_was_listed_is_not_there(repo: Repo) -> None:
    put(repo, CLAIM, record.encode(ANN))
    with opened(repo, now=lambda: NOW) as session:
        repo.git("update-ref", "-d", CLAIM)
        assert LocalArbiter(session).read().ledger.claims == {}


def test_reading_the_claims_again_leaves_the_rest_as_it_was(repo: Repo, arbiter: LocalArbiter) -> None:
    blob = put(repo, KEY, record.encode(ANN))
    first = arbiter.read([task(1)])
    put(repo, CLAIM, record.encode(ANN))
    put(repo, KEY, record.encode(claim(2, "bob", locks=["k"])))
    put(repo, LOG, "x")
    again = arbiter.read_claims_again(first)
    assert list(again.ledger.claims) == [task(1)]
    assert again.ledger.keys[KEY].id == blob
    assert again == dataclasses.replace(
        first, ledger=dataclasses.replace(first.ledger, claims=again.ledger.claims, odd=())
    )


def ledger_of(repo: Repo) -> Ledger:
    """What is there now."""
    with opened(repo, now=lambda: NOW) as session:
        return LocalArbiter(session).read().ledger


# What does not read as a claim, and why.

FAULTS: dict[str, tuple[str, Callable[[Repo], str], str]] = {
    "a commit": (CLAIM, lambda repo: repo.git("rev-parse", "HEAD"), "it is a commit, not a blob"),
    "a tree": (CLAIM, lambda repo: repo.git("rev-parse", "HEAD^{tree}"), "it is a tree, not a blob"),
    "text": (CLAIM, lambda repo: repo.blob("hello"), "Expecting value"),
    "nothing": (KEY, lambda repo: repo.blob(""), "Expecting value"),
    "too much": (CLAIM, lambda repo: repo.blob(b"x" * 5_000_000), "5000000 bytes; 16384 are read"),
    "another task's claim": (CLAIM, lambda repo: repo.blob(record.encode(claim(2))), f"it is a claim on {task(2)}"),
    "a held claim in the log": (LOG, lambda repo: repo.blob(record.encode(ANN)), "not the closed record"),
    "a record at another stamp": (LOG, lambda repo: repo.blob(record.encode(ended(ANN))), "not the closed record"),
    "a record of another task in the log": (
        LOG,
        lambda repo: repo.blob(record.encode(ended(claim(2), at=0))),
        "not the closed record",
    ),
    "words that move a terminal": (CLAIM, lambda repo: repo.blob('{"task":"\\u001b[2J"}'), "task: "),
}


@pytest.mark.parametrize("case", FAULTS)
def test_what_does_not_read_says_why(repo: Repo, arbiter: LocalArbiter, case: str) -> None:
    ref, make, words = FAULTS[case]
    repo.git("update-ref", ref, make(repo))
    ledger = arbiter.read([task(1)]).ledger
    (entry,) = [*ledger.claims.values(), *ledger.keys.values(), *ledger.logs[task(1)]]
    assert (entry.ref, entry.claim) == (ref, None)
    assert words in entry.fault
    assert entry.fault.isprintable() and len(entry.fault) <= 200


def test_a_tag_that_points_at_a_claim_is_none(repo: Repo) -> None:
    repo.git("tag", "-a", "-m", "t", "v1", repo.blob(record.encode(ANN)))
    repo.git("update-ref", CLAIM, repo.git("rev-parse", "refs/tags/v1"))
    assert ledger_of(repo).claims[task(1)].fault == "it is a tag, not a blob"


def test_one_that_does_not_read_blocks_nothing_else(repo: Repo) -> None:
    put(repo, CLAIM, "x")
    put(repo, claim_ref(task(2)), record.encode(claim(2)))
    ledger = ledger_of(repo)
    assert [entry.claim is None for _, entry in sorted(ledger.claims.items())] == [True, False]


def test_names_that_are_no_tasks_are_kept_apart(repo: Repo) -> None:
    put(repo, f"{CLAIMS}readme", "x")
    ledger = ledger_of(repo)
    assert (ledger.claims, [entry.ref for entry in ledger.odd]) == ({}, [f"{CLAIMS}readme"])


# Writing.


def edits_of(repo: Repo) -> tuple[Transaction, dict[str, str], dict[RefName, ObjectId]]:
    """A creation, a move and a deletion; the refs before and after it."""
    old, new = put(repo, KEY, "old"), ObjectId(repo.blob("new"))
    gone = RefName(f"{SLOTS}gone")
    repo.git("update-ref", gone, old)
    before = repo.refs()
    after = {LOG: new, KEY: new, CLAIM: new}
    return (
        ordered([Edit(CLAIM, None, new), Edit(KEY, old, new), Edit(gone, old, None), Edit(LOG, None, new)]),
        before,
        after,
    )


def test_all_edits_are_made(repo: Repo, arbiter: LocalArbiter) -> None:
    transaction, _, after = edits_of(repo)
    assert arbiter.apply(transaction).verdict is Verdict.APPLIED
    assert repo.refs() == after


SPOILT: dict[str, Callable[[Repo], object]] = {
    "what is to be created is there": lambda repo: put(repo, CLAIM, "else"),
    "what is to be created is there with the same value": lambda repo: put(repo, CLAIM, "new"),
    "what is to be moved has moved": lambda repo: put(repo, KEY, "else"),
    "what is to be moved is there already": lambda repo: put(repo, KEY, "new"),
    "what is to be moved is gone": lambda repo: repo.git("update-ref", "-d", KEY),
    "what is to be deleted has moved": lambda repo: put(repo, f"{SLOTS}gone", "else"),
    "what is to be deleted is gone": lambda repo: repo.git("update-ref", "-d", f"{SLOTS}gone"),
    "a ref is where a folder is to be": lambda repo: put(repo, LOG.rpartition("/")[0], "else"),
    "a folder is where a ref is to be": lambda repo: put(repo, f"{CLAIM}/x", "else"),
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("case", SPOILT)
def test_where_one_expected_value_does_not_hold_nothing_is_made(
    repo: Repo, arbiter: LocalArbiter, case: str, packed: bool
) -> None:
    transaction, _, _ = edits_of(repo)
    SPOILT[case](repo)
    if packed:
        repo.git("pack-refs", "--all")
    before = repo.refs()
    outcome = arbiter.apply(transaction)
    assert outcome.verdict is Verdict.REFUSED
    assert outcome.words
    assert repo.refs() == before


@pytest.mark.parametrize("edit", range(4))
def test_a_busy_lock_refuses_and_names_its_file(repo: Repo, arbiter: LocalArbiter, edit: int) -> None:
    transaction, before, after = edits_of(repo)
    lock = repo.git_path(f"{transaction.edits[edit].ref}.lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.touch()
    outcome = arbiter.apply(transaction)
    assert outcome.verdict is Verdict.REFUSED
    assert f"Unable to create '{lock}': File exists" in outcome.words
    assert repo.refs() == before
    lock.unlink()
    assert arbiter.apply(transaction).verdict is Verdict.APPLIED
    assert repo.refs() == after


def test_a_busy_list_of_packed_refs_refuses_deletions_and_names_its_file(repo: Repo, arbiter: LocalArbiter) -> None:
    transaction, before, _ = edits_of(repo)
    repo.git("pack-refs", "--all")
    lock = repo.git_path("packed-refs.lock")
    lock.touch()
    outcome = arbiter.apply(transaction)
    assert (outcome.verdict, str(lock) in outcome.words) == (Verdict.REFUSED, True)
    assert repo.refs() == before


def test_no_hook_sees_it(tmp_path: Path, repo: Repo, arbiter: LocalArbiter) -> None:
    hook = repo.path / ".git" / "hooks" / "reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    assert arbiter.apply(ordered([Edit(CLAIM, None, ObjectId(repo.blob("new")))])).verdict is Verdict.APPLIED


def test_a_blob_is_written_as_it_is(repo: Repo, arbiter: LocalArbiter) -> None:
    for data in (b"", b"a\r\nb\n", bytes(range(256))):
        assert repo.cat(arbiter.write(data)) == data


def test_what_counts_is_synced_and_the_mirror_is_not(tmp_path: Path, repo: Repo) -> None:
    wrapper = GitWrapper(tmp_path / "wrapper")
    git = Git(repo.path, {**os.environ, **wrapper.env})
    blob, zero = write_blob(git, b"x"), ObjectId("0" * len(repo.git("rev-parse", "HEAD")))
    update_refs(git, zero, [Edit(CLAIM, None, blob)], durable=True)
    update_refs(git, zero, [Edit(KEY, None, blob)], durable=False)
    told = ["core.fsync=loose-object,reference" in call.argv for call in wrapper.log]
    assert told == [True, True, False]


def wrapped(repo: Repo, wrapper: GitWrapper) -> tuple[Git, ObjectId]:
    return Git(repo.path, {**os.environ, **wrapper.env}), ObjectId("0" * len(repo.git("rev-parse", "HEAD")))


@needs_strace
@pytest.mark.parametrize("k", [1, 2, 3])
def test_a_git_that_was_killed_is_not_known_to_have_done_it(tmp_path: Path, repo: Repo, k: int) -> None:
    """Not an error either: on an error the token of a claim that may be there would be deleted."""
    wrapper = GitWrapper(tmp_path / "wrapper")
    git, zero = wrapped(repo, wrapper)
    new = ObjectId(repo.blob("new"))
    wrapper.under(killed_at(k), "update-ref")
    edits = [Edit(RefName(f"{LOCKS}{name}"), None, new) for name in "abc"]
    assert update_refs(git, zero, edits, durable=True).verdict is Verdict.UNKNOWN
    assert len(repo.refs()) == k - 1


@pytest.mark.parametrize("code", [130, 137, 143])
def test_nor_is_one_that_was_killed_behind_a_shell_script(tmp_path: Path, repo: Repo, code: int) -> None:
    wrapper = GitWrapper(tmp_path / "wrapper")
    git, zero = wrapped(repo, wrapper)
    wrapper.fail(code, "", "update-ref", when="after")
    outcome = update_refs(git, zero, [Edit(CLAIM, None, ObjectId(repo.blob("new")))], durable=True)
    assert outcome.verdict is Verdict.UNKNOWN
    assert CLAIM in repo.refs()


def test_an_error_that_is_no_refusal_is_one(tmp_path: Path, repo: Repo) -> None:
    wrapper = GitWrapper(tmp_path / "wrapper")
    git, zero = wrapped(repo, wrapper)
    wrapper.fail(129, "usage: git update-ref\n", "update-ref")
    with pytest.raises(Undecided) as caught:
        update_refs(git, zero, [Edit(CLAIM, None, ObjectId(repo.blob("new")))], durable=True)
    assert caught.value.code == "git-failed"


class TooLate(Git):
    def run(self, *args: str, **more: object) -> Completed:
        raise ProcessTimedOut("timed-out", "git update-ref was ended after 60 s")


def test_one_that_took_too_long_is_not_known_to_have_done_it(repo: Repo) -> None:
    outcome = update_refs(TooLate(repo.path, os.environ), ObjectId("0" * 40), [], durable=True)
    assert (outcome.verdict, outcome.words) == (Verdict.UNKNOWN, "git update-ref was ended after 60 s")


# Where a remote arbitrates, what was claimed without it is decided here.


def test_base_of_what_is_not_published_is_the_remotes_as_it_was_seen_last(tmp_path: Path, repo: Repo) -> None:
    here = clone(repo, tmp_path / "here")
    here.git("branch", "main", here.commit({"ahead": ""}))
    with opened(here, base="main") as session:
        assert arbiter_of_unpublished(session).read().base == here.oid("origin/main")
        assert arbiter_of_unpublished(session).remote is None
    here.git("update-ref", "-d", "refs/remotes/origin/main")
    with opened(here, base="main") as session, pytest.raises(Undecided) as caught:
        arbiter_of_unpublished(session).read()
    assert caught.value.code == "base-not-found"


def test_the_ledger_says_that_a_claim_is_this_clones_own(repo: Repo) -> None:
    put(repo, CLAIM, json.dumps(json.loads(record.encode(ANN)) | {"local": True}))
    put(repo, claim_ref(task(2)), record.encode(claim(2)))
    ledger = ledger_of(repo)
    assert {name: entry.published for name, entry in ledger.claims.items()} == {task(1): False, task(2): True}
