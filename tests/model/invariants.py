"""The invariants of `README.md`, each stated once as a check of a state or of a step that told an agent something.

A claim is *of record* while its claim ref carries its token, is not closed, its lease has not run out and, by rule 2,
the log shows no end of it: what `check`, `status` and the gate go by. An agent *believes* that it holds a claim from
the moment it was told so until the lease it was told of runs out, it is told of the loss, or it asks for the end
(`release`, `renew --minutes 0`), whether or not that is answered.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.model.protocol import (
    DONE,
    ENDED,
    HOLDS,
    KEYS,
    PER_PROCESS,
    PER_TASK,
    RELEASED,
    TASKS,
    Blob,
    Command,
    ended,
    has,
    whole,
)
from tests.model.state import State
from tests.model.words import bit_name, token_name
from tests.model.world import NEWCOMER, Step, World
from tests.model.writes import run_alone

I1_BELIEF = "1 one winner: two agents believe"
I1_ONE = "1 one winner: one agent believes in two claims"
I1_RECORD = "1 one winner: two claims of record"
I2_SUCCESS = "2 no false success: told, but never whole"
I2_STANDS = "2 no false success: believed, but the whole set does not stand"
I2_RELEASE = "2 no false success: told released, but it is of record or not in the log"
I4_WEDGE = "4 a lease never wedges"
I5_STALE = "5 a stale holder cannot act"
I6_LOST = "6 nothing is lost"

#: Two agents hold one lock or task.
TWO_HOLDERS = (I1_BELIEF, I1_RECORD)
#: Those a search looks for unless told otherwise.
ALL = (I1_BELIEF, I1_ONE, I1_RECORD, I2_SUCCESS, I2_STANDS, I2_RELEASE, I4_WEDGE, I5_STALE, I6_LOST)


def violations(world: World, step: Step, state: State, wedges: dict[object, str | None]) -> Iterator[tuple[str, str]]:
    """Each invariant that `state`, reached by `step`, breaks, with the particulars. `wedges` remembers answers."""
    yield from _beliefs(world, state)
    yield from _records(world, state)
    if step.told is not None:
        yield from _tellings(world, step, state)
    yield from _lost(state)
    key = (state.refs, state.log)
    if key not in wedges:
        wedges[key] = _wedged(world, state)
    wedged = wedges[key]
    if wedged is not None:
        yield I4_WEDGE, wedged


def _beliefs(world: World, state: State) -> Iterator[tuple[str, str]]:
    """No two beliefs about one task or about tasks that share a key; and behind each the whole set stands."""
    beliefs = [blob for process in state.processes for blob in process.beliefs if blob is not None]
    for index, blob in enumerate(beliefs):
        for other in beliefs[:index]:
            if _share(blob, other):
                alone = blob.token // PER_PROCESS == other.token // PER_PROCESS
                yield (
                    I1_ONE if alone else I1_BELIEF,
                    f"{token_name(blob.token)} and {token_name(other.token)}",
                )
        there = state.refs[blob.task]
        stands = there is not None and there.token == blob.token and _of_record(world, state, there)
        if not stands or not whole(state.refs, blob):
            yield I2_STANDS, token_name(blob.token)


def _records(world: World, state: State) -> Iterator[tuple[str, str]]:
    """No two claims of record, both told to their agents, share a key."""
    first, second = (state.refs[task] for task in TASKS)
    if first is None or second is None or not _share(first, second):
        return
    told = state.told >> first.token & state.told >> second.token & 1
    if told and _of_record(world, state, first) and _of_record(world, state, second):
        yield I1_RECORD, f"{token_name(first.token)} and {token_name(second.token)}"


def _share(one: Blob, other: Blob) -> bool:
    if one.token == other.token:
        return False
    return one.task == other.task or any(key in other.keys for key in one.keys)


def _of_record(world: World, state: State, blob: Blob) -> bool:
    expired = bool(state.expired >> blob.id & 1)
    return not blob.closed and not expired and not ended(world.rules, state.log, blob.token)


def _tellings(world: World, step: Step, state: State) -> Iterator[tuple[str, str]]:
    """A success is true when it is told, and a claim that has left its claim ref never succeeds again."""
    told, blob = step.told, step.told.blob if step.told is not None else None
    if told is None or blob is None:
        return
    if told.kind == HOLDS:
        if not state.complete >> blob.token & 1:
            yield I2_SUCCESS, token_name(blob.token)
        # `renew --minutes 0` is told of a lease that is over: that is no act of a holder.
        if state.gone >> blob.token & 1 and not state.expired >> blob.id & 1:
            yield I5_STALE, f"{token_name(blob.token)} was told {told.code}"
    if told.kind == ENDED:
        yield from _released(world, step, state, blob)


def _released(world: World, step: Step, state: State, blob: Blob) -> Iterator[tuple[str, str]]:
    """It is in the log and of record no more. Told from the log alone, it is about the agent's newest claim."""
    there = state.refs[blob.task]
    if not any(has(state.log, blob.token, outcome) for outcome in (RELEASED, DONE)):
        yield I2_RELEASE, f"{token_name(blob.token)} is not in the log"
    if there is not None and there.token == blob.token and _of_record(world, state, there):
        yield I2_RELEASE, f"{token_name(blob.token)} is of record"
    on_claim_ref = there is not None and there.token == blob.token
    if on_claim_ref or (step.message is not None and any(edit.ref in TASKS for edit in step.message.edits)):
        return
    last = blob.token - blob.token % PER_TASK + PER_TASK
    for newer in range(blob.token + 1, last):
        if state.told >> newer & 1 and not any(has(state.log, newer, outcome) for outcome in (RELEASED, DONE)):
            yield I5_STALE, f"{token_name(newer)} was lost, and its agent is told released"


def _lost(state: State) -> Iterator[tuple[str, str]]:
    """Each claim that was whole once is on its claim ref, or in the log, or is owed by the blob that replaced it."""
    owed = 0
    present = 0
    for task in TASKS:
        blob = state.refs[task]
        if blob is not None:
            present |= 1 << blob.token
            for bit in blob.replaced:
                owed |= 1 << bit
    lost = state.complete & ~present
    token = 0
    while lost:
        if lost & 1 and not (state.log | owed) >> token * 5 & 0b11111:
            yield I6_LOST, f"how {token_name(token)} ended is not on record"
        lost >>= 1
        token += 1


def _wedged(world: World, state: State) -> str | None:
    """Why some task cannot be claimed by a newcomer (with `reap`, and `reopen` for what was finished); None if it can.

    All leases have run out and nothing is under way.
    """
    quiet = state._replace(late=(), expired=(1 << NEWCOMER * PER_PROCESS) - 1, processes=())
    for target in (*TASKS, *KEYS):
        _, quiet = run_alone(world, quiet, Command("reap", target))
    for task in TASKS:
        left = quiet.refs[task]
        if left is not None and left.closed:
            _, quiet = run_alone(world, quiet, Command("reopen", task))
    dirty = [ref for ref in quiet.refs if ref is not None]
    if dirty:
        return f"reap leaves {len(dirty)} refs"
    for task in TASKS:
        told, _ = run_alone(world, quiet, Command("claim", task))
        if told.kind != HOLDS:
            return f"a claim is told {told.code}"
    claims = [state.refs[task] for task in TASKS]
    missing = [bit_name(bit) for blob in claims if blob for bit in blob.replaced if not quiet.log >> bit & 1]
    return f"reap does not write {missing[0]}" if missing else None
