"""`successors` leaves out most interleavings on the ground that they lead to nothing else. Here they are not left out.

The plain world takes each read as a step of its own, lets any process go on at any time, and has refusals. Under every
set of rules, and within the same bounds, both have to break the same invariants and, names of blobs aside, leave the
same refs behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.model.invariants import violations
from tests.model.protocol import PER_PROCESS, Blob, L, Rules, Tell, bit_of
from tests.model.reads import beginnings, lapse, read_on, send
from tests.model.state import Budget, State, put
from tests.model.steps import successors
from tests.model.world import Step, World, start
from tests.model.writes import applications, expiries, land_late, tell_agent

Successors = Callable[[World, State], Iterator[tuple[Step, State]]]


def plain(world: World, state: State) -> Iterator[tuple[Step, State]]:
    """Every step, one read or one write at a time."""
    for number, process in enumerate(state.processes):
        if process.waiting:
            yield from applications(world, state, number)
        elif process.command is not None or state.budget.commands:
            yield from _plain_reads(world, state, number)
    yield from land_late(state)
    yield from expiries(state)


def _plain_reads(world: World, state: State, number: int) -> Iterator[tuple[Step, State]]:
    process = state.processes[number]
    if process.command is None:
        state = state._replace(budget=state.budget._replace(commands=state.budget.commands - 1))
    for ready in beginnings(world, process):
        found = next(read_on(world, number, ready, state.refs, state.log, state.expired), None)
        if found is None:
            continue
        reading, decision, _ = found
        assert ready.command is not None
        if decision is None:
            yield Step("reads", number, ready.command), put(state, number, reading)
        elif isinstance(decision, Tell):
            told, after = tell_agent(state, number, reading, decision)
            yield Step("reads back", number, ready.command, told=told), after
        elif reading.sends < world.sends:
            sent = send(reading, decision)
            after = put(state, number, sent)
            yield Step("sends", number), lapse(after, sent) if ready.command.verb == "lapse" else after


def explore(world: World, onward: Successors) -> tuple[set[str], set[object]]:
    """The invariants that are broken somewhere, and what can be on the refs and in the log."""
    broken: set[str] = set()
    wedges: dict[object, str | None] = {}
    first = start(world)
    seen = {first}
    layer = [first]
    while layer:
        following = []
        for state in layer:
            for step, child in onward(world, state):
                broken |= {invariant for invariant, _ in violations(world, step, child, wedges)}
                if child not in seen:
                    seen.add(child)
                    following.append(child)
        layer = following
    return broken, {_left(state) for state in seen}


def _left(state: State) -> object:
    """The refs, with claims and agents numbered in the order of the refs: their names do not matter."""
    names: dict[int, int] = {}
    agents: dict[int, int] = {}

    def named(blob: Blob | None) -> object:
        if blob is None:
            return None
        claim = names.setdefault(blob.token, len(names))
        agent = agents.setdefault(blob.token // PER_PROCESS, len(agents))
        expired = bool(state.expired >> blob.id & 1)
        ends = state.log >> bit_of(blob.token, 0) & 0b11111
        return claim, agent, blob.task, blob.closed, expired, ends, len(blob.replaced)

    return tuple(named(blob) for blob in state.refs)


CASES = {
    "all rules": Rules(),
    "no listed": Rules(listed=False),
    "no reread": Rules(reread=False),
    "no ended": Rules(ended=False),
    "no whole": Rules(whole=False),
    "no done order": Rules(done_order=False),
    "no replaced": Rules(replaced=False),
    "no own only": Rules(own_only=False),
    "no confirm": Rules(confirm=False),
    "no crossed": Rules(crossed=False),
}
BUDGETS = {
    "torn": Budget(2, 1, 0, 1),
    "unanswered": Budget(2, 0, 1, 1),
    "three commands": Budget(3, 1, 0, 0),
    "all": Budget(2, 1, 1, 1),
}


@pytest.mark.parametrize("budget", list(BUDGETS))
@pytest.mark.parametrize("case", list(CASES))
def test_the_plain_world_comes_to_the_same(case: str, budget: str, request: pytest.FixtureRequest) -> None:
    if budget == "all" and not request.config.getoption("--full", default=False):
        pytest.skip("only with --full")
    verbs = ("claim", "renew", "release", "done") if budget == "three commands" else World().verbs
    world = World(rules=CASES[case], needed=((L,), (L,)), budget=BUDGETS[budget], verbs=verbs)
    broken, left = explore(world, successors)
    plainly_broken, plainly_left = explore(world, plain)
    assert broken == plainly_broken
    assert left == plainly_left
