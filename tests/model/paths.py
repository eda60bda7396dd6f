"""A sample of paths to be replayed against real git: what each agent runs, what becomes of its pushes, what it is told.

A path is a list of events, one or more a step, in the order in which a replay makes them happen:

- `start`: an agent runs a command, which goes on until it is about to push (and is held there) or ends;
- `push`: what becomes of the push that the agent's command is held at: it `lands`, is `refused`, is `torn` (only
  `landed` of its edits are made, as with `git update-ref`) or `floats` (nothing is made yet). Then it is answered, or
  not (git dies by a signal or the connection breaks), or the whole command is killed. It goes on until it is held at
  its next push or ends;
- `late`: a push that floated lands, or `landed` of it does;
- `expire`: the leases that are due run out.

Every event has a minute. Where leases matter, the clock reads `minute` times 61 seconds after some start (a second more
than a minute, so that a renewal never has the expiry of what it renews), and `minutes` of a `start` is the lease to ask
for. A command has to read the clock anew after each answer. In a local path no push floats and none is late.

Claims are named `A1.0` (agent, task, number of the blob), their renewals `A1.0'1`. The replay knows a claim by the
token's hash and by the order in which an agent wrote its blobs. What is told is the code of an error, or `claimed`,
`already`, `renewed` (by `claim` too, where it confirms what it found by moving it), `released`, `reaped`, `nothing` (to
reap) and `reopened`. The model keeps every token; a product that deletes one with the claim says `claim-not-found` for
`claim-lost` then.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from tests.model.protocol import (
    KEYS,
    LOG,
    PER_TASK,
    REF_NAMES,
    T1,
    T2,
    TASKS,
    Blob,
    Command,
    Edit,
    L,
    Message,
    S,
)
from tests.model.reads import options
from tests.model.state import Budget, State
from tests.model.steps import successors
from tests.model.words import AGENTS, bit_name, token_name
from tests.model.world import Step, World, start

NEVER = 1440
#: What a path may show; a sample holds paths with each.
FEATURES = ("torn", "refused", "floats", "late", "expire", "killed", "unanswered", "held")

WORLD = World(
    fetch=((LOG, S, T1, T2, L),),
    budget=Budget(6, 2, 2, 2),
    verbs=("claim", "renew", "lapse", "release", "done", "steal", "reap", "reopen"),
    each=4,
    sends=4,
    coarse=True,
)


@dataclass(frozen=True, slots=True)
class RefEdit:
    """One ref (`T1`, `T2`, `L`, `S`, or `log`), the blob expected there and the one to be; "" is absent.

    Of a log entry `new` says how which claim ended: `A1.0 released`.
    """

    ref: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that a replay makes happen."""

    kind: str
    minute: int
    agent: str = ""
    #: Of `start`: the verb and the task, as in `("claim", "T1")`; `done` stands for `release --done`, `lapse` for
    #: `renew --minutes 0`.
    command: tuple[str, ...] = ()
    #: Of `start`: the lease to ask for; 0 where the command has none.
    minutes: int = 0
    #: Of `push` and `late`: the number of the agent's push, from 1, counting each that is sent.
    push: int = 0
    edits: tuple[RefEdit, ...] = ()
    #: Of `push`: lands, refused, torn or floats.
    outcome: str = ""
    #: Of `push` and `late`: the numbers of the edits that are made.
    landed: tuple[int, ...] = ()
    answered: bool = True
    killed: bool = False
    #: Of `start` and `push`: what the command ends with; "" where it goes on or was killed.
    told: str = ""


@dataclass(frozen=True, slots=True)
class Path:
    """Events, and what the arbiter has after them."""

    remote: bool
    events: tuple[Event, ...]
    #: Ref name (`T1`, `T2`, `L`, `S`) to blob name; a completion record ends in ` closed`.
    refs: dict[str, str]
    #: `A1.0 released`, each once however many entries say it.
    log: tuple[str, ...]

    def features(self) -> frozenset[str]:
        """Which of `FEATURES` occur."""
        found = {event.outcome for event in self.events} | {event.kind for event in self.events}
        found |= {"killed" for event in self.events if event.killed}
        found |= {"unanswered" for event in self.events if not event.answered and not event.killed}
        found |= {"held" for event in self.events if event.kind == "start" and not event.told and _held(self, event)}
        return frozenset(found & set(FEATURES))


def _held(path: Path, event: Event) -> bool:
    """Whether something else happens between the fetch and the push of the command that `event` starts."""
    after = path.events[path.events.index(event) + 1]
    return not (after.kind == "push" and after.agent == event.agent)


def sample(seed: int, count: int, remote: bool) -> list[Path]:
    """`count` paths, the same for the same seed; each feature that can occur is in several of them."""
    chance = random.Random(seed)
    wanted = [feature for feature in FEATURES if remote or feature not in ("floats", "late")]
    paths: list[Path] = []
    for number in range(count):
        feature = wanted[number % len(wanted)]
        path = _walk_with(chance, remote, feature)
        if path not in paths:
            paths.append(path)
    return paths


def dumps(paths: list[Path]) -> str:
    """JSON, one path a line."""
    return "".join(json.dumps(asdict(path), sort_keys=True) + "\n" for path in paths)


def loads(text: str) -> list[Path]:
    """Read what `dumps` wrote."""
    return [_path_of(json.loads(line)) for line in text.splitlines()]


def _path_of(value: dict[str, Any]) -> Path:
    events = tuple(_event_of(event) for event in value["events"])
    return Path(value["remote"], events, value["refs"], tuple(value["log"]))


def _event_of(value: dict[str, Any]) -> Event:
    edits = tuple(RefEdit(**edit) for edit in value["edits"])
    return Event(**{**value, "command": tuple(value["command"]), "landed": tuple(value["landed"]), "edits": edits})


# Walks


def _walk_with(chance: random.Random, remote: bool, feature: str) -> Path:
    for _ in range(400):
        path = _path(walk(chance, remote), remote)
        if path is not None and feature in path.features():
            return path
    raise AssertionError(f"no path shows {feature}")


def walk(chance: random.Random, remote: bool) -> list[tuple[Step, State]]:
    """A random path of the coarse world that ends with every command ended."""
    while True:
        steps = _walk(chance, remote)
        if steps is not None:
            return steps


def _walk(chance: random.Random, remote: bool) -> list[tuple[Step, State]] | None:
    """None where the walk leads nowhere."""
    state = start(WORLD)
    steps: list[tuple[Step, State]] = []
    length = chance.randint(5, 12)
    while len(steps) < length or any(process.command is not None for process in state.processes):
        found = [(step, after) for step, after in successors(WORLD, state) if _replayable(state, step, remote)]
        if not found or len(steps) > 25:
            return steps if steps and not any(process.command for process in state.processes) else None
        kinds = sorted({_kind(step) for step, _ in found})
        kind = chance.choices(kinds, [_WEIGHTS.get(kind, 2) for kind in kinds])[0]
        step, state = chance.choice([one for one in found if _kind(one[0]) == kind])
        steps.append((step, state))
    return steps


#: How readily a walk takes a kind of step, so that most claims come about and then something befalls them.
_WEIGHTS = {"lands": 8, "lands held": 3, "reads back refused": 1, "torn": 3, "lands late": 6, "refused": 6}


def _kind(step: Step) -> str:
    if step.paused and step.kind == "lands":
        return "lands held"
    refused = step.kind == "reads back" and step.told is not None and step.told.kind == 0
    return step.kind + (" refused" if refused else "")


def _replayable(state: State, step: Step, remote: bool) -> bool:
    """Whether real commands can be made to do it."""
    if not remote and (step.kind in ("floats", "lands late")):
        return False
    if any(pause.command.verb == "reap" for pause in step.paused):
        return False
    if step.command is None or step.command.verb != "reap":
        return True
    return _reap_is_one(state, step)


def _reap_is_one(state: State, step: Step) -> bool:
    """A real `reap` takes all it finds, in transactions of their own: here it finds one thing, or nothing."""
    assert step.command is not None
    if not step.answered and not step.killed:
        return False
    decisions = options(WORLD, state, step.process).decisions
    reaping = [p.command for p, decision in decisions if _reaps(p.command) and isinstance(decision, Message)]
    if not reaping:
        return step.command.target == T1
    return reaping == [step.command]


def _reaps(command: Command | None) -> bool:
    return command is not None and command.verb == "reap"


# Events


class _Unreplayable(Exception):
    """The leases that the path wants cannot be had from the commands' `--minutes`."""


def _path(steps: list[tuple[Step, State]], remote: bool) -> Path | None:
    """None where the path cannot be replayed."""
    try:
        events = _events(steps)
    except _Unreplayable:
        return None
    last = steps[-1][1]
    refs = {REF_NAMES[ref]: _blob(blob) for ref in (*TASKS, *KEYS) if (blob := last.refs[ref]) is not None}
    log = tuple(bit_name(bit) for bit in range(last.log.bit_length()) if last.log >> bit & 1)
    return Path(remote, tuple(events), refs, log)


def _events(steps: list[tuple[Step, State]]) -> list[Event]:
    events: list[Event] = []
    sent = [0] * len(AGENTS)
    floated: dict[Message, tuple[str, int]] = {}
    before = start(WORLD)
    for minute, (step, after) in enumerate(steps):
        events += _starts(minute, before, steps)
        message = step.message
        if step.kind == "expires":
            events.append(Event("expire", minute))
        elif message is None:
            if _goes_on(before, step) and step.told is not None:
                events[-1] = _ended(events[-1], AGENTS[step.process], step.told.code)
        elif step.process < 0:
            agent, number = floated[message]
            landed = _landed(message, step)
            events.append(Event("late", minute, agent, push=number, edits=_edits(message), landed=landed))
        else:
            sent[step.process] += 1
            if step.kind == "floats":
                floated[message] = AGENTS[step.process], sent[step.process]
            events.append(_push(minute, step, sent[step.process]))
        before = after
    return events


def _goes_on(before: State, step: Step) -> bool:
    return before.processes[step.process].command is not None


def _ended(last: Event, agent: str, told: str) -> Event:
    """The push after which a command read back and ended: it is the last event, as nothing else could happen since."""
    assert last.kind == "push" and last.agent == agent and not last.told
    return replace(last, told=told)


def _starts(minute: int, before: State, steps: list[tuple[Step, State]]) -> Iterator[Event]:
    """The commands that begin with this step: those held at their push, and that of whoever acts."""
    step = steps[minute][0]
    for pause in step.paused:
        yield _start(minute, pause.number, pause.command, "", steps)
    if step.process >= 0 and step.command is not None and not _goes_on(before, step):
        told = step.told.code if step.told is not None and step.message is None else ""
        yield _start(minute, step.process, step.command, told, steps)


def _start(minute: int, number: int, command: Command, told: str, steps: list[tuple[Step, State]]) -> Event:
    words = ("reap",) if command.verb == "reap" else (command.verb, REF_NAMES[command.target])
    lease = 0 if told else _lease(minute, number, command, steps)
    return Event("start", minute, AGENTS[number], words, lease, told=told)


def _lease(minute: int, number: int, command: Command, steps: list[tuple[Step, State]]) -> int:
    """The lease with which all blobs of a command run out when the path says; 0 for a command that has none."""
    if command.verb not in ("claim", "steal", "renew"):
        return 0
    wanted = {_end_of(blob, steps) for blob in _written(minute, number, steps)} - {None}
    if len(wanted) > 1:
        raise _Unreplayable
    end = wanted.pop() if wanted else NEVER
    return NEVER if end is None or end == NEVER else end - minute


def _written(minute: int, number: int, steps: list[tuple[Step, State]]) -> list[Blob]:
    """The blobs that the command which a process begins at `minute` sends."""
    found = []
    for step, after in steps[minute:]:
        messages = [step.message] if step.process == number else []
        messages += [pause.message for pause in step.paused if pause.number == number]
        found += [message.success.blob for message in messages if message is not None]
        if step.process == number and after.processes[number].command is None:
            break
    return [blob for blob in found if blob is not None]


def _end_of(blob: Blob, steps: list[tuple[Step, State]]) -> int | None:
    """The step at which its lease runs out; NEVER where it is still of use at the end; None where that is all one."""
    for number, (_, after) in enumerate(steps):
        if after.expired >> blob.id & 1:
            return number
    last = steps[-1][1]
    used = any(there is not None and there.id == blob.id for _, state in steps for there in state.refs)
    used = used or any(edit.new == blob for message in last.late for edit in message.edits)
    return NEVER if used else None


def _push(minute: int, step: Step, number: int) -> Event:
    assert step.message is not None
    return Event(
        "push",
        minute,
        AGENTS[step.process],
        push=number,
        edits=_edits(step.message),
        outcome=step.kind,
        landed=() if step.kind in ("refused", "floats") else _landed(step.message, step),
        answered=step.answered,
        killed=step.killed,
        told=step.told.code if step.told is not None else "",
    )


def _landed(message: Message, step: Step) -> tuple[int, ...]:
    return tuple(number for number in range(len(message.edits)) if step.mask >> number & 1)


def _edits(message: Message) -> tuple[RefEdit, ...]:
    return tuple(_edit(edit) for edit in message.edits)


def _edit(edit: Edit) -> RefEdit:
    if edit.ref == LOG:
        return RefEdit("log", "", bit_name(edit.bit))
    return RefEdit(REF_NAMES[edit.ref], _blob(edit.old), _blob(edit.new))


def _blob(blob: Blob | None) -> str:
    if blob is None:
        return ""
    name = token_name(blob.token)
    if blob.id != blob.token:
        name += f"'{blob.id % PER_TASK}"
    return name + (" closed" if blob.closed else "")
