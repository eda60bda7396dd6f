"""What a search is about: a world, its bounds, and the steps of a path through it."""

from __future__ import annotations

from typing import Final, NamedTuple

from tests.model.protocol import LOG, T1, T2, TASKS, Blob, Command, L, Message, Rules, S, Tell
from tests.model.state import Budget, Process, State

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
    fetch: tuple[tuple[int, ...], ...] = ((LOG, S), (T1, T2), (L,))
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
