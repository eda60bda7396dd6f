"""A command that dies between two of its steps leaves a whole claim, none, or debris that the next one deals with."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.killing import KINDS, VERBS, Verb, git_commands, ground
from tests.support.forked import ForkServer
from tests.support.git_wrapper import When

#: The git commands that leave something behind.
_WRITE = ("hash-object", "fetch", "push", "update-ref")

each_verb = pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
each_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
def thorough(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--full"))


@each_verb
@each_kind
def test_before_and_after_each_git_command(
    kind: str, verb: Verb, tmp_path: Path, forked: ForkServer, thorough: bool
) -> None:
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
    here = ground(kind, tmp_path, forked, thorough)
    log = tmp_path / "steps"
    assert here.kill(verb, events=log).code == 0
    steps = log.read_text().splitlines()
    for number, step in enumerate(steps, 1):
        if thorough or not step.startswith("subprocess"):
            assert here.kill(verb, events=log, die_at=number).code == -9, step
            assert len(log.read_text().splitlines()) == number
            here.settle(verb)


def _moments(number: int, word: str, thorough: bool) -> tuple[When, ...]:
    """Around a command that only reads, things are as at the start: left out, but for the first, without `--full`."""
    if word in _WRITE:
        return ("before", "after")
    if not thorough:
        return ("before",) if number == 0 else ()
    # The reader of objects is ended by the command itself: there is no "after" to it.
    return ("before",) if word == "cat-file" else ("before", "after")
