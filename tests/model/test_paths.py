"""The sample that is replayed against real git: the same for everybody, of every kind, and true to the protocol."""

from __future__ import annotations

import random

import pytest

from tests.model.invariants import violations
from tests.model.paths import FEATURES, WORLD, Path, dumps, loads, sample, walk
from tests.model.steps import successors
from tests.model.world import World, start


@pytest.fixture(scope="module", params=[True, False], ids=["remote", "local"])
def paths(request: pytest.FixtureRequest) -> list[Path]:
    return sample(1, 16, bool(request.param))


def test_a_sample_is_the_same_for_the_same_seed(paths: list[Path]) -> None:
    again = sample(1, 16, paths[0].remote)
    assert again == paths
    assert sample(2, 3, paths[0].remote) != paths[:3]


def test_a_sample_survives_json(paths: list[Path]) -> None:
    assert loads(dumps(paths)) == paths


def test_a_sample_shows_everything_that_can_happen(paths: list[Path]) -> None:
    shown = frozenset[str]().union(*(path.features() for path in paths))
    local_only = {"floats", "late"} if not paths[0].remote else set()
    assert shown == set(FEATURES) - local_only


def test_every_command_that_starts_ends_or_is_killed(paths: list[Path]) -> None:
    for path in paths:
        running: set[str] = set()
        for event in path.events:
            if event.kind == "start":
                assert event.agent not in running
                running.add(event.agent)
            if event.kind == "push":
                assert event.agent in running
            if event.told or event.killed:
                running.discard(event.agent)
        assert not running


def test_the_events_alone_give_the_refs(paths: list[Path]) -> None:
    """Apply the edits as a replay would; each whole transaction finds what it expects, each refused one does not."""
    for path in paths:
        refs: dict[str, str] = {}
        log: set[str] = set()
        for event in path.events:
            if event.kind not in ("push", "late"):
                continue
            expected = all(refs.get(edit.ref, "") == edit.old for edit in event.edits if edit.ref != "log")
            assert expected == (event.outcome != "refused") or event.outcome == "floats"
            for number in event.landed:
                edit = event.edits[number]
                if edit.ref == "log":
                    log.add(edit.new)
                else:
                    refs[edit.ref] = edit.new
        assert {ref: blob for ref, blob in refs.items() if blob} == path.refs
        assert log == set(path.log)


def test_leases_run_out_when_the_path_says(paths: list[Path]) -> None:
    for path in paths:
        ends = {event.minute for event in path.events if event.kind == "expire"}
        for event in path.events:
            due = event.minute + event.minutes
            assert event.minutes in (0, 1440) or due in ends


@pytest.mark.parametrize("remote", [True, False])
def test_a_walk_breaks_no_invariant(remote: bool) -> None:
    chance = random.Random(3)
    for _ in range(20):
        for step, state in walk(chance, remote):
            assert list(violations(WORLD, step, state, {})) == []


def test_a_walk_is_a_path_of_the_world() -> None:
    state = start(WORLD)
    for step, after in walk(random.Random(4), True):
        assert (step, after) in list(successors(WORLD, state))
        state = after
    assert start(World()) != start(WORLD)
