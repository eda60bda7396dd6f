"""A command that dies between two of its steps leaves a whole claim, none, or debris that the next one deals with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.e2e.killing import KINDS, TASK, TASK_FILE, TELLING, VERBS, Verb, git_commands, ground, leave_to_full
from tests.support.board import moved
from tests.support.forked import ForkServer
from tests.support.git_wrapper import When
from tests.support.invariants_of_refs import check

_REOPEN = next(verb for verb in VERBS if verb.name == "reopen")
#: The git commands that leave something behind.
_WRITE = ("hash-object", "fetch", "push", "update-ref")

each_verb = pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
each_kind = pytest.mark.parametrize("kind", KINDS)


@each_verb
@each_kind
def test_before_and_after_each_git_command(
    kind: str, verb: Verb, tmp_path: Path, forked: ForkServer, thorough: bool
) -> None:
    leave_to_full(verb, thorough, TELLING if kind == "local" else TELLING[:2])
    here = ground(kind, tmp_path, forked, thorough)
    assert here.kill(verb).code == 0
    for number, (word, nth) in enumerate(list(git_commands(here.wrapper))):
        for when in _moments(number, word, thorough):
            here.wrapper.clear()
            here.wrapper.kill(when, word, nth=nth)
            assert here.kill(verb).code == -9, f"{when} {word} {nth}"
            here.settle(verb)
    assert len(here.seen) > 1


@each_verb
@each_kind
def test_before_each_step_of_its_own(kind: str, verb: Verb, tmp_path: Path, forked: ForkServer, thorough: bool) -> None:
    """Its own steps: a token is created, written, synced, renamed, deleted. With `--full` git's are among them."""
    leave_to_full(verb, thorough, (*TELLING, "release") if kind == "local" else TELLING[:1])
    here = ground(kind, tmp_path, forked, thorough)
    log = tmp_path / "steps"
    assert here.kill(verb, events=log).code == 0
    steps = log.read_text().splitlines()
    for number, step in enumerate(steps, 1):
        if thorough or not step.startswith("subprocess"):
            assert here.kill(verb, events=log, die_at=number).code == -9, step
            assert len(log.read_text().splitlines()) == number
            here.settle(verb)


@each_kind
def test_reaping_what_base_has_merged(kind: str, tmp_path: Path, forked: ForkServer) -> None:
    """The completion record goes, and the log has the end of it once, whenever its reaper died."""
    here, verb = ground(kind, tmp_path, forked), replace(_REOPEN, command="reap")
    here.begin(verb)
    here.arbiter.commit(moved(TASK_FILE, "done"), branch="main" if kind == "remote" else None)
    assert here.edits(verb) > 0
    moments: tuple[When, ...] = ("before", "after")
    for when in moments:
        here.wrapper.clear()
        here.wrapper.kill(when, "push" if kind == "remote" else "update-ref")
        assert here.kill(verb).code == -9
        here.run("b", "reap", ok=True)
        assert here.is_done()
        refs = check(here.arbiter, here.told)
        assert [entry.outcome for entry in refs.log[TASK]] == ["done"]


def test_what_a_killed_fetch_left(tmp_path: Path, forked: ForkServer) -> None:
    """It is in nobody's way, and goes with the first command an hour later."""
    here = ground("remote", tmp_path, forked)
    place = here.places["a"]
    here.wrapper.kill("after", "fetch")
    assert here.run("a", "claim", TASK, env=here.wrapper.env).code == -9
    (left,) = place.refs("refs/swarm-fetch/").items()
    here.run("a", "claim", TASK, ok=True)
    assert list(place.refs("refs/swarm-fetch/").items()) == [left]
    started = left[0].split("/")[2].partition("-")[0]
    older = left[0].replace(started, str(int(started) - 3601))
    place.git("update-ref", older, left[1])
    place.git("update-ref", "-d", left[0])
    here.run("a", "status", ok=True)
    assert place.refs("refs/swarm-fetch/") == {}


def _moments(number: int, word: str, thorough: bool) -> tuple[When, ...]:
    """Around a command that only reads, things are as at the start: left out, but for the first, without `--full`."""
    if word in _WRITE:
        return ("before", "after")
    if not thorough:
        return ("before",) if number == 0 else ()
    # The reader of objects is ended by the command itself: there is no "after" to it.
    return ("before",) if word == "cat-file" else ("before", "after")
