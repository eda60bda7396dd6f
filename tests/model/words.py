"""Paths in words, for people who read a counterexample."""

from __future__ import annotations

from tests.model.protocol import (
    LOG,
    OUTCOMES,
    PER_PROCESS,
    PER_TASK,
    REF_NAMES,
    T1,
    T2,
    Blob,
    Command,
    Edit,
    L,
    Message,
    S,
)
from tests.model.state import State
from tests.model.world import Pause, Step

AGENTS = ("A", "B", "C", "Z")


def token_name(token: int) -> str:
    """`A1.0`: the claim whose first blob is agent A's blob 0 for T1."""
    process, rest = divmod(token, PER_PROCESS)
    task, number = divmod(rest, PER_TASK)
    return f"{AGENTS[process]}{task + 1}.{number}"


def blob_name(blob: Blob | None) -> str:
    """`A1.0`; `A1.0'1` for that claim renewed; with `closed`, and with what it owes in brackets."""
    if blob is None:
        return "-"
    name = token_name(blob.token) + ("" if blob.id == blob.token else f"'{blob.id % PER_TASK}")
    owes = ", ".join(bit_name(bit) for bit in blob.replaced)
    return name + (" closed" if blob.closed else "") + (f"[{owes}]" if owes else "")


def bit_name(bit: int) -> str:
    """`A1.0 released`"""
    token, outcome = divmod(bit, len(OUTCOMES))
    return f"{token_name(token)} {OUTCOMES[outcome]}"


def arbiter(state: State) -> str:
    """`T1=A1.0 L=A1.0† log: A1.0 released`; a dagger is a lease that has run out."""
    words = []
    for ref in (T1, T2, L, S):
        blob = state.refs[ref]
        if blob is not None:
            dagger = "†" if state.expired >> blob.id & 1 and not blob.closed else ""
            words.append(f"{REF_NAMES[ref]}={blob_name(blob)}{dagger}")
    bits = [bit_name(bit) for bit in range(state.log.bit_length()) if state.log >> bit & 1]
    return " ".join(words + ([f"log: {', '.join(bits)}"] if bits else [])) or "nothing"


def describe(step: Step, state: State) -> str:
    """The step, and what the arbiter has after it."""
    lines = [_pause(pause) for pause in step.paused]
    lines.append(f"{_happening(step)}\n      → {arbiter(state)}")
    return "\n      ".join(lines)


def _pause(pause: Pause) -> str:
    who = f"{AGENTS[pause.number]} `{command_name(pause.command)}`"
    if pause.message is not None:
        return f"[before that, {who} has decided to send {edits_name(pause.message)}]"
    parts = ", ".join("log" if part == LOG else REF_NAMES[part] for part in pause.parts)
    return f"[before that, {who} has read {parts}]"


def command_name(command: Command) -> str:
    return f"{command.verb} {REF_NAMES[command.target]}" + (" (its keys changed on base)" if command.changed else "")


def edits_name(message: Message) -> str:
    return ", ".join(_edit(edit) for edit in message.edits)


def _edit(edit: Edit) -> str:
    if edit.ref == LOG:
        return f"log({bit_name(edit.bit)})"
    return f"{REF_NAMES[edit.ref]}: {blob_name(edit.old)} to {blob_name(edit.new)}"


def _happening(step: Step) -> str:
    if step.blob is not None:
        return f"the lease of {blob_name(step.blob)} runs out"
    words = []
    if step.command is not None:
        words.append(f"{AGENTS[step.process]} `{command_name(step.command)}`")
    words.append("a push thought lost lands" if step.kind == "lands late" else step.kind)
    if step.message is not None:
        landed = [edit for index, edit in enumerate(step.message.edits) if step.mask >> index & 1]
        words.append(edits_name(step.message._replace(edits=tuple(landed))))
        lost = [edit for edit in step.message.edits if edit not in landed]
        if lost:
            words.append("but not " + edits_name(step.message._replace(edits=tuple(lost))))
    if step.told is not None:
        words.append(f"and is told {step.told.code}")
    if step.doubt is not None:
        words.append(f"to be read back: {step.doubt}")
    if not step.answered:
        words.append("and is killed" if step.killed else "without an answer")
    return " ".join(words)
