"""Fixtures of the gate as YAML: reading them. `fixtures/README.md` has the format.

Whatever a fixture says is checked here: a member that is misspelt is an error, never a fixture that proves nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from tests.support.board import task_id

ROOT = Path(__file__).resolve().parents[2] / "fixtures"

Members: TypeAlias = Mapping[str, Any]

#: Each member of a fixture that another can take over, and its type.
_INHERITED: Mapping[str, type | tuple[type, ...]] = {
    "board": dict,
    "base": dict,
    "head": list,
    "later_base": list,
    "claims": list,
    "facts": dict,
    "test_merge": (str, dict),
    "attributes": str,
    "replace": dict,
    "grafts": dict,
}
_BOARD: Mapping[str, tuple[type, ...]] = {
    "tasks": (list,),
    "plan": (int, dict, str),
    "manifest": (list, dict, str),
    "config": (dict, str),
}
_COMMIT: Mapping[str, type] = {
    "name": str,
    "parents": list,
    "merge": str,
    "finish": bool,
    "move": dict,
    "write": dict,
    "edit": dict,
    "fill": dict,
    "links": dict,
    "submodules": dict,
    "modes": dict,
    "delete": list,
}
_CLAIM: Mapping[str, tuple[type, ...]] = {
    "task": (str,),
    "agent": (str,),
    "branch": (str,),
    "ago": (int,),
    "minutes": (int,),
    "locks": (list,),
    "plan_revision": (int,),
    "task_digest": (str,),
    "base_commit": (str,),
    "branch_commit": (str,),
    "repository": (int,),
    "closed": (dict,),
    "archived": (bool,),
    "raw": (str,),
}
_TEST_MERGE: Mapping[str, type] = {"tree": str, "parents": list}
_CLOSED: Mapping[str, type] = {"outcome": str, "ago": int, "by": str, "reason": str}
_FACTS: Mapping[str, tuple[type, ...]] = {
    "author": (str,),
    "author_id": (int,),
    "fork": (bool,),
    "head_branch": (str, type(None)),
    "head_repository_id": (int,),
    "verified": (bool, type(None)),
}
_EXPECT: Mapping[str, type] = {"verdict": str, "kind": str, "findings": list, "notices": list}
_FINDING: Mapping[str, type] = {"rule": str, "path": str, "message": str}

#: The honest branch: work inside the authority, then the move of the task, under a live claim.
_DEFAULTS: Mapping[str, Any] = {
    "board": {},
    "base": {},
    "head": [{"write": {"src/work.py": "print('done')\n"}}, {"finish": True}],
    "later_base": [],
    "claims": [{}],
    "facts": {},
    "test_merge": "",
    "attributes": "",
    "replace": {},
    "grafts": {},
}
_DEFAULT_TASKS: Sequence[Members] = [{"paths": ["src/"]}]


class FixtureError(Exception):
    """A fixture that does not say what a fixture can say."""


@dataclass(frozen=True, slots=True)
class Fixture:
    """One fixture with whatever it extends put in. `extends` is the path of that, as `path` is: below `fixtures/`."""

    path: str
    extends: str | None
    about: str
    #: Keyword arguments for `task_file`, each with its `id`; the first is the task that is worked on.
    tasks: Sequence[Members]
    board: Members
    base: Members
    head: Sequence[Members]
    later_base: Sequence[Members]
    claims: Sequence[Members]
    facts: Members
    #: The commit whose tree GitHub's test merge has, or that and its parents; empty: there is none.
    test_merge: str | Members
    #: The `info/attributes` of the clone that the gate runs in, its replace refs and its `info/grafts`.
    attributes: str
    replace: Members
    grafts: Members
    expect: Members

    @property
    def branch(self) -> str:
        """The head branch, and the one that a claim names where it says no other."""
        return self.facts.get("head_branch") or "agent/one"


def found(root: Path = ROOT) -> list[str]:
    """Every fixture of the gate: paths below `root`, in order."""
    files = [*root.glob("gate/*/*.yaml"), *root.glob("incidents/*.yaml")]
    return sorted(file.relative_to(root).as_posix() for file in files)


def load(path: str, root: Path = ROOT) -> Fixture:
    """Read the fixture at `path` below `root`. Raises FixtureError, which names the file."""
    members = _resolved(path, root, ())
    board = members["board"]
    tasks = [{"id": task_id(number), **task} for number, task in enumerate(board.get("tasks", _DEFAULT_TASKS), 1)]
    return Fixture(
        path=path,
        extends=members.get("extends"),
        about=members["about"],
        tasks=tasks,
        board={name: value for name, value in board.items() if name != "tasks"},
        expect=members["expect"],
        **{name: members[name] for name in _INHERITED if name != "board"},
    )


def path_bytes(text: str) -> bytes:
    """A path as a fixture writes it: `\\xNN` stands for one byte."""
    parts = re.split(r"\\x([0-9a-f]{2})", text)
    return b"".join(bytes.fromhex(part) if number % 2 else part.encode() for number, part in enumerate(parts))


def _resolved(path: str, root: Path, below: tuple[str, ...]) -> dict[str, Any]:
    if path in below:
        raise FixtureError(f"{path}: extends itself")
    members = _read(path, root)
    inherited: Mapping[str, Any] = _DEFAULTS
    if "extends" in members:
        inherited = _resolved(members["extends"], root, (*below, path))
    return {**{name: inherited[name] for name in _INHERITED}, **members}


def _read(path: str, root: Path) -> dict[str, Any]:
    try:
        members = YAML(typ="safe", pure=True).load((root / path).read_text(encoding="utf-8"))
    except (OSError, YAMLError) as error:
        raise FixtureError(f"{path}: {error}") from None
    _check(path, members, {**_INHERITED, "extends": str, "about": str, "expect": dict}, ["about", "expect"])
    _check(f"{path}: board", members.get("board", {}), _BOARD)
    _check(f"{path}: facts", members.get("facts", {}), _FACTS)
    for line in ("head", "later_base"):
        for number, commit in enumerate(members.get(line, []), 1):
            _check(f"{path}: {line}, commit {number}", commit, _COMMIT)
    for number, claim in enumerate(members.get("claims", []), 1):
        _check(f"{path}: claims, the {number}.", claim, _CLAIM)
        _check(f"{path}: claims, the {number}., closed", claim.get("closed", {}), _CLOSED)
        if claim.get("archived") and "closed" not in claim:
            raise FixtureError(f"{path}: claims, the {number}.: only what is closed is archived")
    if isinstance(members.get("test_merge"), dict):
        _check(f"{path}: test_merge", members["test_merge"], _TEST_MERGE, list(_TEST_MERGE))
    _check_expect(path, members["expect"])
    return dict(members)


def _check_expect(path: str, expect: Any) -> None:
    _check(f"{path}: expect", expect, _EXPECT, ["verdict"])
    if expect["verdict"] not in ("pass", "fail"):
        raise FixtureError(f"{path}: expect: verdict is pass or fail")
    if (expect["verdict"] == "fail") != bool(expect.get("findings")):
        raise FixtureError(f"{path}: expect: a failure has findings, and only a failure")
    for finding in expect.get("findings", []):
        _check(f"{path}: expect, findings", finding, _FINDING, ["rule"])


def _check(where: str, value: Any, known: Mapping[str, type | tuple[type, ...]], required: Sequence[str] = ()) -> None:
    if not isinstance(value, dict):
        raise FixtureError(f"{where}: not a mapping")
    for name, member in value.items():
        if name not in known:
            raise FixtureError(f"{where}: there is no member {name!r}; known: {', '.join(known)}")
        wanted = known[name]
        if not isinstance(member, wanted) or (isinstance(member, bool) and wanted in (int, (int,))):
            raise FixtureError(f"{where}: {name}: {member!r} is of the wrong type")
    missing = [name for name in required if name not in value]
    if missing:
        raise FixtureError(f"{where}: {', '.join(missing)} missing")
