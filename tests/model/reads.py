"""What a command reads, moment by moment, and what it comes to: a decision, or a pause on the way to one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Final, NamedTuple

from tests.model.protocol import (
    ENDED,
    HOLDS,
    KEYS,
    LOG,
    PER_PROCESS,
    PER_TASK,
    T1,
    T2,
    TASKS,
    Command,
    Context,
    L,
    Message,
    Refs,
    Reread,
    S,
    Tell,
    View,
    bit_of,
    decide,
    hopeless,
)
from tests.model.state import Process, State, believe
from tests.model.world import ENDING, PROCESSES, Pause, World


class Options(NamedTuple):
    """What a process can do: what it comes to when it reads on at once, and where it can pause on the way there."""

    decisions: tuple[tuple[Process, Tell | Message], ...]
    pauses: tuple[Pause, ...]


def options(world: World, state: State, number: int) -> Options:
    process = state.processes[number]
    idle_left = min(process.left, state.budget.commands, 1)
    return _options_of(world, number, process._replace(left=idle_left), state.refs, state.log, state.expired)


@lru_cache(maxsize=1 << 16)
def _options_of(world: World, number: int, process: Process, refs: Refs, log: int, expired: int) -> Options:
    decisions: list[tuple[Process, Tell | Message]] = []
    pauses = []
    for ready in beginnings(world, process):
        assert ready.command is not None
        for reading, decision, parts in read_on(world, number, ready, refs, log, expired):
            if decision is None:
                if not world.coarse:
                    pauses.append(Pause(number, ready.command, reading, parts))
            elif isinstance(decision, Tell):
                if world.coarse or decision.kind in (HOLDS, ENDED):
                    decisions.append((reading, decision))
            elif reading.sends < world.sends:
                sent = send(reading, decision)
                decisions.append((sent, decision))
                pauses.append(Pause(number, ready.command, sent, parts))
    return Options(tuple(decisions), tuple(pauses))


def beginnings(world: World, process: Process) -> Iterator[Process]:
    """The process amid its command; or, where it has none, with each that it may start."""
    if process.command is not None:
        yield process
    elif process.left:
        for command in _menu(world, (process.made[0] > 0, process.made[1] > 0)):
            yield process._replace(command=command, left=process.left - 1)


@cache
def _menu(world: World, owns: tuple[bool, bool]) -> tuple[Command, ...]:
    found = []
    for verb in world.verbs:
        for task in world.tasks:
            if owns[task - T1] or verb not in ("renew", *ENDING):
                found.append(Command(verb, task))
                if world.changed is not None and verb in ("claim", "steal"):
                    found.append(Command(verb, task, changed=True))
        if verb == "reap":
            found += [Command(verb, key) for key in KEYS if key in (*world.needed[0], *world.needed[1])]
    return tuple(found)


def read_on(
    world: World, number: int, process: Process, refs: Refs, log: int, expired: int
) -> Iterator[tuple[Process, Tell | Message | None, tuple[int, ...]]]:
    """Read on to the decision; None stands for each moment at which it could pause on the way.

    With each comes what was read last.
    """
    command = process.command
    assert command is not None
    while True:
        parts = _next_parts(world, command, process)
        process = _read(command, process, parts, refs, log)
        if process.phase == len(world.fetch):
            decision = decide(_context(world, number, process, expired))
            if not isinstance(decision, Reread):
                yield process, decision, parts
                return
            process = process._replace(rereads=decision)
        elif process.sends == 0 and command.target in parts and hopeless(_context(world, number, process, expired)):
            return
        yield process, None, parts


def _read(command: Command, process: Process, parts: tuple[int, ...], refs: Refs, log: int) -> Process:
    """The next moment of the fetch, or what is to be read once more."""
    old = process.view or View(0, (None, None, None, None))
    seen = old.refs
    view = View(
        log & log_mask(command) if LOG in parts else old.log,
        (
            refs[S] if S in parts else seen[S],
            refs[T1] if T1 in parts else seen[T1],
            refs[T2] if T2 in parts else seen[T2],
            refs[L] if L in parts else seen[L],
        ),
    )
    if process.rereads is None:
        return process._replace(phase=process.phase + 1, view=view)
    return process._replace(view=view, reread=(*process.reread, process.rereads), rereads=None)


def _next_parts(world: World, command: Command, process: Process) -> tuple[int, ...]:
    if process.rereads is not None:
        return process.rereads.parts
    return _relevant(world, command)[process.phase]


@cache
def _relevant(world: World, command: Command) -> tuple[tuple[int, ...], ...]:
    """What a command looks at of each moment of the fetch."""
    if command.verb in ("claim", "steal") or command.target in KEYS:
        wanted = {LOG, *TASKS, *KEYS}
    else:
        index = command.target - T1
        wanted = {LOG, command.target, *world.needed[index], *(world.changed or world.needed)[index]}
    return tuple(tuple(part for part in moment if part in wanted) for moment in world.fetch)


@cache
def log_mask(command: Command) -> int:
    """The bits of the log that a command reads: its task's; where it is about a key, all."""
    tasks = TASKS if command.target in KEYS else (command.target,)
    mask = 0
    for number in range(PROCESSES):
        for task in tasks:
            first = number * PER_PROCESS + (task - T1) * PER_TASK
            for token in range(first, first + PER_TASK):
                mask |= 0b11111 << bit_of(token, 0)
    return mask


def _context(world: World, number: int, process: Process, expired: int) -> Context:
    """What the process decides from."""
    command, view = process.command, process.view
    assert command is not None and view is not None
    index = command.target - T1 if command.target in TASKS else 0
    return Context(
        world.rules,
        command,
        (world.changed or world.needed)[index] if command.changed else world.needed[index],
        _MINE[number],
        number * PER_PROCESS + index * PER_TASK + process.made[index],
        view,
        expired,
        process.unanswered,
        process.reread,
        process.attempt,
    )


_MINE: Final = tuple((lambda token, number=n: token // PER_PROCESS == number) for n in range(PROCESSES))


def send(process: Process, message: Message) -> Process:
    """Sent; the belief in what is given up goes with it, and a new blob's id is used up."""
    command = process.command
    assert command is not None
    made, beliefs = process.made, process.beliefs
    if command.target in TASKS:
        if not message.resent and any(edit.new is not None for edit in message.edits):
            made = (made[0] + 1, made[1]) if command.target == T1 else (made[0], made[1] + 1)
        if command.verb in ENDING:
            beliefs = believe(beliefs, command.target, None)
    sends = process.sends + 1
    return process._replace(
        phase=0,
        view=None,
        reread=(),
        rereads=None,
        sends=sends,
        attempt=message,
        waiting=True,
        made=made,
        beliefs=beliefs,
    )


def lapse(state: State, sent: Process) -> State:
    """`renew --minutes 0`: the lease of the new blob has run out when it is written."""
    blob = sent.attempt.success.blob if sent.attempt is not None else None
    if blob is None or sent.attempt is None or sent.attempt.success.kind != HOLDS:
        return state
    return state._replace(expired=state.expired | 1 << blob.id)
