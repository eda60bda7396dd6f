"""What is valid and yet can hardly be meant: grants that grant nothing, settings that do nothing or too much."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from claims.board.authority import Pattern, is_protected, is_reserved
from claims.board.board import TreeReader
from claims.board.config import CONFIG_PATH, Config, Signatures
from claims.board.plan import MANIFEST_PATH, Manifest, Milestone, MilestoneStatus
from claims.board.survey import Remark, Survey
from claims.board.task import State
from claims.errors import Undecided

_WILD = frozenset("*?[{")
_CHOICE = re.compile(r"\{[^{}/]*,[^{}/]*\}")
#: Apps whose pull requests GitHub shows as those of `…[bot]`. Without that the login is a person's, whoever has it.
_BOTS = frozenset({"dependabot", "dependabot-preview", "github-actions", "pre-commit-ci", "renovate"})
_FOLDER = 0o040000


def doubts(found: Survey, reader: TreeReader) -> Iterator[Remark]:
    """The doubts about queued and blocked tasks, the configuration and the milestones."""
    gate = found.config.gate if found.config is not None else None
    places = _Places(reader)
    for path, task in found.tasks.items():
        if task.state in (State.QUEUED, State.BLOCKED):
            for pattern in task.authority.patterns:
                words = _void(pattern, gate.protected if gate is not None else ()) or places.doubt(pattern)
                if words is not None:
                    yield Remark(path, f"`authority` has {pattern.text!r}, {words}")
    if found.config is not None:
        yield from (Remark(CONFIG_PATH, words) for words in _settings(found.config, places))
    for words in _milestones(found.manifest, found) if found.manifest is not None else ():
        yield Remark(MANIFEST_PATH, words)


class _Places:
    """What stands in the tree where patterns point. Each folder is listed once; one that cannot be is not doubted."""

    def __init__(self, reader: TreeReader) -> None:
        self._reader = reader
        self._listed: dict[str, Mapping[str, int]] = {}
        self._folded: dict[str, Mapping[str, str]] = {}

    def doubt(self, pattern: Pattern, *, exact: bool = True) -> str | None:
        """What a pattern was hardly meant to be; `exact` says that it tells upper from lower case."""
        if _CHOICE.search(pattern.text) is not None:
            return "and braces stand for themselves: write a pattern for each"
        *folders, last = pattern.text.split("/")
        above = ""
        for name in folders:
            if _WILD & set(name):
                return None
            mode = self._names(above).get(name)
            if mode is None:
                return self._twin(above, name) if exact else None
            above = f"{above}/{name}".lstrip("/")
            if mode != _FOLDER and last in ("", "**") and above == pattern.text.rstrip("/*"):
                return f"which is a file here: without what follows, {above!r} covers it"
        if not last or _WILD & set(last):
            return None
        mode = self._names(above).get(last)
        if mode == _FOLDER and ".git" not in self._names(pattern.text):  # a submodule is no folder
            return f"which is a folder here: only {pattern.text + '/'!r} covers what is in it"
        return self._twin(above, last) if mode is None and exact else None

    def _twin(self, folder: str, name: str) -> str | None:
        """Words on what stands there under a name that differs in case alone."""
        if folder not in self._folded:
            self._folded[folder] = {one.casefold(): one for one in self._names(folder)}
        twin = self._folded[folder].get(name.casefold())
        return None if twin is None else f"and here it is {twin!r}: patterns tell upper from lower case"

    def _names(self, folder: str) -> Mapping[str, int]:
        if folder not in self._listed:
            try:
                entries = self._reader.list(folder)
            except Undecided:
                entries = None
            self._listed[folder] = {entry.name: entry.mode for entry in entries or ()}
        return self._listed[folder]


def _void(pattern: Pattern, extra: tuple[Pattern, ...]) -> str | None:
    """Why a pattern grants nothing, where that is sure."""
    place = pattern.text.rstrip("/*").encode()
    if is_reserved(place):
        return "which grants nothing: what is under .agents/ is no task's to change"
    is_file = not pattern.text.endswith("/") and not _WILD & set(pattern.text)
    if not is_file and not _WILD & set(pattern.text.rstrip("/*")) and is_protected(place + b"/x", extra):
        return "which grants nothing: what is protected is granted file by file, each by its full path"
    return None


def _settings(config: Config, places: _Places) -> Iterator[str]:
    gate = config.gate
    if gate.hotfix and not gate.operators:
        yield "`hotfix` is on and nobody is an operator, so it lets nothing through"
    if gate.signatures is Signatures.REQUIRED:
        yield "`signatures: required` fails every implementation: how a claim is signed is not specified yet"
    for pattern in gate.protected:
        words = places.doubt(pattern, exact=False)
        if words is not None:
            yield f"`protected` has {pattern.text!r}, {words}"
    for exemption in gate.exempt:
        for pattern in exemption.paths:
            words = _void(pattern, gate.protected) or places.doubt(pattern)
            if words is not None:
                yield f"`exempt` lets {exemption.account.login} touch {pattern.text!r}, {words}"
    exempt = [one.account.login for one in gate.exempt]
    operators = [one.login for one in gate.operators]
    for login in {*exempt, *operators}:
        if login.casefold() in _BOTS:
            yield f"{login} is a person's login; the app's is {login}[bot]"
    yield from (f"{login} is in `exempt` again, and only the first entry counts" for login in _repeats(exempt))
    yield from (f"{login} is among `operators` again" for login in _repeats(operators))


def _repeats(logins: Sequence[str]) -> list[str]:
    folded = [login.casefold() for login in logins]
    return [login for number, login in enumerate(logins) if folded.index(login.casefold()) < number]


def _milestones(manifest: Manifest, found: Survey) -> Iterator[str]:
    """Milestones that end before they begin, or never."""
    for stone in manifest.milestones:
        words = _of_milestone(stone, found)
        if words is not None:
            yield f"line {stone.line}: milestone {stone.id} {words}"


def _of_milestone(stone: Milestone, found: Survey) -> str | None:
    if stone.status not in (MilestoneStatus.ACTIVE, MilestoneStatus.INTEGRATING):
        return None
    if not stone.tasks and stone.integration is not None:
        return f"has no tasks, so its integration task {stone.integration} waits for nothing"
    if stone.status is not MilestoneStatus.INTEGRATING:
        return None
    if stone.integration is None:
        return "is integrating and has no integration task, so nobody can claim anything of it"
    left = [task for task in stone.tasks if State.DONE not in found.places.get(task, ())]
    if left:
        more = f" and {len(left) - 3} more" if len(left) > 3 else ""
        return f"is integrating, so nobody can claim {', '.join(left[:3])}{more}, which it waits for"
    return None
