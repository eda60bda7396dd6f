"""GitHub as it is: each thing read at most once, and taken for what GitHub says it is or refused.

Everything here raises Undecided `github-unavailable` where GitHub does not answer, answers something else, or does not
show it to this token.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Protocol
from urllib.parse import quote

from claims.board.config import CONFIG_PATH, Config, parse_config
from claims.errors import SwarmError, Undecided
from claims.git import printable
from gate.github.desired import SQUASH, VARIABLE, There, Wanted, check_name
from gate.github.finding import once
from gate.github.policies import EVENT, Json

WORKFLOWS = ".github/workflows"
#: Entries of one list: more are refused, not cut.
_MOST = 1000
#: Workflow files that are read.
_MOST_WORKFLOWS = 100
#: Bytes of a file that is read: GitHub's own limit for answering with its content.
_MOST_BYTES = 1024 * 1024

SEE_POLICIES = "look at Settings, Actions, Policies; a token with Administration: write is shown them"


class Answers(Protocol):
    """What is asked of GitHub here. Paths are below `/repos/OWNER/NAME`."""

    repository: str

    def get(self, path: str, **params: str | int) -> Json: ...

    def find(self, path: str, **params: str | int) -> Json:
        """None where there is no such thing, or it is not shown."""

    def pages(self, path: str, most: int, **params: str | int) -> list[Json]: ...

    def absolute(self, path: str) -> Json: ...


class Reading:
    """One repository on GitHub, read lazily."""

    def __init__(self, api: Answers) -> None:
        self._api = api
        self._kept: dict[tuple[object, ...], Callable[[], Json]] = {}

        self.repository = api.repository

    def settings(self) -> Mapping[str, Json]:
        """The repository itself."""
        return _object(self._get(""), "the repository")

    def default_branch(self) -> str:
        return _text(self.settings().get("default_branch"), "the repository's default branch")

    def private(self) -> bool:
        """Whether no fork of strangers can reach it: GitHub's default policy is for public repositories."""
        return _flag(self.settings().get("private"), "whether the repository is private")

    def merge_settings(self) -> Mapping[str, Json]:
        """How it merges. Raises Undecided where GitHub keeps that from this token."""
        hidden = [name for name in SQUASH if name not in self.settings()]
        if hidden:
            message = f"{self.repository}: GitHub does not show {', '.join(hidden)} to this token"
            raise Undecided("github-unavailable", message, "a token with Administration: write, or Contents: write")
        return self.settings()

    def rules(self, branch: str) -> list[Mapping[str, Json]]:
        """The rules in force for a branch, from whatever ruleset, each with the id of its ruleset."""
        return _rules(self._objects(f"/rules/branches/{quote(branch, safe='')}", "a rule"), "the rules in force")

    def rulesets(self) -> list[Mapping[str, Json]]:
        """The repository's own rulesets, whole, also those that are not in force."""
        listed = self._objects("/rulesets", "the rulesets", includes_parents="false")
        return [self.ruleset(_number(one.get("id"), "a ruleset's id")) for one in listed]

    def ruleset(self, number: int) -> Mapping[str, Json]:
        """One ruleset, the organization's too."""
        what = f"ruleset {number}"
        found = _object(self._get(f"/rulesets/{number}"), what)
        _rules(found.get("rules") or [], what)
        _list_of_objects(found.get("bypass_actors") or [], what)
        _object(_object(found.get("conditions") or {}, what).get("ref_name") or {}, what)
        return found

    def administered(self) -> bool:
        """Whether this token is seen to be an administrator's, who alone is shown the bypass lists."""
        return any("bypass_actors" in one for one in self.rulesets())

    def labels(self) -> list[str]:
        return [_text(one.get("name"), "a label's name") for one in self._objects("/labels", "the labels")]

    def variable(self) -> str | None:
        """The operators, as the label workflows know them."""
        found = self._find(f"/actions/variables/{VARIABLE}")
        return None if found is None else _text(_object(found, VARIABLE).get("value"), f"the value of {VARIABLE}")

    def actions(self) -> Mapping[str, Json]:
        """Whether Actions run at all, and which."""
        return _object(self._get("/actions/permissions"), "the permissions of Actions")

    def selected_actions(self) -> Mapping[str, Json]:
        """Those that may be used, where not all may."""
        found = _object(self._get("/actions/permissions/selected-actions"), "the selected actions")
        _texts(found.get("patterns_allowed") or [], "the selected actions")
        return found

    def workflow_token(self) -> Mapping[str, Json]:
        """What a workflow's token may do where the workflow says nothing."""
        return _object(self._get("/actions/permissions/workflow"), "the workflows' default permissions")

    def policies(self) -> list[Mapping[str, Json]] | None:
        """The Actions policies for this repository, its organization's too; None where GitHub does not show them.

        It answers 404 both where a token may not see them and where there is no such thing.
        """
        found = self._find("/actions/policies", per_page=100, has_parents="true")
        if found is None:
            return None
        answer = _object(found, "the Actions policies")
        listed = _list_of_objects(answer.get("policies"), "the Actions policies")
        if _number(answer.get("total_count"), "the number of Actions policies") > len(listed):
            raise Undecided("limits-exceeded", f"more than {len(listed)} Actions policies: {SEE_POLICIES}")
        return [self._whole(one) for one in listed]

    def _whole(self, policy: Mapping[str, Json]) -> Mapping[str, Json]:
        """A list may name its entries without their rules."""
        number = _number(policy.get("id"), "a policy's id")
        what = f"Actions policy {number}"
        whole = policy if "rules" in policy else _object(self._get(f"/actions/policies/{number}"), what)
        _rules(whole.get("rules"), what)
        where = _object(_object(whole.get("conditions") or {}, what).get("workflow_path") or {}, what)
        _texts([*_list(where.get("include") or [], what), *_list(where.get("exclude") or [], what)], what)
        return whole

    def login(self) -> str:
        """Whose token this is."""
        found = self._asked(("user",), lambda: self._api.absolute("/user"))
        return _text(_object(found, "the token's account").get("login"), "the token's account")

    def workflow_files(self) -> dict[str, bytes]:
        """The workflows on the default branch, by path."""
        branch = self.default_branch()
        listed = self._find(f"/contents/{WORKFLOWS}", ref=f"refs/heads/{branch}")
        if listed is None:
            return {}
        paths = [
            _text(one.get("path"), "a file's path")
            for one in _list_of_objects(listed, WORKFLOWS)
            if str(one.get("path")).endswith((".yml", ".yaml"))
        ]
        if len(paths) > _MOST_WORKFLOWS:
            raise Undecided("limits-exceeded", f"{len(paths)} workflows on {branch}; {_MOST_WORKFLOWS} are read")
        found = {path: self.file(path, branch) for path in sorted(paths)}
        return {path: data for path, data in found.items() if data is not None}

    def posting(self, base: str) -> list[str]:
        """The workflows on the default branch that name the check of a base branch."""
        name = check_name(base).encode()
        return [path for path, data in self.workflow_files().items() if name in data]

    def gate_workflow(self, base: str) -> str | None:
        """That of the gate: the one that is started by `pull_request_target`."""
        files = self.workflow_files()
        return next((path for path in self.posting(base) if EVENT.encode() in files[path]), None)

    def config(self, branch: str) -> Config | None:
        """The board's configuration on a branch; None where it has none. Raises `malformed-config`."""
        data = self.file(CONFIG_PATH, branch)
        return None if data is None else parse_config(data)

    def file(self, path: str, branch: str) -> bytes | None:
        """A file on a branch, None where it is not there."""
        # A tag of the branch's name would come first.
        found = self._find(f"/contents/{quote(path)}", ref=f"refs/heads/{branch}")
        if found is None:
            return None
        what = f"{printable(path)} on {printable(branch)}"
        entry = _object(found, what)
        if entry.get("type") != "file" or entry.get("encoding") != "base64":
            raise Undecided("github-unavailable", f"{what} is no file of at most {_MOST_BYTES} bytes")
        try:
            return base64.b64decode(_text(entry.get("content"), what))
        except binascii.Error:
            raise _odd(what) from None

    def _get(self, path: str) -> Json:
        return self._asked(("get", path), lambda: self._api.get(path))

    def _find(self, path: str, **params: str | int) -> Json:
        return self._asked(("find", path, *params.items()), lambda: self._api.find(path, **params))

    def _objects(self, path: str, what: str, **params: str | int) -> list[Mapping[str, Json]]:
        found = self._asked(("pages", path), lambda: self._api.pages(path, _MOST, **params))
        return _list_of_objects(found, what)

    def _asked(self, key: tuple[object, ...], ask: Callable[[], Json]) -> Json:
        if key not in self._kept:
            self._kept[key] = once(ask)
        return self._kept[key]()


def there(reading: Reading, wanted: Wanted) -> There:
    """All that `setup` compares. Raises Undecided where one of it cannot be read, but for the Actions policies."""
    config = reading.config(wanted.bases[0])
    found = {base: reading.gate_workflow(base) for base in wanted.bases}
    return There(
        settings={**reading.merge_settings(), "private": reading.private()},
        rulesets=reading.rulesets(),
        labels=reading.labels(),
        operators=None if config is None else tuple(account.login for account in config.gate.operators),
        variable=reading.variable(),
        policies=reading.policies(),
        workflows={base: path for base, path in found.items() if path is not None},
        default_branch=reading.default_branch(),
    )


def _object(value: Json, what: str) -> Mapping[str, Json]:
    if not isinstance(value, dict):
        raise _odd(what)
    return value


def _list(value: Json, what: str) -> list[Json]:
    if not isinstance(value, list):
        raise _odd(what)
    return value


def _list_of_objects(value: Json, what: str) -> list[Mapping[str, Json]]:
    return [_object(one, what) for one in _list(value, what)]


def _rules(value: Json, what: str) -> list[Mapping[str, Json]]:
    """Rules, each with a type and, where it has any, its parameters by name."""
    rules = _list_of_objects(value, what)
    for rule in rules:
        _text(rule.get("type"), what)
        parameters = _object(rule.get("parameters") or {}, what)
        _texts(parameters.get("allowed_merge_methods") or [], what)
        _texts(parameters.get("allowed_events") or [], what)
        _list_of_objects(parameters.get("required_status_checks") or [], what)
    return rules


def _texts(value: Json, what: str) -> list[str]:
    return [_text(one, what) for one in _list(value, what)]


def _text(value: Json, what: str) -> str:
    if not isinstance(value, str):
        raise _odd(what)
    return value


def _number(value: Json, what: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _odd(what)
    return value


def _flag(value: Json, what: str) -> bool:
    if not isinstance(value, bool):
        raise _odd(what)
    return value


def _odd(what: str) -> SwarmError:
    return Undecided("github-unavailable", f"{what}: GitHub answered something else than it describes")
