"""A scene for one test: an origin with a small board, a clone to run commands in, and ways to change either.

Also `Scenario`, the row of a table of refusals: what is wrong, the command, its answer, and what makes it right.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import re
import shlex
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from tests.support.board import board_files, task_file, task_id, task_path
from tests.support.forked import ForkServer
from tests.support.repo import Files, Repo, Snapshot, clone, init, origin
from tests.support.swarm import SWARM, Env, Result, environment, swarm

T1, T2, T3, T4 = map(task_id, range(1, 5))
LOCK = "spec-lock"

#: T1 and T3 want the same lock and share files; T2 goes with everything.
TASKS = {
    T1: task_file(T1, title="The first", paths=["src/"], locks=[LOCK]),
    T2: task_file(T2, title="The second", paths=["docs/"]),
    T3: task_file(T3, title="The third", paths=["src/b.py"], locks=[LOCK]),
}
SOURCES = {"src/a.py": "a\n", "src/b.py": "b\n", "docs/index.md": "d\n"}
FILES: Files = {**SOURCES, **board_files(TASKS.values())}

CLAIM = "refs/swarm/task-claims/"
LIVE = (CLAIM, "refs/swarm/task-locks/", "refs/swarm/slots/")
#: The remote-tracking base, and what points at it.
TRACKING = ("refs/remotes/origin/main", "refs/remotes/origin/HEAD")
#: What follows the origin in a clone, whatever a command comes to.
MIRROR = (*LIVE, *TRACKING)

Act: TypeAlias = "Callable[[Scene], object]"


@dataclass
class Scene:
    """`here` is a clone of `origin` on the branch `work`, where the agent a1 is at home.

    Without an origin `here` stands alone. `env` is what commands run with besides the sealed environment.
    """

    here: Repo
    origin: Repo | None
    env: dict[str, str | None] = field(default_factory=lambda: {"SWARM_AGENT": "a1"})
    #: The hint of the last error that was told as JSON, or what only an operator should do.
    hint: str = ""
    #: More repositories in which nothing may change where a command is refused.
    others: list[Repo] = field(default_factory=list)

    @property
    def arbiter(self) -> Repo:
        """The repository whose refs count."""
        return self.origin or self.here

    @property
    def folder(self) -> Path:
        return self.here.path.parent

    def run(
        self,
        line: str | Sequence[str],
        *,
        ok: bool | None = None,
        env: Env | None = None,
        at: Repo | Path | None = None,
        installed: bool = False,
        ahead: float = 0,
    ) -> Result:
        """Run `swarm` with arguments, or a line as a shell would split it. Whatever it says, it is no traceback.

        `installed`: the console script, as a user starts it. Else the same in a process that is forked from one that
        has loaded it, which takes a tenth of the time, and with a clock that is `ahead` by so many minutes.
        """
        words = shlex.split(line) if isinstance(line, str) else line
        variables = {**self.env, **(env or {})}
        if installed:
            result = swarm(at or self.here, *words, env=variables, ok=ok)
        else:
            clock = self.folder / "clock"
            clock.write_text(str(ahead))
            result = _fork_server().run(at or self.here, *words, env=variables, ok=ok, clock=clock)
        assert "Traceback" not in result.out + result.err, result
        return result

    def claims(self, line: str) -> dict[str, Any]:
        """Run a command that works and give its JSON."""
        value = self.run(f"{line} --json", ok=True).json
        assert isinstance(value, dict)
        return value

    def refused(
        self, line: str, *, env: Env | None = None, at: Repo | Path | None = None, installed: bool = False
    ) -> dict[str, Any]:
        """Run a command that must not work; the error that it tells as JSON, in the one shape there is."""
        told = self.run(f"{line} --json", env=env, at=at, ok=False, installed=installed)
        assert told.out == ""
        error = told.error
        assert list(error) == ["code", "message", "hint", "exit", "details"]
        assert told.code == error["exit"], told
        assert error["message"] and "\n" not in error["message"]
        assert error["hint"] is None or (error["hint"] and "\n" not in error["hint"])
        self.hint = error["details"].get("operator") or error["hint"] or ""
        return error

    def shell(self, script: str) -> None:
        """Run a shell script in `here`, with `swarm` on PATH. It must work."""
        env = environment(self.env)
        env["PATH"] = f"{SWARM.parent}{os.pathsep}{env['PATH']}"
        done = subprocess.run(["sh", "-ec", script], cwd=self.here.path, env=env, capture_output=True, text=True)
        assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"

    def change(self, files: Files) -> str:
        """Commit `files` to base."""
        return self.arbiter.commit(files, branch="main")

    def put(self, *tasks: str, **more: Any) -> str:
        """Commit tasks (texts), plan, manifest and configuration to base, as `board_files` takes them."""
        files = board_files(tasks, **more)
        return self.change({path: text for path, text in files.items() if text})

    def forge(self, task: str, *, agent: str = "b1", branch: str = "other", at: Repo | None = None, **more: Any) -> str:
        """Put a claim on `task` where the arbiter has it, as another tool would; see `claim_members` for `more`."""
        where = at or self.arbiter
        members = claim_members(where, task, agent=agent, branch=branch, **more)
        return self.forge_blob(task, canonical(members), members["locks"], members.get("slots", ()), at=where)

    def forge_blob(
        self, task: str, data: bytes | str, locks: Sequence[str] = (), slots: Sequence[str] = (), at: Repo | None = None
    ) -> str:
        """Put `data` on the refs of a claim on `task`; its object id."""
        where = at or self.arbiter
        blob = where.blob(data)
        for ref in (CLAIM + task, *map(lock_ref, locks), *map(slot_ref, slots)):
            where.git("update-ref", ref, blob)
        return blob

    def vacate(self, task: str) -> None:
        """Delete the refs of a claim that was forged."""
        blob = self.arbiter.oid(CLAIM + task)
        for ref, found in self.arbiter.refs().items():
            if found == blob:
                self.arbiter.git("update-ref", "-d", ref)

    def blob(self, task: str) -> dict[str, Any]:
        """What the claim ref of `task` says."""
        value = json.loads(self.arbiter.cat(CLAIM + task))
        assert isinstance(value, dict)
        return value

    def second(self, name: str = "there", branch: str = "other") -> Repo:
        """Another clone of the origin, on a branch of its own."""
        assert self.origin is not None
        repo = clone(self.origin, self.folder / name)
        repo.branch(branch)
        self.others.append(repo)
        return repo

    def snapshots(self) -> list[Snapshot]:
        """Everything that a refused command must leave alone; `here` comes first, the origin last."""
        repos = [self.here, *self.others, *([self.origin] if self.origin else [])]
        return [repo.snapshot() for repo in repos]


@dataclass(frozen=True, slots=True)
class Scenario:
    """A command that is refused, and the one change that makes it work."""

    name: str
    code: str
    arrange: Act
    command: str
    #: What the hint says, in part. None: there is none.
    hint: str | None
    #: None where nothing that a test can do makes the command work.
    amend: Act | None


def prove(scenario: Scenario, scene: Scene, exit: int) -> None:
    """Refused, with nothing changed, for programs and for people; then, with one thing changed, it works."""
    scenario.arrange(scene)
    before = scene.snapshots()
    error = scene.refused(scenario.command, installed=True)
    settled = scene.snapshots()
    assert (error["code"], error["exit"]) == (scenario.code, exit), error
    assert (scenario.hint is None) == (error["hint"] is None), error
    assert scenario.hint is None or scenario.hint in error["hint"], error
    _assert_unchanged(scene, before, settled)
    said = scene.run(scenario.command)
    assert (said.code, said.out, said.error_code) == (exit, "", scenario.code), said
    assert error["hint"] is None or f"\nhint: {error['hint']}\n" in said.err
    assert scene.snapshots() == settled
    if scenario.amend is not None:
        scenario.amend(scene)
        scene.run(scenario.command, ok=True)


def _assert_unchanged(scene: Scene, before: list[Snapshot], after: list[Snapshot]) -> None:
    """Nothing moved, but that the mirror in the clone may have followed the origin."""
    if scene.origin is not None:
        assert after[-1] == before[-1]
        theirs = {**after[-1].refs, **dict.fromkeys(TRACKING, after[-1].refs.get("refs/heads/main"))}
        for ref, value in after[0].refs.items():
            assert not ref.startswith(MIRROR) or value in (before[0].refs.get(ref), theirs.get(ref))
    assert list(map(_without_mirror, after)) == list(map(_without_mirror, before))


def _without_mirror(snapshot: Snapshot) -> Snapshot:
    return replace(snapshot, refs={ref: value for ref, value in snapshot.refs.items() if not ref.startswith(MIRROR)})


@cache
def _fork_server() -> ForkServer:
    """One for all tests of this process; it ends with it."""
    server = ForkServer()
    server.__enter__()
    atexit.register(server.__exit__, None, None, None)
    return server


def follow_hint(scene: Scene) -> None:
    """Do as the last error's hint says: the first of several ways, with its placeholders filled in."""
    script = re.split(r", or: |, then: ", scene.hint)[0]
    for placeholder, value in {"NAME": "a1", "TEXT": "'because'", "BRANCH": "fresh", " ID": f" {T1}"}.items():
        script = script.replace(placeholder, value)
    scene.shell(script)


def nothing(scene: Scene) -> None:
    """The scene as it is."""


def act(*steps: Act) -> Act:
    """Several in a row."""

    def all_of(scene: Scene) -> None:
        for step in steps:
            step(scene)

    return all_of


def run(*lines: str) -> Act:
    """Commands of a1 that work."""
    return act(*((lambda scene, line=line: scene.run(line, ok=True)) for line in lines))


def env(**changes: str | None) -> Act:
    return lambda scene: scene.env.update(changes)


def git(line: str) -> Act:
    """A git command in `here`."""
    return lambda scene: scene.here.git(*shlex.split(line))


def put(*tasks: str, **more: Any) -> Act:
    return lambda scene: scene.put(*tasks, **more)


def change(files: Files) -> Act:
    return lambda scene: scene.change(files)


def forge(task: str, **more: Any) -> Act:
    return lambda scene: scene.forge(task, **more)


def vacate(task: str) -> Act:
    return lambda scene: scene.vacate(task)


def lock_file(name: str) -> Act:
    """What a git that was killed while it wrote `name` leaves behind, where the claims are."""

    def leave(scene: Scene) -> None:
        path = scene.arbiter.git_path(f"{name}.lock")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()

    return leave


def stage(folder: Path, files: Files = FILES) -> Scene:
    """An origin with `files` on main, and a clone of it on `work`."""
    bare = origin(folder / "origin.git", files)
    here = clone(bare, folder / "here")
    here.branch("work")
    return Scene(here, bare)


def alone(folder: Path, files: Files = FILES) -> Scene:
    """A repository without a remote, on `work`."""
    here = init(folder / "here", files)
    here.branch("work")
    return Scene(here, None)


def claim_members(
    where: Repo,
    task: str,
    *,
    agent: str = "b1",
    branch: str = "other",
    minutes: float = 30,
    ago: float = 60,
    locks: Sequence[str] = (),
    **more: Any,
) -> dict[str, Any]:
    """A valid claim blob: made `ago` minutes ago, with a lease that ends in `minutes`; `more` are further members."""
    now = datetime.now(timezone.utc)
    return {
        "task": task,
        "agent": agent,
        "branch": branch,
        "baseCommit": where.oid("refs/heads/main"),
        "claimedAt": instant(now - timedelta(minutes=ago)),
        "expiresAt": instant(now + timedelta(minutes=minutes)),
        "locks": sorted(locks),
        "planRevision": 0,
        **more,
    }


def canonical(members: object) -> bytes:
    return json.dumps(members, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def instant(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def stamp(moment: datetime) -> str:
    """As the refs of the log are named."""
    return re.sub(r"[-:]", "", instant(moment))


def lock_ref(key: str) -> str:
    return f"refs/swarm/task-locks/{hashlib.sha256(key.encode()).hexdigest()[:16]}"


def slot_ref(key: str) -> str:
    return f"refs/swarm/slots/{hashlib.sha256(key.encode()).hexdigest()[:16]}"


def edited(task: str, old: str, new: str) -> Files:
    """The default text of a task with something else in it, as an edit for `change`."""
    text = TASKS[task]
    assert old in text
    return {task_path(text): text.replace(old, new, 1)}
