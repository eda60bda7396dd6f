"""Repositories to measure in: a board, an agent's clone of it, and who arbitrates."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support import board
from tests.support.http_origin import HttpOrigin
from tests.support.repo import Files, Repo, clone, init, origin

PLACES = ("local", "file", "http")
BRANCH = "agent/work"
#: The states that the tasks of a large board are in, in turn.
_STATES = ("queued", "done", "done", "blocked", "done", "cancelled", "done", "done", "done", "done")


@dataclass(frozen=True, slots=True)
class Scene:
    """The clone in which the commands run, on a branch level with base; `origin` is None where nothing arbitrates."""

    place: str
    work: Repo
    origin: Repo | None

    @property
    def arbiter(self) -> Repo:
        """The repository whose refs decide."""
        return self.origin or self.work


def build(folder: Path, place: str, files: Files, server: HttpOrigin | None = None) -> Scene:
    """A scene below `folder`, which does not exist yet. `server` is for the place `http`."""
    folder.mkdir(parents=True)
    if place == "local":
        work = init(folder / "work", None)
        work.commit(files, "Start", branch="main")
        work.git("reset", "-q", "--hard")
        work.branch(BRANCH)
        return Scene(place, _settled(work), None)
    if place == "http":
        assert server is not None
        name = "-".join(folder.parts[-2:])
        source, url = server.create(name, files), server.url(name)
    else:
        source = origin(folder / "origin.git", files)
        url = source.url
    work = clone(url, folder / "work")
    work.branch(BRANCH)
    return Scene(place, _settled(work), source)


def _settled(work: Repo) -> Repo:
    """With an index that is older than a second, as in any clone that is worked in.

    What was checked out in the second in which the index was written, git reads again each time that it looks.
    """
    index = work.path / ".git" / "index"
    written = index.stat().st_mtime
    while time.time() < int(written) + 1.1:
        time.sleep(0.1)
    os.utime(index)
    work.git("status")
    return work


def plain_board(tasks: int) -> dict[str, str]:
    """Queued tasks, and neither plan nor manifest nor configuration."""
    return board.board_files(map(board.task_id, range(tasks)))


def full_board(tasks: int) -> dict[str, str]:
    """The same with a plan, a manifest that lists them all, and a configuration with caps."""
    return board.board_files(
        [board.task_file(board.task_id(number), locks=[f"lock-{number}"]) for number in range(tasks)],
        plan=1,
        manifest=[board.milestone("m1", [board.task_id(number) for number in range(tasks)])],
        config={"lease_minutes": 45, "wip": {"implementation": 3}, "one_claim_per_agent": True},
    )


def braced_board(tasks: int) -> dict[str, str]:
    """The same with a manifest that takes a full reader of YAML: a mapping in braces."""
    ids = ", ".join(board.task_id(number) for number in range(tasks))
    stone = f"{{id: m1, title: First, status: active, tasks: [{ids}]}}"
    return full_board(tasks) | {".agents/manifest.yaml": f"plan_revision: 1\nmilestones:\n  - {stone}\n"}


def large_board(tasks: int) -> dict[str, str]:
    """A board of that many tasks, one in ten of them queued (the first of every ten)."""
    return board.board_files(
        board.task_file(board.task_id(number), status=_STATES[number % len(_STATES)]) for number in range(tasks)
    )


def add_log_refs(repo: Repo, count: int, closed: Sequence[bytes]) -> None:
    """`count` log refs, packed, ten a task, that point at the few records in `closed` in turn."""
    if not count:
        return
    blobs = [repo.blob(record) for record in closed]
    lines = []
    for number in range(count):
        task, stamp = f"T-20250101-{number // 10:08x}", f"20250101T000000.{number % 10:03d}Z"
        lines.append(f"create refs/swarm/claim-log/{task}/{stamp} {blobs[number % len(blobs)]}\n")
    repo.git("update-ref", "--stdin", input="".join(lines))
    repo.git("pack-refs", "--all")


def forget_claims(scene: Scene) -> None:
    """Undo what `claim` did, with plain git: its refs at the arbiter and here, and its token."""
    for repo in {scene.arbiter, scene.work}:
        names = repo.refs("refs/swarm/task-claims/") | repo.refs("refs/swarm/task-locks/")
        repo.git("update-ref", "--stdin", input="".join(f"delete {name}\n" for name in names))
    for token in scene.work.git_path("swarm").glob("token-*"):
        token.unlink()
