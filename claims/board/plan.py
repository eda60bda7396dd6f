"""The plan and what it releases. board.md, "Plan and manifest"."""

from __future__ import annotations

import re
from enum import Enum

from claims.board import fields, yaml_files
from claims.board.node import Malformed, Node
from claims.board.strict_yaml import split_front_matter
from claims.names import TaskId, parse_task_id
from claims.values import dataclass, field

PLAN_PATH = ".agents/plan.md"
MANIFEST_PATH = ".agents/manifest.yaml"
PLAN_CODE = "malformed-plan"
MANIFEST_CODE = "malformed-manifest"

_MAX_REVISION = 2**31 - 1
_MILESTONE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class PlanStatus(str, Enum):
    DRAFT = "draft"
    APPROVED = "approved"


class MilestoneStatus(str, Enum):
    PLANNED = "planned"
    ACTIVE = "active"
    INTEGRATING = "integrating"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Plan:
    """`plan.md`: which revision of the plan there is, and whether it is approved."""

    revision: int
    status: PlanStatus
    approved_by: str | None
    approved_at: str | None
    body: str


@dataclass(frozen=True, slots=True)
class Milestone:
    """`integration` is the task that ends the milestone; it depends on every one of `tasks`. `line` is its file's."""

    id: str
    title: str
    status: MilestoneStatus
    tasks: tuple[TaskId, ...]
    integration: TaskId | None
    line: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """What the plan at `plan_revision` releases. A task, or integration task, is in one milestone at most."""

    plan_revision: int
    milestones: tuple[Milestone, ...]
    # Filled when the first task is asked about: `swarm tasks` asks about all of them.
    _homes: dict[TaskId, Milestone] = field(default_factory=dict, init=False, repr=False, compare=False)

    def milestone_of(self, task: TaskId) -> Milestone | None:
        """The milestone that lists `task`, or whose integration task it is."""
        if not self._homes:
            self._homes.update((task, stone) for stone in self.milestones for task in _tasks_of(stone))
        return self._homes.get(task)


def parse_plan(data: bytes, path: str = PLAN_PATH) -> Plan:
    """Read `plan.md`. Raises Undecided("malformed-plan") with `path:line: …`."""
    front = split_front_matter(data, path, PLAN_CODE)
    try:
        known = fields.Fields(front.root, 1, "a plan", ("revision", "status", "approved_by", "approved_at"))
        return Plan(
            revision=known.required("revision", _REVISION),
            status=known.required("status", fields.one_of(PlanStatus)),
            approved_by=known.optional("approved_by", fields.line_of_text, None),
            approved_at=known.optional("approved_at", fields.line_of_text, None),
            body=front.body,
        )
    except Malformed as wrong:
        raise wrong.at(path, PLAN_CODE) from None


def parse_manifest(data: bytes, path: str = MANIFEST_PATH) -> Manifest:
    """Read `manifest.yaml`. Raises Undecided("malformed-manifest") with `path:line: …`."""
    root = yaml_files.load(data, path, MANIFEST_CODE)
    try:
        known = fields.Fields(root, 1, "a manifest", ("plan_revision", "milestones"))
        milestones = known.required("milestones", fields.list_of(_milestone))
        _refuse_repeats(milestones)
        return Manifest(known.required("plan_revision", _REVISION), milestones)
    except Malformed as wrong:
        raise wrong.at(path, MANIFEST_CODE) from None


def _milestone(node: Node) -> Milestone:
    known = fields.mapping(node, "a milestone", ("id", "title", "status", "tasks", "integration"))
    return Milestone(
        id=known.required("id", fields.parsed(_parse_milestone_id)),
        title=known.required("title", fields.line_of_text),
        status=known.required("status", _MILESTONE_STATUS),
        tasks=known.optional("tasks", _TASK_IDS, ()),
        integration=known.optional("integration", fields.parsed(parse_task_id), None),
        line=node.line,
    )


def _parse_milestone_id(text: str) -> str:
    if _MILESTONE_ID.fullmatch(text) is None:
        raise ValueError(f"{text!r} is not a milestone id: 1 to 64 of A-Z a-z 0-9 . _ -, not starting with a sign")
    return text


def _refuse_repeats(milestones: tuple[Milestone, ...]) -> None:
    """Raise Malformed where two milestones have one id or one task."""
    ids: set[str] = set()
    home: dict[TaskId, str] = {}
    for stone in milestones:
        if stone.id in ids:
            raise Malformed(stone.line, f"the milestone {stone.id} again")
        ids.add(stone.id)
        for task in _tasks_of(stone):
            if task in home:
                twice = "twice in" if home[task] == stone.id else f"in {home[task]} already, and in"
                raise Malformed(stone.line, f"{task} is {twice} the milestone {stone.id}")
            home[task] = stone.id


def _tasks_of(stone: Milestone) -> tuple[TaskId, ...]:
    return (*stone.tasks, stone.integration) if stone.integration is not None else stone.tasks


_REVISION = fields.integer(1, _MAX_REVISION)
_MILESTONE_STATUS = fields.one_of(MilestoneStatus)
_TASK_IDS = fields.list_of(fields.parsed(parse_task_id))
