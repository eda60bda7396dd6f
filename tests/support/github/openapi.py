"""Requests and answers against GitHub's OpenAPI description, and answers filled up to what it requires."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from tests.support.github.digest import DIGEST

_FORMATS = {"date-time": "2026-08-14T09:30:00Z", "uri": "https://example.invalid/", "email": "a@example.invalid"}


class NotAsDescribed(AssertionError):
    """A request or an answer that GitHub's description does not have."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of the API, and the parameters of its path in this request."""

    name: str
    described: Mapping[str, Any]
    parameters: Mapping[str, str]


def operation(method: str, path: str) -> Operation | None:
    """What a request asks for; None where none of the operations in use is meant."""
    for template, methods in _digest()["paths"].items():
        pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(template))
        if template.endswith("{path}"):
            pattern = pattern.replace("(?P<path>[^/]+)", "(?P<path>.+)")
        match = re.fullmatch(pattern, path)
        if match is not None and method.lower() in methods:
            found = {name: unquote(text) for name, text in match.groupdict().items()}
            return Operation(f"{method} {template}", methods[method.lower()], found)
    return None


def check_request(asked: Operation, query: Mapping[str, str], body: Any) -> None:
    """Raise NotAsDescribed for a query or a body that GitHub does not take."""
    for name, text in query.items():
        schema = asked.described["query"].get(name)
        if schema is None:
            raise NotAsDescribed(f"{asked.name}: there is no parameter {name}")
        value: Any = int(text) if text.isdigit() and "integer" in json.dumps(schema) else text
        value = text == "true" if text in ("true", "false") and "boolean" in json.dumps(schema) else value
        _check(f"{asked.name}: {name}", schema, value)
    wanted = asked.described["body"]
    if wanted is None and body is not None:
        raise NotAsDescribed(f"{asked.name}: it takes no body")
    if wanted is not None and body is not None:
        _check(f"{asked.name}: body", wanted, body)


def check_answer(asked: Operation, status: int, body: Any) -> None:
    """Raise NotAsDescribed for an answer that GitHub would not give."""
    responses = asked.described["responses"]
    if str(status) not in responses:
        raise NotAsDescribed(f"{asked.name}: it does not answer {status}")
    schema = responses[str(status)]
    if schema is not None:
        _check(f"{asked.name}: answer", schema, body)


def filled(asked: Operation, status: int, value: Any) -> Any:
    """`value` with every member that the description requires besides."""
    schema = asked.described["responses"].get(str(status))
    return value if schema is None else _fill(schema, value)


def _fill(schema: Mapping[str, Any], value: Any) -> Any:
    schema = _resolved(schema, value)
    if isinstance(value, list):
        return [_fill(schema.get("items", {}), one) for one in value]
    if not isinstance(value, dict):
        return value
    properties = schema.get("properties", {})
    known = {name: _fill(properties.get(name, {}), one) for name, one in value.items()}
    for name in schema.get("required", []):
        if name not in known:
            known[name] = _sample(properties.get(name, {}), name)
    return known


def _resolved(schema: Mapping[str, Any], value: Any) -> Mapping[str, Any]:
    """The schema that is meant for a value: references followed, the fitting one of several, all of many in one."""
    while "$ref" in schema:
        schema = _digest()["schemas"][str(schema["$ref"]).rpartition("/")[2]]
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return _resolved(_fitting(schema[several], value), value)
    if "allOf" in schema:
        parts = [_resolved(part, value) for part in schema["allOf"]]
        properties = {name: one for part in parts for name, one in part.get("properties", {}).items()}
        required = [name for part in parts for name in part.get("required", [])]
        return {"type": "object", "properties": properties, "required": required}
    return schema


def _fitting(schemas: list[Mapping[str, Any]], value: Any) -> Mapping[str, Any]:
    """The first that takes the value once it is filled, else the first of its type."""
    typed = [one for one in schemas if _type_of(_resolved(one, value)) in (None, _type_of_value(value))]
    for one in typed:
        if _faults(one, _fill(one, value)) is None:
            return one
    return typed[0] if typed else schemas[0]


def _sample(schema: Mapping[str, Any], name: str) -> Any:
    """The plainest value that a schema takes."""
    if any(one.get("type") == "null" for one in schema.get("anyOf", [])):
        return None
    schema = _resolved(schema, {})
    if "enum" in schema:
        return schema["enum"][0]
    kind = _type_of(schema)
    if kind == "object" or "properties" in schema:
        return _fill(schema, {})
    if kind == "string":
        return _FORMATS.get(schema.get("format", ""), name or "text")
    return {"array": [], "integer": 1, "number": 1, "boolean": False}.get(kind or "")


def _type_of(schema: Mapping[str, Any]) -> str | None:
    kind = schema.get("type")
    return str(kind[0] if isinstance(kind, list) else kind) if kind is not None else None


def _type_of_value(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    kinds = {dict: "object", list: "array", str: "string", int: "integer", float: "number"}
    return next(name for kind, name in kinds.items() if isinstance(value, kind))


def _check(what: str, schema: Mapping[str, Any], value: Any) -> None:
    fault = _faults(schema, value)
    if fault is not None:
        raise NotAsDescribed(f"{what}: {fault}")


def _faults(schema: Mapping[str, Any], value: Any) -> str | None:
    whole = {**schema, "components": {"schemas": _digest()["schemas"]}}
    wrong = best_match(_errors(whole, value))
    return None if wrong is None else f"{wrong.json_path}: {wrong.message[:300]}"


def _errors(schema: Mapping[str, Any], value: Any) -> Iterator[Any]:
    found: Iterator[Any] = Draft202012Validator(schema).iter_errors(value)
    return found


@lru_cache(maxsize=1)
def _digest() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(DIGEST.read_text(encoding="utf-8"))
    return found
