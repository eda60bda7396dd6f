"""Everything around the protocol that can happen: reads at different moments, transactions that land whole, torn, late
or without an answer, killed commands, and leases that run out.

`successors` lists what can come next. Each step is one *write*: refs change, a lease runs out, or an agent is told
something that it will act upon. The reads of whoever writes happen just before. Any other process may have read before
the write too, and go on after it: it has *paused*. A pause matters only where the write changes what was read last (or,
once it has decided, a lease); otherwise the read might as well come after the write, and the step is left out. That
loses no behaviour and nearly all of the states.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from tests.model.protocol import LOG, Message, Tell
from tests.model.reads import lapse, log_mask, options
from tests.model.state import Process, State, put, unexpired
from tests.model.world import Pause, Step, World
from tests.model.writes import applications, expiries, land_late, tell_agent


def successors(world: World, state: State) -> Iterator[tuple[Step, State]]:
    """Every step that can come next.

    Left out, but in a coarse world, is what another path does as well with no less to come: a refusal, which leaves
    an agent where it was before its command, and a push that can only be refused.
    """
    pauses = [
        () if process.waiting else options(world, state, number).pauses
        for number, process in enumerate(state.processes)
    ]
    for step, after in _writes(world, state):
        others = [
            [None, *(pause for pause in pauses[number] if _matters(world, pause, state, after))]
            for number in range(len(state.processes))
            if number != step.process
        ]
        for chosen in product(*others):
            paused = tuple(pause for pause in chosen if pause is not None)
            if not paused:
                yield step, after
                continue
            child = _with_pauses(after, paused)
            if child.budget.commands >= 0:
                yield step._replace(paused=paused), child


def _writes(world: World, state: State) -> Iterator[tuple[Step, State]]:
    amid = _amid(world, state)
    for number, process in enumerate(state.processes):
        if number and process.left == world.each == state.processes[number - 1].left:
            break  # the agents are alike, so they are named in the order in which they begin
        if amid not in (None, number):
            continue
        if process.waiting:
            yield from applications(world, state, number)
        else:
            for decided, decision in options(world, state, number).decisions:
                yield from _unpaused(world, state, number, decided, decision)
    if amid is None:
        yield from land_late(state)
        yield from expiries(state)


def _amid(world: World, state: State) -> int | None:
    """In a coarse world, the process whose command has to go on before anything else happens."""
    if world.coarse:
        for number, process in enumerate(state.processes):
            if process.command is not None and not process.waiting:
                return number
    return None


def _matters(world: World, pause: Pause, before: State, after: State) -> bool:
    """Whether the write changes what was read last, or a lease from which the process has decided."""
    if not _stale(pause, before, after):
        return False
    message = pause.message
    return message is None or world.coarse or not _doomed(message, after)


def _stale(pause: Pause, before: State, after: State) -> bool:
    if pause.process.waiting and before.expired != after.expired:
        return True
    for part in pause.parts:
        if part == LOG:
            if (before.log ^ after.log) & log_mask(pause.command):
                return True
        elif before.refs[part] is not after.refs[part] and before.refs[part] != after.refs[part]:
            return True
    return False


def _doomed(message: Message, state: State) -> bool:
    """Whether a ref has moved on from what the transaction expects and cannot come back to it."""
    for edit in message.edits:
        if edit.ref == LOG or edit.old is None or state.refs[edit.ref] == edit.old:
            continue
        again = [
            *state.late,
            *(process.attempt for process in state.processes if process.attempt is not None),
        ]
        if not any(other.new == edit.old for one in again for other in one.edits):
            return True
    return False


def _with_pauses(after: State, paused: tuple[Pause, ...]) -> State:
    for pause in paused:
        process, old = pause.process, after.processes[pause.number]
        began = old.command is None
        if began:
            after = after._replace(budget=after.budget._replace(commands=after.budget.commands - 1))
        # What `options` was told of `left` is no more than whether a command may be started.
        process = process._replace(beliefs=unexpired(process.beliefs, after.expired), left=old.left - began)
        after = put(after, pause.number, process)
        if process.waiting and pause.command.verb == "lapse":
            after = lapse(after, process)
    return after


def _unpaused(
    world: World, state: State, number: int, process: Process, decision: Tell | Message
) -> Iterator[tuple[Step, State]]:
    """Do what has been decided, without anything in between."""
    command, old = process.command, state.processes[number]
    assert command is not None
    began = old.command is None
    if began:
        state = state._replace(budget=state.budget._replace(commands=state.budget.commands - 1))
    process = process._replace(left=old.left - began)
    if isinstance(decision, Message):
        begun = put(state, number, process)
        if command.verb == "lapse":
            begun = lapse(begun, process)
        yield from applications(world, begun, number)
        return
    told, after = tell_agent(state, number, process, decision)
    if world.coarse or process.sends or after.processes[number].beliefs != process.beliefs:
        yield Step("reads back", number, command, told=told), after
