"""Valid files below `.agents/`, with as little in them as the format allows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

STATES = ("queued", "blocked", "done", "failed", "cancelled")

#: Plain scalars that YAML 1.1 and 1.2 both read as the string that they are.
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./@+-]*(?:\*\*|/\*)?")
_NOT_STRINGS = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null"])


def task_id(number: int) -> str:
    """The id of the `number`-th task of a test, as in `T-20260814-0000000a`."""
    return f"T-20260814-{number:08x}"


def task_file(
    id: str,
    *,
    title: str = "A task",
    status: str = "queued",
    classification: str = "feature",
    paths: Sequence[str] = ("src/",),
    locks: Sequence[str] = (),
    depends_on: Sequence[str] = (),
    body: str = "What is wanted.\n",
    **more: Any,
) -> str:
    """A task. Empty lists are left out; `more` are further keys (`priority="p0"`, `acceptance=["…"]`)."""
    if status == "failed":
        more.setdefault("failure", {"kind": "implementation-mistake", "note": "It did not work."})
    head = {"id": id, "title": title, "status": status, "classification": classification}
    lists = {"locks": list(locks), "depends_on": list(depends_on)}
    head |= {key: value for key, value in lists.items() if value} | more | {"authority": {"paths": list(paths)}}
    return f"---\n{yaml(head)}---\n{body}"


def plan_file(revision: int = 1, status: str = "approved", **more: Any) -> str:
    """`plan.md`."""
    return f"---\n{yaml({'revision': revision, 'status': status, **more})}---\nThe plan.\n"


def milestone(
    id: str, tasks: Sequence[str], *, status: str = "active", integration: str | None = None, **more: Any
) -> dict[str, Any]:
    """One milestone for `manifest_file`."""
    last = {"integration": integration} if integration else {}
    return {"id": id, "title": f"Milestone {id}", "status": status, "tasks": list(tasks), **last, **more}


def manifest_file(milestones: Sequence[Mapping[str, Any]] = (), plan_revision: int = 1) -> str:
    """`manifest.yaml`."""
    return yaml({"plan_revision": plan_revision, "milestones": list(milestones)})


def board_files(
    tasks: Iterable[str] = (),
    plan: str | int | None = None,
    manifest: str | Sequence[Mapping[str, Any]] | None = None,
    config: str | Mapping[str, Any] | None = None,
) -> dict[str, str]:
    """The files of a board, for `Repo.commit`: path to content, a `.gitkeep` in every state folder.

    `tasks` are ids (a minimal queued task each) or texts from `task_file`, filed by their status. `plan` is a text or
    the revision of an approved plan, `manifest` a text or milestones of that plan, `config` a text or its keys.
    Without `plan` and `manifest` the board has no plan.
    """
    files = {f".agents/tasks/{state}/.gitkeep": "" for state in STATES}
    for text in tasks:
        task = text if text.startswith("---") else task_file(text)
        files[task_path(task)] = task
    revision = plan if isinstance(plan, int) else 1
    if plan is not None:
        files[".agents/plan.md"] = plan_file(plan) if isinstance(plan, int) else plan
    if manifest is not None:
        text = manifest if isinstance(manifest, str) else manifest_file(manifest, revision)
        files[".agents/manifest.yaml"] = text
    if config is not None:
        files[".agents/swarm.yaml"] = config if isinstance(config, str) else yaml(config)
    return files


def task_path(task: str) -> str:
    """Where the task with this text, or with this id while it is queued, belongs."""
    if not task.startswith("---"):
        return f".agents/tasks/queued/{task}.md"
    id, state = _value(task, "id"), _value(task, "status")
    return f".agents/backlog/{id}.md" if state == "backlog" else f".agents/tasks/{state}/{id}.md"


def moved(task: str, state: str, **more: Any) -> dict[str, str | None]:
    """The edit, for `Repo.commit`, that moves the task with this text to another state and adds `more` keys."""
    head = task.replace(f"\nstatus: {_value(task, 'status')}\n", f"\nstatus: {state}\n", 1)
    after = head.replace("\nauthority:\n", f"\n{yaml(more) if more else ''}authority:\n", 1)
    return {task_path(task): None, task_path(after): after}


def yaml(mapping: Mapping[str, Any]) -> str:
    """Block YAML of strings, integers, booleans, lists and mappings; no lists of lists."""
    return "".join(f"{line}\n" for line in _lines(mapping))


def _lines(mapping: Mapping[str, Any]) -> list[str]:
    lines = []
    for key, value in mapping.items():
        if isinstance(value, Mapping) and value:
            lines += [f"{key}:"] + [f"  {line}" for line in _lines(value)]
        elif isinstance(value, Sequence) and not isinstance(value, str) and value:
            lines += [f"{key}:"] + [f"  {line}" for item in value for line in _item(item)]
        else:
            lines.append(f"{key}: {_scalar(value)}")
    return lines


def _item(item: Any) -> list[str]:
    if not isinstance(item, Mapping):
        return [f"- {_scalar(item)}"]
    first, *rest = _lines(item)
    return [f"- {first}"] + [f"  {line}" for line in rest]


def _scalar(value: Any) -> str:
    """Quoted in the JSON manner where it is not plainly a string. An empty list or mapping is `[]` or `{}`."""
    plain = isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _NOT_STRINGS
    return str(value) if plain else json.dumps(value, ensure_ascii=False)


def _value(text: str, key: str) -> str:
    """A plain top-level value of a front matter."""
    found = re.search(rf"^{key}: (\S+)$", text, re.MULTILINE)
    assert found is not None, f"no plain {key} in {text[:200]!r}"
    return found.group(1)
