"""The whole board at once: does every file read, and do they agree with each other?

Every fault is told, not the first alone. What only misleads is a notice.
"""

from __future__ import annotations

from collections.abc import Iterator

from claims.board import graph
from claims.board.board import TreeReader
from claims.board.doubts import doubts
from claims.board.plan import MANIFEST_PATH, PLAN_PATH, Milestone, MilestoneStatus
from claims.board.proposal import ProposalStatus
from claims.board.survey import Remark, Survey, survey
from claims.board.task import FailureKind, Kind, State
from claims.board.task_links import dead_links
from claims.names import TaskId
from claims.values import dataclass

__all__ = ["Remark", "Report", "check"]

#: A cycle is told with at most so many of its tasks.
_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Report:
    """What is wrong with a board (nothing: it is valid), what only misleads, and how many tasks it has."""

    faults: tuple[Remark, ...]
    notices: tuple[Remark, ...]
    tasks: int


def check(reader: TreeReader) -> Report:
    """Check everything under `.agents/`. Raises Undecided only where the tree itself cannot be read."""
    found = survey(reader)
    faults = [
        *found.faults,
        *_in_several_places(found),
        *_dependencies(found),
        *_plan_and_manifest(found),
        *_regenerated(found),
        *_revisions(found),
        *_numbers(found),
    ]
    notices = [*found.notices, *_never_claimable(found), *_of_another_kind(found), *dead_links(reader, found)]
    notices += doubts(found, reader)
    return Report(tuple(sorted(faults, key=_order)), tuple(sorted(notices, key=_order)), len(found.places))


def _order(remark: Remark) -> tuple[str, str]:
    return remark.path, remark.message


def _in_several_places(found: Survey) -> Iterator[Remark]:
    for task, states in found.places.items():
        if len(states) > 1:
            folders = " and ".join(state.folder for state in states)
            yield Remark(f"{states[0].folder}/{task}.md", f"{task} has a file in {folders}: a task is in one state")


def _dependencies(found: Survey) -> Iterator[Remark]:
    for path, task in found.tasks.items():
        for wanted in task.depends_on:
            if wanted not in found.places:
                yield Remark(path, f"`depends_on` names {wanted}, of which there is no file")
    for cycle in graph.cycles(graph.edges(found.tasks.values(), found.manifest)):
        shown = " → ".join([*cycle[:_SHOWN], *(["…"] if len(cycle) > _SHOWN else []), cycle[0]])
        yield Remark(_path_of(found, cycle[0]), f"tasks that wait for each other: {shown}")


def _path_of(found: Survey, task: TaskId) -> str:
    states = found.places.get(task)
    return f"{states[0].folder}/{task}.md" if states else MANIFEST_PATH


def _plan_and_manifest(found: Survey) -> Iterator[Remark]:
    has_plan, has_manifest = PLAN_PATH in found.there, MANIFEST_PATH in found.there
    if has_plan != has_manifest:
        missing = MANIFEST_PATH if has_plan else PLAN_PATH
        yield Remark(missing, "there is only one of plan.md and manifest.yaml: nothing can be claimed with one alone")
    manifest, plan = found.manifest, found.plan
    if manifest is not None and plan is not None and manifest.plan_revision != plan.revision:
        message = f"`plan_revision` is {manifest.plan_revision}, the plan is at revision {plan.revision}"
        yield Remark(MANIFEST_PATH, message)
    for stone in manifest.milestones if manifest is not None else ():
        listed = (*stone.tasks, *([stone.integration] if stone.integration is not None else []))
        for task in listed:
            if task not in found.places:
                yield Remark(MANIFEST_PATH, f"line {stone.line}: milestone {stone.id} lists {task}, which has no file")
        if stone.status is MilestoneStatus.DONE and stone.integration is not None:
            states = found.places.get(stone.integration, [])
            if states and State.DONE not in states:
                message = (
                    f"line {stone.line}: milestone {stone.id} is done, its integration task {stone.integration} is not"
                )
                yield Remark(MANIFEST_PATH, message)


def _regenerated(found: Survey) -> Iterator[Remark]:
    by_id = {task.id: task for task in found.tasks.values()}
    for path, task in found.tasks.items():
        origin = task.regenerated_from
        if origin is None:
            continue
        if origin not in found.places:
            yield Remark(path, f"`regenerated_from` names {origin}, of which there is no file")
        elif origin in by_id:
            failure = by_id[origin].failure
            if failure is None or failure.kind is not FailureKind.INVALID_PREMISE:
                yield Remark(path, f"{origin} did not fail for an invalid premise, so no other task may replace it")


def _revisions(found: Survey) -> Iterator[Remark]:
    revision = found.plan.revision if found.plan is not None else 0
    for path, one in found.proposals.items():
        if one.base_plan_revision > revision:
            yield Remark(path, f"raised against plan revision {one.base_plan_revision}; the plan is at {revision}")
        if one.status is ProposalStatus.FOLDED and one.folded_into is not None and one.folded_into > revision:
            yield Remark(path, f"folded into plan revision {one.folded_into}; the plan is at {revision}")


def _numbers(found: Survey) -> Iterator[Remark]:
    first: dict[int, str] = {}
    for path, one in sorted(found.decisions.items()):
        if first.setdefault(one.number, path) != path:
            yield Remark(path, f"{first[one.number]} has the number {one.number:04} already")


def _never_claimable(found: Survey) -> Iterator[Remark]:
    """Queued tasks that nobody can claim, whatever happens to others."""
    for path, task in found.tasks.items():
        if task.state is not State.QUEUED:
            continue
        for wanted in task.depends_on:
            ended = [state.value for state in found.places.get(wanted, ()) if state in (State.FAILED, State.CANCELLED)]
            if ended:
                yield Remark(
                    path, f"it waits for {wanted}, which is {ended[0]}: nobody can claim it until that is done"
                )
        if found.manifest is None:
            continue
        stone = found.manifest.milestone_of(task.id)
        if stone is None:
            yield Remark(path, "no milestone lists this queued task, so nobody can claim it")
        elif stone.status is MilestoneStatus.DONE:
            yield Remark(path, f"its milestone {stone.id} is done, so nobody can claim it")


def _of_another_kind(found: Survey) -> Iterator[Remark]:
    """Integration tasks that the cap on integrations does not count."""
    stones: dict[TaskId | None, Milestone] = {
        stone.integration: stone for stone in (found.manifest.milestones if found.manifest is not None else ())
    }
    for path, task in found.tasks.items():
        if task.id in stones and task.kind is not Kind.INTEGRATION:
            message = f"it integrates the milestone {stones[task.id].id}, but its `kind` is {task.kind.value}"
            yield Remark(path, message, "kind: integration")
