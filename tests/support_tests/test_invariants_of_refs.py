"""Every rule of the judge: refs that keep it, and the one change that breaks it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.support.board import task_id
from tests.support.invariants_of_refs import CLAIMS, LOCKS, LOG, Refs, check, live, lock_ref, phantoms, problems, read
from tests.support.repo import Repo, clone, init

T1, T2 = task_id(1), task_id(2)
#: `spec-lock` is the example of the specification.
SPEC_LOCK = "474cc8e6e4f0452f"

Members: TypeAlias = dict[str, Any]


def claim(task: str = T1, agent: str = "ann", locks: tuple[str, ...] = ("k", "l"), at: int = 0, **more: Any) -> Members:
    return {
        "task": task,
        "agent": agent,
        "branch": f"work-{agent}",
        "baseCommit": "0" * 40,
        "claimedAt": f"2026-08-14T09:{at:02d}:00.000Z",
        "expiresAt": f"2026-08-14T09:{at + 30:02d}:00.000Z",
        "locks": list(locks),
        "planRevision": 0,
        "tokenHash": (agent * 64)[:64],
        **more,
    }


def ended(members: Members, outcome: str = "released", minute: int = 40) -> Members:
    at = f"2026-08-14T09:{minute:02d}:00.000Z"
    return {**members, "closed": {"at": at, "by": "x", "outcome": outcome, "reason": None, "commit": None}}


def log_ref(members: Members) -> str:
    return f"{LOG}{members['task']}/{members['closed']['at'].replace('-', '').replace(':', '')}"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return init(tmp_path / "repo", {})


def put(repo: Repo, refs: Mapping[str, Members]) -> Refs:
    for ref, members in refs.items():
        text = json.dumps(members, sort_keys=True, separators=(",", ":")) + "\n"
        repo.git("update-ref", ref, repo.blob(text))
    return read(repo)


def held(members: Members) -> dict[str, Members]:
    return {CLAIMS + members["task"]: members, **{lock_ref(lock): members for lock in members["locks"]}}


ANN, BOB = claim(), claim(T2, "bob", ("m",))
ANN_ENDED = ended(ANN)


def test_what_is_in_order(repo: Repo) -> None:
    assert lock_ref("spec-lock") == LOCKS + SPEC_LOCK
    earlier = ended(claim(agent="old", at=1), minute=2)
    refs = put(repo, {**held(claim(at=5)), **held(BOB), log_ref(earlier): earlier})
    assert problems(refs, [claim(at=5), BOB, earlier]) == []
    assert [record.task for record in refs.held()] == [T1, T2]
    assert live(repo) == {ref: value for ref, value in refs.ids.items() if not ref.startswith(LOG)}


Case: TypeAlias = tuple[dict[str, Members], list[Members], str]

#: Refs, what was told, and what is wrong with them though nothing was killed.
WRONG: dict[str, Case] = {
    "a lock of two": ({**held(ANN), **held(claim(T2, "bob", ("k",)))}, [], f"held by {T1}, {T2}"),
    "a claim without a lock": ({CLAIMS + T1: ANN, lock_ref("k"): ANN}, [], "without"),
    "a lock in another version": ({**held(ANN), lock_ref("k"): {**ANN, "expiresAt": ANN["claimedAt"]}}, [], "without"),
    "a lock without a claim": ({lock_ref("m"): BOB}, [], "that is not there"),
    "a claim that has ended": ({**held(ANN), log_ref(ANN_ENDED): ANN_ENDED}, [], "has ended"),
    "a claim elsewhere": ({CLAIMS + T2: ANN}, [], "does not belong there"),
    "a lock elsewhere": ({**held(ANN), lock_ref("z"): ANN}, [], "does not belong there"),
    "an entry elsewhere": ({f"{LOG}{T1}/20260814T094100.000Z": ANN_ENDED}, [], "does not belong there"),
    "a member missing": ({CLAIMS + T1: {**ANN, "locks": []}, "refs/swarm/odd": ANN}, [], "refs/swarm/odd was left"),
    "two ends": (
        {log_ref(one): one for one in (ANN_ENDED, ended(ANN, "stolen", 41))},
        [],
        "the log has",
    ),
    "claimed before the last end": (
        {**held(ANN), log_ref(ended(claim(agent="old"))): ended(claim(agent="old"))},
        [],
        "before",
    ),
    "robbed": ({log_ref(one): one for one in (ended(ANN, "stolen", 29),)}, [], "although it ran until"),
    "told and gone": ({}, [ANN], "neither held nor in the log"),
    "told as released": (held(ANN), [ANN, ANN_ENDED], "was told as released"),
    "told as something else": (
        {log_ref(ANN_ENDED): ANN_ENDED},
        [ended(ANN, "done")],
        "was told as done, and the log has ['released']",
    ),
}


@pytest.mark.parametrize("case", WRONG.values(), ids=WRONG.keys())
def test_what_is_wrong(repo: Repo, case: Case) -> None:
    refs, told, words = case
    assert [line for line in problems(put(repo, refs), told) if words in line]
    with pytest.raises(AssertionError):
        check(repo, told)


#: Parts of a transaction that was killed: each is a problem only where nothing was.
TORN: dict[str, tuple[dict[str, Members], list[Members]]] = {
    "locks of a claim that never came": ({lock_ref("k"): ANN}, []),
    "a claim that was not told": ({CLAIMS + T1: ANN, lock_ref("k"): ANN}, []),
    "half renewed": ({**held(ANN), lock_ref("k"): {**ANN, "expiresAt": "2026-08-14T09:50:00.000Z"}}, [ANN]),
    "logged and not deleted": ({**held(ANN), log_ref(ANN_ENDED): ANN_ENDED}, [ANN, ANN_ENDED]),
    "half stolen": ({**held(ANN), lock_ref("k"): claim(agent="eve", at=31)}, [ANN]),
    "stolen and not logged": (
        {CLAIMS + T1: claim(agent="eve", at=41, replaced=ended(ANN, "stolen", 41)), lock_ref("k"): ANN},
        [ANN],
    ),
}


@pytest.mark.parametrize("case", TORN.values(), ids=TORN.keys())
def test_what_a_kill_may_leave(repo: Repo, case: tuple[dict[str, Members], list[Members]]) -> None:
    refs, told = put(repo, case[0]), case[1]
    assert problems(refs, told, torn=True) == []
    assert problems(refs, told) != []


def test_what_no_kill_may_leave(repo: Repo) -> None:
    refs = put(repo, {CLAIMS + T1: ANN, lock_ref("k"): ANN})
    assert problems(refs, torn=True) == []
    assert "without" in problems(refs, [ANN], torn=True)[0]
    put(repo, held(claim(T2, "bob", ("k",))))
    assert "held by" in problems(read(repo), torn=True)[0]


@pytest.mark.parametrize("spoil", [lambda text: text.replace(",", ", "), lambda text: text[:-1]], ids=["blanks", "end"])
def test_what_is_not_canonical(repo: Repo, spoil: Callable[[str], str]) -> None:
    text = json.dumps(BOB, sort_keys=True, separators=(",", ":")) + "\n"
    for number, written in enumerate((text, spoil(text))):
        for ref in (CLAIMS + T2, lock_ref("m")):
            repo.git("update-ref", ref, repo.blob(written))
        assert len(problems(read(repo))) == 2 * number


def test_phantoms(repo: Repo, tmp_path: Path) -> None:
    there = put(repo, held(ANN))
    here = clone(repo, tmp_path / "here")
    for ref, value in there.ids.items():
        here.git("fetch", "-q", "origin", f"{ref}:{ref}")
        repo.git("update-ref", "-d", ref, value)
    assert phantoms(read(here), read(repo), repo) == []
    here.git("update-ref", lock_ref("k"), here.blob(json.dumps(BOB)))
    assert [line.split(" ")[0] for line in phantoms(read(here), read(repo), repo)] == [lock_ref("k")]
