"""What changes the world: transactions that land whole, torn, late or unanswered, leases, and what agents are told."""

from __future__ import annotations

from collections.abc import Iterator

from tests.model.protocol import (
    ENDED,
    HOLDS,
    LOG,
    REFUSED,
    T1,
    T2,
    TASKS,
    Command,
    L,
    Message,
    Rules,
    S,
    Tell,
)
from tests.model.reads import read_on
from tests.model.state import Process, State, apply, believe, expected, idle, put, torn, unexpired
from tests.model.world import NEWCOMER, Step, World


def applications(world: World, state: State, number: int) -> Iterator[tuple[Step, State]]:
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
        answered = put(landed, number, process._replace(attempt=message._replace(answered=True)))
        yield step._replace(doubt=doubt), _unknown(answered, number, False)
    else:
        told, after = tell_agent(landed, number, process, message.success)
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
        yield from _unanswered(step._replace(kind="floats"), state._replace(late=floating, budget=less), number)


def _doubt(rules: Rules, state: State, process: Process, message: Message) -> str | None:
    """Rule 3: why an answer that says yes is not a success told outright. None where it is one."""
    if message.resent and rules.whole:
        return "it was sent again"
    if message.success.code != "renewed" or not rules.crossed:
        return None
    if process.unanswered >> message.token & 1:
        return "an earlier push had no answer"
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
    if message.token >= 0:
        process = process._replace(unanswered=process.unanswered | 1 << message.token)
    return put(state, number, idle(process) if killed else process._replace(waiting=False))


def tell_agent(state: State, number: int, process: Process, tell: Tell) -> tuple[Tell, State]:
    """The command ends and its agent knows how. Nobody is told that it holds what has run out meanwhile."""
    command, blob = process.command, tell.blob
    assert command is not None
    if tell.kind == HOLDS and command.verb != "lapse" and blob is not None and state.expired >> blob.id & 1:
        tell = Tell("claim-expired", REFUSED)
    beliefs, told = process.beliefs, state.told
    if tell.kind == HOLDS:
        assert blob is not None
        told |= 1 << blob.token
        beliefs = believe(beliefs, command.target, None if command.verb == "lapse" else blob)
    elif tell.kind == ENDED or (tell.code in ("claim-lost", "lock-held") and command.verb == "renew"):
        beliefs = believe(beliefs, command.target, None)
    process = idle(process)._replace(beliefs=beliefs)
    return tell, put(state, number, process)._replace(told=told)


def land_late(state: State) -> Iterator[tuple[Step, State]]:
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


def expiries(state: State) -> Iterator[tuple[Step, State]]:
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
        processes = tuple(p._replace(beliefs=unexpired(p.beliefs, expired)) for p in state.processes)
        after = state._replace(expired=expired, processes=processes, budget=budget)
        yield Step("expires", -1, blob=blob), after


def run_alone(world: World, state: State, command: Command) -> tuple[Tell, State]:
    """Run one command of a newcomer from its fetch to its end; everything lands and is answered."""
    undisturbed = world._replace(fetch=((LOG, S, T1, T2, L),))
    reading = read_on(undisturbed, NEWCOMER, Process(command=command), state.refs, state.log, state.expired)
    *_, (_, decision, _) = reading
    if isinstance(decision, Message):
        assert expected(state.refs, decision)
        return decision.success, apply(state, decision.edits)
    assert decision is not None
    return decision, state
