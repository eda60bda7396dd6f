"""The state of a world, one hashable value, and what a transaction, whole or torn, makes of it."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from tests.model.protocol import LOG, T1, TASKS, Blob, Command, Edit, Message, Refs, Reread, View, whole

Beliefs = tuple[Blob | None, Blob | None]


class Budget(NamedTuple):
    """How much of each may still happen."""

    commands: int
    #: Transactions of which a part lands.
    torn: int
    #: Transactions that land whole, or may land later, and are not answered.
    unanswered: int
    expiries: int


class Process(NamedTuple):
    """One agent at its command line. Tokens are written before the push and outlive every crash."""

    command: Command | None = None
    #: How many moments of the fetch are over.
    phase: int = 0
    view: View | None = None
    #: What has been read once more since, and what is to be next.
    reread: tuple[Reread, ...] = ()
    rereads: Reread | None = None
    #: How often this command has sent.
    sends: int = 0
    attempt: Message | None = None
    #: Whether `attempt` has yet to be applied.
    waiting: bool = False
    #: How many commands it may still start.
    left: int = 0
    #: How many blobs it made, for each task.
    made: tuple[int, int] = (0, 0)
    #: What it believes to hold, for each task: the blob whose lease it was told.
    beliefs: Beliefs = (None, None)
    #: Bits of its tokens of which a push was once not answered.
    unanswered: int = 0


class State(NamedTuple):
    """The arbiter, the agents, what is under way, and what has been (`told`, `gone`, `complete` are bits of tokens)."""

    refs: Refs
    log: int
    #: Bits of the blob ids whose lease has run out.
    expired: int
    processes: tuple[Process, ...]
    #: Pushes that seemed lost and may still land.
    late: tuple[Message, ...]
    #: Claims of which an agent was told that it holds them.
    told: int
    #: Claims that were on their claim ref and have left it.
    gone: int
    #: Claims whose whole set was there at some moment.
    complete: int
    budget: Budget


def put(state: State, number: int, process: Process) -> State:
    """`state` with one process changed."""
    processes = state.processes
    return state._replace(processes=(*processes[:number], process, *processes[number + 1 :]))


def idle(process: Process) -> Process:
    """The process without its command."""
    return process._replace(
        command=None, phase=0, view=None, reread=(), rereads=None, sends=0, attempt=None, waiting=False
    )


def believe(beliefs: Beliefs, task: int, blob: Blob | None) -> Beliefs:
    """The beliefs with that about one task changed."""
    return (blob, beliefs[1]) if task == T1 else (beliefs[0], blob)


def unexpired(beliefs: Beliefs, expired: int) -> Beliefs:
    """The beliefs whose lease has not run out."""
    one, two = beliefs
    return (
        None if one is None or expired >> one.id & 1 else one,
        None if two is None or expired >> two.id & 1 else two,
    )


def expected(refs: Refs, message: Message) -> bool:
    """Whether every ref is what the transaction expects of it."""
    return all(refs[edit.ref] == edit.old for edit in message.edits if edit.ref != LOG)


def apply(state: State, edits: tuple[Edit, ...], mask: int = -1) -> State:
    """Make those edits whose bit is in `mask`, all by default, and keep the history."""
    refs = list(state.refs)
    log = state.log
    for index, edit in enumerate(edits):
        if not mask >> index & 1:
            continue
        if edit.ref == LOG:
            log |= 1 << edit.bit
        else:
            refs[edit.ref] = edit.new
    after: Refs = (refs[0], refs[1], refs[2], refs[3])
    gone, complete = state.gone, state.complete
    for task in TASKS:
        old, new = state.refs[task], after[task]
        if old is not None and not old.closed and (new is None or new.closed or new.token != old.token):
            gone |= 1 << old.token
        if new is not None and not new.closed and whole(after, new):
            complete |= 1 << new.token
    return state._replace(refs=after, log=log, gone=gone, complete=complete)


def torn(edits: tuple[Edit, ...]) -> tuple[int, ...]:
    """The parts (masks of edits, neither none nor all) that a killed arbiter can leave.

    Prefixes of the listed order; and what git's files backend leaves, locally and behind a push. It writes everything
    but deletes first: in listed order for `update-ref`, and for a push existing refs by name and then creations as
    listed. Deletes come last, packed refs among them first, so that any of them may be left.
    """
    return _torn(tuple((edit.ref, edit.old is None, edit.new is None and edit.ref != LOG) for edit in edits))


@cache
def _torn(shape: tuple[tuple[int, bool, bool], ...]) -> tuple[int, ...]:
    """`shape` tells of each edit its ref, whether it creates and whether it deletes."""
    numbers = range(len(shape))
    writes = [i for i in numbers if not shape[i][2]]
    deletes = [i for i in numbers if shape[i][2]]
    pushed = sorted((i for i in writes if not shape[i][1]), key=lambda i: shape[i][0])
    pushed += [i for i in writes if shape[i][1]]
    masks = {(1 << i) - 1 for i in numbers}
    for order in (writes, pushed):
        mask = 0
        for i in order:
            mask |= 1 << i
            masks.add(mask)
    written = sum(1 << i for i in writes)
    for chosen in range(1 << len(deletes)):
        masks.add(written | sum(1 << i for n, i in enumerate(deletes) if chosen >> n & 1))
    return tuple(sorted(masks - {0, (1 << len(shape)) - 1}))
