"""GitHub's answers, canned: everything in order, for a test to change one thing."""

from __future__ import annotations

import base64
import copy
from collections.abc import Mapping
from typing import Any

from claims.errors import Undecided
from gate.github.desired import SQUASH, There, Wanted, changes
from tests.unit.gate.github.test_policies import GATE

CONFIG = b"gate:\n  operators: [op, boss]\n"


def file(data: bytes, path: str = "f") -> dict[str, Any]:
    """A file, as GitHub gives its content."""
    return {"type": "file", "encoding": "base64", "path": path, "content": base64.encodebytes(data).decode()}


def in_order(workflow: bytes) -> dict[str, Any]:
    """Path to answer of a public repository that `setup` has been over."""
    empty = There({"private": False}, (), (), ("op", "boss"), None, (), {"main": GATE})
    bodies = {change.what: change.body for change in changes(empty, Wanted(("main",)))}
    ruleset = {"id": 1, "source_type": "Repository", **bodies["ruleset provenance-gate (main)"]}
    policy = {"id": 2, "source_type": "Repository", **bodies["Actions policy provenance-gate"]}
    return copy.deepcopy(
        {
            "": {"default_branch": "main", "private": False, **SQUASH},
            "/rules/branches/main": [{**rule, "ruleset_id": 1} for rule in ruleset["rules"]],
            "/rulesets": [{"id": 1, "name": ruleset["name"]}],
            "/rulesets/1": ruleset,
            "/labels": [{"name": "agent-triage"}, {"name": "agent-attempt"}],
            "/actions/variables/SWARM_OPERATORS": {"name": "SWARM_OPERATORS", "value": '["op", "boss"]'},
            "/actions/permissions": {"enabled": True, "allowed_actions": "all"},
            "/actions/permissions/workflow": {
                "default_workflow_permissions": "read",
                "can_approve_pull_request_reviews": False,
            },
            "/actions/policies": {"total_count": 1, "policies": [policy]},
            "/contents/.github/workflows": [{"path": GATE, "type": "file"}],
            f"/contents/{GATE}": file(workflow),
            "/contents/.agents/swarm.yaml": file(CONFIG),
            "/user": {"login": "agent"},
        }
    )


class Canned:
    """Answers from a table. What is None there is refused, what is not there is not found. Counts what it was asked."""

    repository = "octo-org/widgets"

    def __init__(self, answers: dict[str, Any]) -> None:
        self.answers = answers
        self.asked: list[str] = []

    def get(self, path: str, **params: str | int) -> Any:
        found = self.find(path, **params)
        if found is None:
            raise Undecided("github-unavailable", f"GET {path}: 404")
        return found

    def find(self, path: str, **params: str | int) -> Any:
        self.asked.append(path)
        if path in self.answers and self.answers[path] is None:
            raise Undecided("github-unavailable", f"GET {path}: 403")
        return self.answers.get(path)

    def pages(self, path: str, most: int, **params: str | int) -> Any:
        return self.get(path, **params)

    def absolute(self, path: str) -> Any:
        return self.get(path)


class Kept(Canned):
    """The same, and it keeps what it is told. `refuses` has the paths of changes that are refused, `loses` of those
    that are taken and not kept."""

    def __init__(self, answers: dict[str, Any]) -> None:
        super().__init__(answers)
        self.told: list[str] = []
        self.refuses: set[str] = set()
        self.loses: set[str] = set()

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        self._told("POST", path)
        return self._keep(path, body, len(self.told) + 100)

    def put(self, path: str, body: Mapping[str, Any]) -> Any:
        self._told("PUT", path)
        folder, _, number = path.rpartition("/")
        return self._keep(folder, body, int(number))

    def patch(self, path: str, body: Mapping[str, Any]) -> Any:
        self._told("PATCH", path)
        if path not in self.loses:
            self.answers[path] = {**self.answers[path], **body}
        return self.answers[path]

    def _told(self, method: str, path: str) -> None:
        if path in self.refuses:
            raise Undecided("github-unavailable", f"{method} {path}: 403: it needs administration=write")
        self.told.append(f"{method} {path}")

    def _keep(self, path: str, body: Mapping[str, Any], number: int) -> Any:
        one = {**copy.deepcopy(dict(body)), "id": number}
        if path in self.loses:
            return one
        if path == "/actions/variables":
            self.answers[f"{path}/{body['name']}"] = one
        elif path == "/actions/policies":
            listed = [kept for kept in self.answers[path]["policies"] if kept["id"] != number]
            self.answers[path] = {"total_count": len(listed) + 1, "policies": [*listed, one]}
        else:
            self.answers[path] = [*(kept for kept in self.answers[path] if kept.get("id") != number), one]
            self.answers[f"{path}/{number}"] = one
        return one
