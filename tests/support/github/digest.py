"""The parts of GitHub's OpenAPI description that the fake is held to: `python -m tests.support.github.digest PACKAGE`.

PACKAGE is the unpacked npm package `@octokit/openapi` (`npm pack @octokit/openapi`, 13 MB; MIT). The digest has the
operations in `OPERATIONS` with everything that they refer to, as JSON Schema, without words for people.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

DIGEST = Path(__file__).parents[3] / "fixtures" / "github" / "openapi.json"
_DESCRIPTION = "generated/api.github.com.json"

#: Paths below `/repos/{owner}/{repo}`, or from the root, and the methods that are used.
OPERATIONS: Mapping[str, tuple[str, ...]] = {
    "": ("get", "patch"),
    "/pulls/{pull_number}": ("get",),
    "/pulls/{pull_number}/commits": ("get",),
    "/issues": ("get",),
    "/issues/{issue_number}": ("get",),
    "/issues/{issue_number}/comments": ("get", "post"),
    "/issues/comments/{comment_id}": ("get", "patch"),
    "/issues/{issue_number}/events": ("get",),
    "/issues/{issue_number}/labels/{name}": ("delete",),
    "/labels": ("get", "post"),
    "/rulesets": ("get", "post"),
    "/rulesets/{ruleset_id}": ("get", "put"),
    "/rules/branches/{branch}": ("get",),
    "/actions/permissions": ("get",),
    "/actions/permissions/workflow": ("get",),
    "/actions/permissions/selected-actions": ("get",),
    "/actions/variables": ("post",),
    "/actions/variables/{name}": ("get", "patch"),
    "/contents/{path}": ("get",),
    "/collaborators/{username}/permission": ("get",),
}
ROOTED: Mapping[str, tuple[str, ...]] = {"/user": ("get",)}
_BELOW = "/repos/{owner}/{repo}"
_WORDS = frozenset({"description", "example", "examples", "title", "externalDocs", "summary", "tags", "operationId"})
_REF = "#/components/schemas/"


def digest(description: Mapping[str, Any]) -> dict[str, Any]:
    """The digest of a whole description."""
    wanted = {**{_BELOW + path: methods for path, methods in OPERATIONS.items()}, **ROOTED}
    paths = {
        path: {method: _operation(description, description["paths"][path][method]) for method in methods}
        for path, methods in wanted.items()
    }
    schemas: dict[str, Any] = {}
    _collect(description, paths, schemas)
    return {"paths": paths, "schemas": dict(sorted(schemas.items()))}


def _operation(description: Mapping[str, Any], operation: Mapping[str, Any]) -> dict[str, Any]:
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    return {
        "query": {one["name"]: _schema(one["schema"]) for one in _parameters(description, operation)},
        "body": _schema(body) if body is not None else None,
        "responses": {status: _answer(description, one) for status, one in operation["responses"].items()},
    }


def _parameters(description: Mapping[str, Any], operation: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = [_resolved(description, one) for one in operation.get("parameters", [])]
    return [one for one in found if one["in"] == "query"]


def _answer(description: Mapping[str, Any], response: Mapping[str, Any]) -> Any:
    """The schema of an answer; None where it has no body in JSON."""
    content = _resolved(description, response).get("content", {})
    kinds = [kind for kind in content if "json" in kind]
    return _schema(content[sorted(kinds)[0]]["schema"]) if kinds else None


def _resolved(description: Mapping[str, Any], one: Mapping[str, Any]) -> Mapping[str, Any]:
    while "$ref" in one:
        found: Any = description
        for name in one["$ref"].removeprefix("#/").split("/"):
            found = found[name]
        one = found
    return one


def _schema(value: Any, *, names: bool = False) -> Any:
    """A schema without words, as JSON Schema has it: OpenAPI 3.0 says `nullable`. `names`: its keys are members'."""
    if isinstance(value, list):
        return [_schema(one) for one in value]
    if not isinstance(value, dict):
        return value
    kept = {
        name: _schema(one, names=name in ("properties", "patternProperties") and not names)
        for name, one in value.items()
        if names or (name not in _WORDS and not name.startswith("x-"))
    }
    if names or kept.pop("nullable", False) is not True:
        return kept
    return {"anyOf": [{"type": "null"}, kept]}


def _collect(description: Mapping[str, Any], value: Any, found: dict[str, Any]) -> None:
    """Put every schema that is referred to into `found`, by its name."""
    if isinstance(value, list):
        for one in value:
            _collect(description, one, found)
    elif isinstance(value, dict):
        name = str(value.get("$ref", "")).removeprefix(_REF)
        if isinstance(value.get("$ref"), str) and name not in found:
            found[name] = _schema(description["components"]["schemas"][name])
            _collect(description, found[name], found)
        for one in value.values():
            _collect(description, one, found)


def main(arguments: list[str]) -> int:
    description = json.loads((Path(arguments[0]) / _DESCRIPTION).read_text(encoding="utf-8"))
    DIGEST.write_text(json.dumps(digest(description), separators=(",", ":"), sort_keys=True) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
