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
from functools import cache, lru_cache
from itertools import product
from typing import Final, NamedTuple

from tests.model.protocol import (
    ENDED,
    HOLDS,
    KEYS,
    LOG,
    PER_PROCESS,
    PER_TASK,
    REFUSED,
    T1,
    T2,
    TASKS,
    Blob,
    Command,
    Context,
    L,
    Message,
    Refs,
    Reread,
    Rules,
    S,
    Tell,
    View,
    bit_of,
    decide,
    hopeless,
)
from tests.model.state import Budget, Process, State, apply, expected, idle, put, torn

#: Three agents at most, and the newcomer of `run_alone`.
PROCESSES: Final = 4
NEWCOMER: Final = 3
ENDING: Final = ("release", "done", "lapse")


Needed = tuple[tuple[int, ...], tuple[int, ...]]


class World(NamedTuple):
    """What a search is about: the rules, the keys that each task needs, how a fetch reads, and the bounds."""

    rules: Rules = Rules()
    #: The keys of T1 and of T2.
    needed: Needed = ((S, L), (L,))
    #: The keys that base may list instead, from one command to the next; None where it does not move.
    changed: Needed | None = None
    #: What a fetch reads, moment by moment. By name, the log comes first, then slots, claims and locks.
    fetch: tuple[tuple[int, ...], ...] = ((LOG, S, T1, T2), (L,))
    verbs: tuple[str, ...] = ("claim", "renew", "release", "done", "steal", "reap", "reopen")
    #: The tasks that commands are about.
    tasks: tuple[int, ...] = TASKS
    budget: Budget = Budget(3, 1, 1, 1)
    #: Commands that one agent may start.
    each: int = 3
    agents: int = 2
    #: Pushes that one command may send.
    sends: int = 3
    #: Whether commands pause at most between their fetch and their push, as real ones can be made to. Refusals, which
    #: a search has no use for, are steps then.
    coarse: bool = False


class Pause(NamedTuple):
    """A process that has read before a write and goes on after it."""

    number: int
    command: Command
    process: Process
    #: Which refs, and whether the log, were read last.
    parts: tuple[int, ...]

    @property
    def message(self) -> Message | None:
        """What it is about to send, if it has come that far."""
        return self.process.attempt if self.process.waiting else None


class Step(NamedTuple):
    """A write. `process` is -1 where none does it (a late push, a lease)."""

    kind: str
    process: int
    command: Command | None = None
    message: Message | None = None
    #: The edits that landed, where not all did.
    mask: int = -1
    #: Whether an answer arrived.
    answered: bool = True
    #: Whether the command was killed.
    killed: bool = False
    told: Tell | None = None
    blob: Blob | None = None
    #: Why a yes is read back.
    doubt: str | None = None
    #: Those who have read before this step and go on after it.
    paused: tuple[Pause, ...] = ()


def start(world: World) -> State:
    """Nothing claimed, nothing known."""
    agents = tuple(Process(left=world.each) for _ in range(world.agents))
    return State((None, None, None, None), 0, 0, agents, (), 0, 0, 0, world.budget)


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
            yield from _applications(world, state, number)
        else:
            for decided, decision in options(world, state, number).decisions:
                yield from _unpaused(world, state, number, decided, decision)
    if amid is None:
        yield from _late(state)
        yield from _expiries(state)


def _amid(world: World, state: State) -> int | None:
    """In a coarse world, the process whose command has to go on before anything else happens."""
    if world.coarse:
        for number, process in enumerate(state.processes):
            if process.command is not None and not process.waiting:
                return number
    return None


# Reads


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
    for ready in _ready(world, process):
        assert ready.command is not None
        for reading, decision in _reading(world, number, ready, refs, log, expired):
            parts = _parts(world, ready.command, reading.phase - 1)
            if decision is None:
                if not world.coarse:
                    pauses.append(Pause(number, ready.command, reading, parts))
            elif isinstance(decision, Tell):
                if world.coarse or decision.kind in (HOLDS, ENDED):
                    decisions.append((reading, decision))
            elif reading.sends < world.sends:
                sent = _sent(reading, decision)
                decisions.append((sent, decision))
                pauses.append(Pause(number, ready.command, sent, parts))
    return Options(tuple(decisions), tuple(pauses))


def _ready(world: World, process: Process) -> Iterator[Process]:
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


def _reading(
    world: World, number: int, process: Process, refs: Refs, log: int, expired: int
) -> Iterator[tuple[Process, Tell | Message | None]]:
    """Read on to the decision; None stands for each moment at which it could pause on the way."""
    command = process.command
    assert command is not None
    phases = len(world.fetch)
    while True:
        process = _read(world, command, process, refs, log)
        if process.phase >= phases:
            decision = decide(_context(world, number, process, expired))
            if not isinstance(decision, Reread):
                yield process, decision
                return
        elif process.sends == 0 and _refused_early(world, number, process, expired):
            return
        yield process, None


def _refused_early(world: World, number: int, process: Process, expired: int) -> bool:
    """Whether what has been read already refuses the command, once its own claim ref is among it."""
    assert process.command is not None
    if process.command.target not in _parts(world, process.command, process.phase - 1):
        return False
    return hopeless(_context(world, number, process, expired))


def _read(world: World, command: Command, process: Process, refs: Refs, log: int) -> Process:
    """The next moment of the fetch; after the last one, the claim refs once more."""
    old = process.view or View(0, (None, None, None, None))
    parts = _parts(world, command, process.phase)
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
    return process._replace(phase=process.phase + 1, view=view)


def _parts(world: World, command: Command, phase: int) -> tuple[int, ...]:
    return _relevant(world, command)[phase]


@cache
def _relevant(world: World, command: Command) -> tuple[tuple[int, ...], ...]:
    """What a command looks at of each moment of the fetch, and of one more reading of the claim refs."""
    if command.verb in ("claim", "steal") or command.target in KEYS:
        wanted = {LOG, *TASKS, *KEYS}
    else:
        index = command.target - T1
        wanted = {LOG, command.target, *world.needed[index], *(world.changed or world.needed)[index]}
    return tuple(tuple(part for part in moment if part in wanted) for moment in (*world.fetch, TASKS))


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
        process.phase > len(world.fetch),
        process.attempt,
    )


_MINE: Final = tuple((lambda token, number=n: token // PER_PROCESS == number) for n in range(PROCESSES))


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
        process = process._replace(beliefs=_live(process.beliefs, after.expired), left=old.left - began)
        after = put(after, pause.number, process)
        if process.waiting and pause.command.verb == "lapse":
            after = _lapsed(after, process)
    return after


# Writes


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
            begun = _lapsed(begun, process)
        yield from _applications(world, begun, number)
        return
    told, after = _told(state, number, process, decision)
    if world.coarse or process.sends or after.processes[number].beliefs != process.beliefs:
        yield Step("reads back", number, command, told=told), after


def _sent(process: Process, message: Message) -> Process:
    """Sent; the belief in what is given up goes with it, and a new blob's id is used up."""
    command = process.command
    assert command is not None
    made, beliefs = process.made, process.beliefs
    if command.target in TASKS:
        if not message.resent and any(edit.new is not None for edit in message.edits):
            made = (made[0] + 1, made[1]) if command.target == T1 else (made[0], made[1] + 1)
        if command.verb in ENDING:
            beliefs = _believing(beliefs, command.target, None)
    sends = process.sends + 1
    return process._replace(
        phase=0, view=None, sends=sends, attempt=message, waiting=True, made=made, beliefs=beliefs
    )


def _lapsed(state: State, sent: Process) -> State:
    """`renew --minutes 0`: the lease of the new blob has run out when it is written."""
    blob = sent.attempt.success.blob if sent.attempt is not None else None
    if blob is None or sent.attempt is None or sent.attempt.success.kind != HOLDS:
        return state
    return state._replace(expired=state.expired | 1 << blob.id)


def _applications(world: World, state: State, number: int) -> Iterator[tuple[Step, State]]:
    """What can become of the transaction that a process waits for."""
    process = state.processes[number]
    message, command = process.attempt, process.command
    assert message is not None and command is not None
    step = Step("lands", number, command, message)
    if not expected(state.refs, message):
        if world.coarse:
            yield (
                step._replace(kind="refused"),
                put(state, number, process._replace(waiting=False, attempt=None)),
            )
        return
    landed = apply(state, message.edits)
    doubt = _doubt(world.rules, state, process, message)
    if doubt is not None:
        yield step._replace(doubt=doubt), _unknown(landed, number, False)
    else:
        told, after = _told(landed, number, process, message.success)
        yield step._replace(told=told), after
    budget = state.budget
    if budget.torn:
        less = budget._replace(torn=budget.torn - 1)
        for mask in torn(message.edits):
            part = apply(state, message.edits, mask)._replace(budget=less)
            yield from _unanswered(step._replace(kind="torn", mask=mask), part, number)
    if budget.unanswered:
        less = budget._replace(unanswered=budget.unanswered - 1)
        yield from _unanswered(step, landed._replace(budget=less), number)
        floating = tuple(sorted((*state.late, message), key=_order))
        yield from _unanswered(
            step._replace(kind="floats"), state._replace(late=floating, budget=less), number
        )


def _doubt(rules: Rules, state: State, process: Process, message: Message) -> str | None:
    """Rule 3: why an answer that says yes is not a success told outright. None where it is one."""
    if message.resent and rules.whole:
        return "it was sent again"
    if message.success.code != "renewed" or not rules.crossed:
        return None
    if process.unanswered >> message.token & 1:
        return "an earlier command has no answer"
    moved = next(edit.old for edit in message.edits if edit.ref in TASKS)
    assert moved is not None
    return "the lease had run out" if state.expired >> moved.id & 1 else None


def _unanswered(step: Step, state: State, number: int) -> Iterator[tuple[Step, State]]:
    """The command does not know what became of its transaction: it finds out, or it is dead."""
    yield step._replace(answered=False), _unknown(state, number, False)
    yield step._replace(answered=False, killed=True), _unknown(state, number, True)


def _order(message: Message) -> tuple[int, str]:
    return message.token, repr(message.edits)


def _unknown(state: State, number: int, killed: bool) -> State:
    process = state.processes[number]
    message = process.attempt
    assert message is not None and process.command is not None
    if process.command.verb in ENDING or message.success.code == "renewed":
        process = process._replace(unanswered=process.unanswered | 1 << message.token)
    return put(state, number, idle(process) if killed else process._replace(waiting=False))


def _told(state: State, number: int, process: Process, tell: Tell) -> tuple[Tell, State]:
    """The command ends and its agent knows how. Nobody is told that it holds what has run out meanwhile."""
    command, blob = process.command, tell.blob
    assert command is not None
    if tell.kind == HOLDS and command.verb != "lapse" and blob is not None and state.expired >> blob.id & 1:
        tell = Tell("claim-expired", REFUSED)
    beliefs, unanswered, told = process.beliefs, process.unanswered, state.told
    if tell.kind == HOLDS:
        assert blob is not None
        told |= 1 << blob.token
        beliefs = _believing(beliefs, command.target, None if command.verb == "lapse" else blob)
        if tell.code != "already":
            unanswered &= ~(1 << blob.token)
    elif tell.kind == ENDED or (tell.code in ("claim-lost", "lock-held") and command.verb == "renew"):
        beliefs = _believing(beliefs, command.target, None)
    process = idle(process)._replace(beliefs=beliefs, unanswered=unanswered)
    return tell, put(state, number, process)._replace(told=told)


def _believing(
    beliefs: tuple[Blob | None, Blob | None], task: int, blob: Blob | None
) -> tuple[Blob | None, Blob | None]:
    return (blob, beliefs[1]) if task == T1 else (beliefs[0], blob)


def _live(beliefs: tuple[Blob | None, Blob | None], expired: int) -> tuple[Blob | None, Blob | None]:
    one, two = beliefs
    return (
        None if one is None or expired >> one.id & 1 else one,
        None if two is None or expired >> two.id & 1 else two,
    )


def _late(state: State) -> Iterator[tuple[Step, State]]:
    """A push that seemed lost lands. Refused, it changes nothing, so that is no step."""
    for index, message in enumerate(state.late):
        if not expected(state.refs, message):
            continue
        rest = state._replace(late=state.late[:index] + state.late[index + 1 :])
        step = Step("lands late", -1, message=message)
        yield step, apply(rest, message.edits)
        if state.budget.torn:
            rest = rest._replace(budget=state.budget._replace(torn=state.budget.torn - 1))
            for mask in torn(message.edits):
                yield step._replace(mask=mask), apply(rest, message.edits, mask)


def _expiries(state: State) -> Iterator[tuple[Step, State]]:
    """A lease runs out, and with it the earlier ones of the same claim: no renewal but `--minutes 0` shortens one."""
    if not state.budget.expiries:
        return
    known = [blob for blob in state.refs if blob is not None]
    known += [edit.new for message in state.late for edit in message.edits if edit.new is not None]
    beliefs = [blob for process in state.processes for blob in process.beliefs if blob is not None]
    budget = state.budget._replace(expiries=state.budget.expiries - 1)
    seen = state.expired
    for blob in known:
        if blob.closed or seen >> blob.id & 1:
            continue
        seen |= 1 << blob.id
        expired = state.expired
        for other in (*known, *beliefs):
            if other.token == blob.token and other.id <= blob.id:
                expired |= 1 << other.id
        processes = tuple(p._replace(beliefs=_live(p.beliefs, expired)) for p in state.processes)
        after = state._replace(expired=expired, processes=processes, budget=budget)
        yield Step("expires", -1, blob=blob), after


# A command without interference, for *no wedge*


def run_alone(world: World, state: State, command: Command) -> tuple[Tell, State]:
    """Run one command of a newcomer from its fetch to its end; everything lands and is answered."""
    undisturbed = world._replace(fetch=((LOG, S, T1, T2, L),))
    reading = _reading(undisturbed, NEWCOMER, Process(command=command), state.refs, state.log, state.expired)
    *_, (_, decision) = reading
    if isinstance(decision, Message):
        assert expected(state.refs, decision)
        return decision.success, apply(state, decision.edits)
    assert decision is not None
    return decision, state
