"""A task file as a value. board.md, "Task", says what each key means; this is where its types are checked."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from enum import Enum

from claims import clock
from claims.board import fields
from claims.board.authority import MAX_PATTERNS, Authority, Pattern, parse_pattern
from claims.board.node import Malformed, Node
from claims.board.strict_yaml import FrontMatter, split_front_matter
from claims.errors import Undecided
from claims.names import (
    AgentName,
    LockKey,
    TaskId,
    parse_agent,
    parse_lock_key,
    parse_slug,
    parse_task_id,
)
from claims.values import dataclass, replace

CODE = "malformed-task"


class State(str, Enum):
    """Where a task is, by its folder. In the order in which a task's place is looked up."""

    DONE = "done"
    QUEUED = "queued"
    BLOCKED = "blocked"
    FAILED = "failed"
    CANCELLED = "cancelled"
    BACKLOG = "backlog"

    @property
    def folder(self) -> str:
        """The folder of its tasks, from the root of the repository, without a slash at the end."""
        return ".agents/backlog" if self is State.BACKLOG else f".agents/tasks/{self.value}"


class Classification(str, Enum):
    FEATURE = "feature"
    BUG_FIX = "bug-fix"
    SIMPLIFICATION = "simplification"
    ARCHITECTURE = "architecture"
    PROCESS = "process"
    TESTING = "testing"
    DOCS = "docs"


class Kind(str, Enum):
    """Which cap on work in progress counts the task."""

    IMPLEMENTATION = "implementation"
    INTEGRATION = "integration"
    PLANNING = "planning"
    AMENDMENT = "amendment"


class Priority(str, Enum):
    P0 = "p0"
    P1 = "p1"
    P2 = "p2"
    P3 = "p3"


class FailureKind(str, Enum):
    IMPLEMENTATION_MISTAKE = "implementation-mistake"
    BROKEN_VERIFICATION = "broken-verification"
    SPEC_GAP = "spec-gap"
    INVALID_PREMISE = "invalid-premise"
    PLAN_LEVEL_WRONG = "plan-level-wrong"


#: A task's keys, in the order in which new files have them.
KEYS = (
    "id",
    "title",
    "status",
    "classification",
    "kind",
    "priority",
    "stream",
    "depends_on",
    "locks",
    "review_by",
    "reserved_for",
    "authority",
    "acceptance",
    "verify",
    "regenerated_from",
    "failure",
    "completed_at",
    "completed_by",
    "result",
)
#: The keys that the digest leaves out: they change while a task is worked on.
NOT_IN_DIGEST = (
    "status",
    "completed_at",
    "completed_by",
    "result",
    "failure",
    "reserved_for",
    "priority",
    "review_by",
)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a task failed. Only an invalid premise lets another task be made in its place."""

    kind: FailureKind
    note: str


@dataclass(frozen=True, slots=True)
class Task:
    """A task as its file says it. `path` is the file's, from the root of the repository.

    `digest` is `sha256:` and hex (board.md, "The task digest"). `authority_block` is the lines of `authority`, with LF.
    """

    path: str
    id: TaskId
    title: str
    state: State
    classification: Classification
    kind: Kind
    priority: Priority
    stream: str | None
    depends_on: tuple[TaskId, ...]
    locks: tuple[LockKey, ...]
    review_by: date | None
    reserved_for: AgentName | None
    authority: Authority
    acceptance: tuple[str, ...]
    verify: tuple[str, ...]
    regenerated_from: TaskId | None
    failure: Failure | None
    completed_at: str | None
    completed_by: str | None
    result: str | None
    body: str
    digest: str
    authority_block: bytes


def task_path(task: TaskId, state: State) -> str:
    """Where the file of `task` is while it is in `state`."""
    return f"{state.folder}/{task}.md"


def place_of(path: str) -> tuple[TaskId, State]:
    """The task and the state that a path stands for. Raises ValueError where it is no task file's."""
    folder, _, name = path.rpartition("/")
    state = _STATE_OF_FOLDER.get(folder)
    if state is None:
        raise ValueError(f"{path!r} is in none of the folders of tasks: {', '.join(_STATE_OF_FOLDER)}")
    if not name.endswith(".md"):
        raise ValueError(f"{path!r} is not named <task id>.md")
    return parse_task_id(name[: -len(".md")]), state


def parse_task(data: bytes, path: str) -> Task:
    """Read a task's file. `path` says which task and state it must be, as in `.agents/tasks/queued/T-….md`.

    Raises Undecided("malformed-task") with `path:line: …`; Undecided("limits-exceeded") for a file over 256 KiB.
    """
    front = split_front_matter(data, path, CODE)
    try:
        return _task(front, path)
    except Malformed as wrong:
        raise wrong.at(path, CODE) from None


def task_digest(front: FrontMatter) -> str:
    """`sha256:` and hex over the front matter's lines, without those of the keys that change (board.md)."""
    import hashlib  # as in claims.names

    return "sha256:" + hashlib.sha256(front.lines_without(NOT_IN_DIGEST)).hexdigest()


def compose_task(
    *,
    id: TaskId,
    title: str,
    paths: Sequence[str],
    state: State = State.QUEUED,
    classification: Classification = Classification.FEATURE,
    kind: Kind = Kind.IMPLEMENTATION,
    priority: Priority = Priority.P2,
    stream: str | None = None,
    depends_on: Sequence[TaskId] = (),
    locks: Sequence[LockKey] = (),
    review_by: date | None = None,
    reserved_for: AgentName | None = None,
    acceptance: Sequence[str] = (),
    verify: Sequence[str] = (),
    regenerated_from: TaskId | None = None,
    body: str = "",
) -> bytes:
    """Write a new task's file. It reads back as what was asked for. Raises ValueError for what a task cannot hold."""
    draft = Task(
        path=task_path(id, state),
        id=id,
        title=title,
        state=state,
        classification=classification,
        kind=kind,
        priority=priority,
        stream=stream,
        depends_on=tuple(dict.fromkeys(depends_on)),
        locks=tuple(dict.fromkeys(locks)),
        review_by=review_by,
        reserved_for=reserved_for,
        authority=Authority(tuple(map(parse_pattern, paths))),
        acceptance=tuple(acceptance),
        verify=tuple(verify),
        regenerated_from=regenerated_from,
        failure=None,
        completed_at=None,
        completed_by=None,
        result=None,
        body=body,
        digest="",
        authority_block=b"",
    )
    data = f"---\n{_front_matter(draft)}---\n{body}".encode()
    try:
        written = parse_task(data, draft.path)
    except Undecided as refused:
        raise ValueError(refused.message) from None
    if replace(draft, digest=written.digest, authority_block=written.authority_block) != written:
        raise ValueError(f"a task file cannot hold what was given for {id}")
    return data


def _front_matter(task: Task) -> str:
    """The lines of a new task, optional keys only where they say something."""
    # Imported here: only one command writes tasks.
    from claims.board import yaml_text

    singles = {
        "id": task.id,
        "title": task.title,
        "status": task.state.value,
        "classification": task.classification.value,
        "kind": task.kind.value if task.kind is not Kind.IMPLEMENTATION else None,
        "priority": task.priority.value,
        "stream": task.stream,
        "review_by": task.review_by.isoformat() if task.review_by else None,
        "reserved_for": task.reserved_for,
        "regenerated_from": task.regenerated_from,
    }
    parts = {key: f"{key}: {yaml_text.scalar(value)}\n" for key, value in singles.items() if value is not None}
    parts["authority"] = "authority:\n" + yaml_text.block_list(
        "paths", [pattern.text for pattern in task.authority.patterns], "  "
    )
    for key, short in (("depends_on", task.depends_on), ("locks", task.locks)):
        if short:
            parts[key] = yaml_text.flow_list(key, short)
    for key, long in (("acceptance", task.acceptance), ("verify", task.verify)):
        if long:
            parts[key] = yaml_text.block_list(key, long)
    return "".join(parts[key] for key in KEYS if key in parts)


def _task(front: FrontMatter, path: str) -> Task:
    known = fields.Fields(front.root, 1, "a task", KEYS)
    named, folder = _place(path)
    state = _state(known, folder)
    identity = _identity(known, named)
    failure = known.optional("failure", _failure, None)
    if state is State.FAILED and failure is None:
        raise Malformed(1, "a failed task lacks `failure`", "add `failure:` with `kind:` and `note:`")
    return Task(
        path=path,
        id=identity,
        title=known.required("title", fields.line_of_text),
        state=state,
        classification=known.required("classification", _CLASSIFICATION),
        kind=known.optional("kind", _KIND, Kind.IMPLEMENTATION),
        priority=known.optional("priority", _PRIORITY, Priority.P2),
        stream=known.optional("stream", fields.parsed(parse_slug), None),
        depends_on=known.optional("depends_on", _depends_on(identity), ()),
        locks=known.optional("locks", _LOCKS, ()),
        review_by=known.optional("review_by", fields.parsed(clock.parse_date), None),
        reserved_for=known.optional("reserved_for", fields.parsed(parse_agent), None),
        authority=known.required("authority", read_authority),
        acceptance=known.optional("acceptance", _TEXTS, ()),
        verify=known.optional("verify", _TEXTS, ()),
        regenerated_from=known.optional("regenerated_from", fields.parsed(parse_task_id), None),
        failure=failure,
        completed_at=known.optional("completed_at", fields.scalar, None),
        completed_by=known.optional("completed_by", fields.scalar, None),
        result=known.optional("result", fields.scalar, None),
        body=front.body,
        digest=task_digest(front),
        authority_block=front.block_lines("authority"),
    )


def _state(known: fields.Fields, folder: State) -> State:
    """The state that folder and `status` agree on."""
    status = known.required("status", _STATE)
    if status is not folder:
        raise Malformed(
            known.line("status"),
            f"`status`: {status.value}, but the file is in {folder.folder}/",
            f"write `status: {folder.value}`, or move the file to {status.folder}/",
        )
    return status


def _identity(known: fields.Fields, named: TaskId) -> TaskId:
    """The id that file name and `id` agree on."""
    identity = known.required("id", fields.parsed(parse_task_id))
    if identity != named:
        raise Malformed(known.line("id"), f"`id`: {identity}, but the file is named {named}.md", f"write `id: {named}`")
    return identity


def _place(path: str) -> tuple[TaskId, State]:
    try:
        return place_of(path)
    except ValueError as wrong:
        raise Malformed(1, str(wrong)) from None


def read_authority(node: Node) -> Authority:
    """The node as an authority: a mapping with `paths`, 1 to 200 patterns. Raises Malformed."""
    patterns = fields.mapping(node, "an authority", ("paths",)).required("paths", read_patterns)
    if not 1 <= len(patterns) <= MAX_PATTERNS:
        raise Malformed(node.line, f"{len(patterns)} paths; an authority has 1 to {MAX_PATTERNS}")
    return Authority(patterns)


def _failure(node: Node) -> Failure:
    known = fields.mapping(node, "a failure", ("kind", "note"))
    return Failure(known.required("kind", _FAILURE_KIND), known.required("note", fields.text))


def _depends_on(identity: TaskId) -> fields.Reading[tuple[TaskId, ...]]:
    def read(node: Node) -> tuple[TaskId, ...]:
        ids = _TASK_IDS(node)
        if identity in ids:
            raise Malformed(node.line, f"{identity} depends on itself")
        return ids

    return read


#: Reads a list of patterns.
read_patterns: fields.Reading[tuple[Pattern, ...]] = fields.list_of(fields.parsed(parse_pattern))

_STATE = fields.one_of(State)
_CLASSIFICATION = fields.one_of(Classification)
_KIND = fields.one_of(Kind)
_PRIORITY = fields.one_of(Priority)
_FAILURE_KIND = fields.one_of(FailureKind)
_TASK_IDS = fields.distinct(fields.parsed(parse_task_id))
_LOCKS = fields.distinct(fields.parsed(parse_lock_key))
_TEXTS = fields.list_of(fields.text)
_STATE_OF_FOLDER = {state.folder: state for state in State}
