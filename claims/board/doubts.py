"""What is valid and yet can hardly be meant: grants that grant nothing, settings that do nothing or too much."""

from __future__ import annotations

from collections.abc import Iterator

from claims.board.authority import Pattern, is_protected, is_reserved
from claims.board.config import CONFIG_PATH, Config, Signatures
from claims.board.survey import Remark, Survey
from claims.board.task import State

_WILD = frozenset("*?[{")


def doubts(found: Survey) -> Iterator[Remark]:
    """The doubts about queued and blocked tasks, and about the configuration."""
    extra = found.config.gate.protected if found.config is not None else ()
    for path, task in found.tasks.items():
        if task.state in (State.QUEUED, State.BLOCKED):
            for pattern in task.authority.patterns:
                words = _void(pattern, extra)
                if words is not None:
                    yield Remark(path, f"`authority` has {pattern.text!r}, which grants nothing: {words}")
    if found.config is not None:
        yield from (Remark(CONFIG_PATH, words) for words in _settings(found.config))


def _void(pattern: Pattern, extra: tuple[Pattern, ...]) -> str | None:
    """Why a pattern grants nothing, where that is sure."""
    place = pattern.text.rstrip("/*").encode()
    if is_reserved(place):
        return "what is under .agents/ is no task's to change"
    is_file = not pattern.text.endswith("/") and not _WILD & set(pattern.text)
    if not is_file and not _WILD & set(pattern.text.rstrip("/*")) and is_protected(place + b"/x", extra):
        return "what is protected is granted file by file, each by its full path"
    return None


def _settings(config: Config) -> Iterator[str]:
    gate = config.gate
    if gate.hotfix and not gate.operators:
        yield "`hotfix` is on and nobody is an operator, so it lets nothing through"
    if gate.signatures is Signatures.REQUIRED:
        yield "`signatures: required` fails every implementation: how a claim is signed is not specified yet"
