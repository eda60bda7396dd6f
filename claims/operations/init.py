"""`swarm init`: the first files of a board, in the working tree. It never touches a file that is there."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

from claims.board.board import Board
from claims.board.config import CONFIG_PATH
from claims.board.plan import MANIFEST_PATH, PLAN_PATH
from claims.board.task import State, compose_task, task_path
from claims.board.worktree import WorkTree
from claims.names import TaskId
from claims.operations.writing import alone_in, write
from claims.values import dataclass

#: The milestone that a new manifest has.
MILESTONE = "m1"

_CONFIG = """\
# How swarm works in this repository. It counts as the base branch has it. Every key may be left out; what stands here
# are the defaults, except for gate.history.

# Minutes until a claim that is not renewed runs out, 1 to 1440.
lease_minutes: 30

# How many claims may be held at once, by the kind of task. A kind that is not listed has no cap.
# wip:
#   implementation: 3
#   integration: 1
#   planning: 1
#   amendment: 1

# Whether an agent may hold one claim at a time only.
one_claim_per_agent: false

# Where another live claim may touch the same files: warn, or refuse the second one.
overlap: warn

# Days that ended claims stay in the log before `swarm prune` archives them.
retention_days: 30

# What the gate goes by, which judges pull requests.
gate:
  # Who may change the plan, the tasks and this file: GitHub logins, or {login, id}.
  operators: []

  # Paths that a task must name in full to touch them, besides .github/, CODEOWNERS, .gitmodules and .gitattributes.
  protected: []

  # squash: only what a pull request comes to in the end counts, which is right where all are merged by squashing.
  # commits: what the commits on the way touch counts as well. Without this key it is commits.
  history: squash

  # Whether an operator may land code without a task. The gate remarks on it.
  hotfix: false

  # Authors whose pull requests need no task, and what they may touch:
  #   - login: "dependabot[bot]"
  #     paths: [package-lock.json, "requirements*.txt"]
  exempt: []

  # Whether claims must be signed: off or required.
  signatures: off
"""

_PLAN = """\
---
revision: {revision}
status: approved
---
# Plan

What this repository is to become, in which steps, and what is not to be done. Raise `revision` here and `plan_revision`
in `manifest.yaml` together when it changes: claims that were made under the old one are then to be looked at again.
"""

_MANIFEST = """\
# What the approved plan releases. A task can be claimed while a milestone that is active lists it.
plan_revision: {revision}
milestones:
  - id: {milestone}
    title: The first milestone
    status: active            # planned, active, integrating or done
    tasks: []
"""

_EXAMPLE = """\
This is an example. In the backlog nobody can claim it.

To release a task, move its file to `.agents/tasks/queued/`, write `status: queued`, and list its id in
`.agents/manifest.yaml`. `swarm add` writes a new one that is queued already.

Delete this file when you have seen it.
"""

_KEPT_FOLDERS = (*(state.folder for state in State), ".agents/proposals", ".agents/decisions")


@dataclass(frozen=True, slots=True)
class Initialised:
    """The paths that were written and those that were there before, each from the root of the working tree."""

    written: tuple[str, ...]
    kept: tuple[str, ...]
    next_steps: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return {"written": list(self.written), "kept": list(self.kept), "next": list(self.next_steps)}


def init(top: Path, today: date, draw: Callable[[], str]) -> Initialised:
    """Write what is missing of the skeleton. `draw` gives eight hex digits for the example's id.

    Raises Undecided where the plan or the manifest is there without the other and does not read.
    """
    with alone_in(top):
        board = Board(None, WorkTree(os.fspath(top)))
        files = {path: text.encode() for path, text in _texts(board).items()}
        if not any(board.ids_in(state) for state in State):
            files |= _example(TaskId(f"T-{today:%Y%m%d}-{draw()}"))
        kept = tuple(path for path in files if os.path.lexists(top / path))
        new = {path: data for path, data in files.items() if path not in kept}
        write(top, new)
        return Initialised(tuple(new), kept, _next_steps(bool(new)))


def _texts(board: Board) -> dict[str, str]:
    """The files that are always the same, but that plan and manifest agree on the revision."""
    revision = _revision(board)
    texts = {
        CONFIG_PATH: _CONFIG,
        PLAN_PATH: _PLAN.format(revision=revision),
        MANIFEST_PATH: _MANIFEST.format(revision=revision, milestone=MILESTONE),
    }
    return {**texts, **{f"{folder}/.gitkeep": "" for folder in _KEPT_FOLDERS}}


def _revision(board: Board) -> int:
    """That of the plan or manifest which is there already, so that the other will go with it."""
    if board.plan is not None:
        return board.plan.revision
    return board.manifest.plan_revision if board.manifest is not None else 1


def _example(task: TaskId) -> dict[str, bytes]:
    data = compose_task(
        id=task,
        title="An example of a task",
        paths=["docs/example.md"],
        state=State.BACKLOG,
        acceptance=["docs/example.md says what the example is for"],
        body=_EXAMPLE,
    )
    return {task_path(task, State.BACKLOG): data}


def _next_steps(wrote: bool) -> tuple[str, ...]:
    commit = ("git add .agents && git commit -m 'Add the board'   # and have it on the base branch",) if wrote else ()
    return (
        *commit,
        f"swarm add TITLE --path PATH --milestone {MILESTONE}   # writes a task that can be claimed once base has it",
    )
