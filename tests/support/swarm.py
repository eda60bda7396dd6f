"""The installed commands as processes: one at a time, in the background, or many at once behind a barrier."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, NamedTuple, TypeAlias

from tests.support.repo import Repo

#: The console scripts, beside the interpreter that runs the tests.
SWARM = Path(sys.executable).with_name("swarm")
SWARM_GATE = Path(sys.executable).with_name("swarm-gate")
#: What the script `swarm` calls.
ENTRY = "claims.cli.main:main"

#: Changes to the sealed environment; None removes.
Env: TypeAlias = Mapping[str, "str | None"]

_LAUNCHER = Path(__file__).with_name("launcher.py")


@dataclass(frozen=True, slots=True)
class Result:
    """How a command ended. `code` is negative where a signal ended it."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one value on stdout (`--json`)."""
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, Any]:
        """The error on stderr: `code`, `message`, `hint`, `exit`, `details` (`--json`)."""
        error = json.loads(self.err)["error"]
        assert isinstance(error, dict)
        return error

    @property
    def error_code(self) -> str | None:
        """The code of the error on stderr, as JSON or for people; None where there is none."""
        if self.err.startswith("{"):
            return str(self.error["code"])
        found = re.search(r"^error\[([a-z-]+)\]: ", self.err, re.MULTILINE)
        return found and found.group(1)

    def __str__(self) -> str:
        return f"exit {self.code}\n{self.out}{self.err}"


class Command(NamedTuple):
    """One process of a race."""

    repo: Repo | Path
    args: Sequence[str]
    env: Env | None = None


class Running:
    """A process in a process group of its own, its output in files: it can fill no pipe.

    As a context manager it is killed on the way out, with all that it started, unless it has ended.
    """

    def __init__(
        self,
        argv: Sequence[str],
        repo: Repo | Path,
        env: Env | None = None,
        input: str | None = None,
        pass_fds: Sequence[int] = (),
    ) -> None:
        with ExitStack() as stack:
            stdin = stack.enter_context(tempfile.TemporaryFile())
            stdin.write((input or "").encode())
            stdin.seek(0)
            self._out: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  closed on exit
            self._err: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
            self._argv = list(argv)
            self._process = subprocess.Popen(
                self._argv,
                cwd=repo.path if isinstance(repo, Repo) else repo,
                env=environment(env),
                stdin=stdin,
                stdout=self._out,
                stderr=self._err,
                start_new_session=True,
                pass_fds=pass_fds,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process itself, not to what it started."""
        self._process.send_signal(number)

    def output(self) -> str:
        """What stdout holds so far."""
        return _read(self._out)

    def wait(self, seconds: float = 60.0) -> Result:
        """Let it end. Kills it and raises AssertionError at the deadline."""
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            said = f"{_read(self._out)}{_read(self._err)}"
            raise AssertionError(f"{self._argv} did not end within {seconds:.0f} s\n{said}") from None
        return Result(code, _read(self._out), _read(self._err))

    def kill(self) -> None:
        """SIGKILL to the whole group; nothing where it has ended."""
        if not self.ended:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def __enter__(self) -> Running:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        self._out.close()
        self._err.close()


def environment(env: Env | None = None) -> dict[str, str]:
    """The sealed environment with the changes of `env`."""
    merged = {**os.environ, **(env or {})}
    return {name: value for name, value in merged.items() if value is not None}


def swarm(
    repo: Repo | Path,
    *args: str,
    env: Env | None = None,
    ok: bool | None = None,
    input: str | None = None,
    program: Path = SWARM,
    seconds: float = 60.0,
) -> Result:
    """Run `swarm` in `repo`. `ok`: it must exit 0 (True), must not (False), or either (None); else AssertionError."""
    with start(repo, *args, env=env, input=input, program=program) as running:
        result = running.wait(seconds)
    assert ok is None or ok == (result.code == 0), f"{program.name} {' '.join(args)}: {result}"
    return result


def swarm_gate(repo: Repo | Path, *args: str, env: Env | None = None, ok: bool | None = None) -> Result:
    """Run `swarm-gate` in `repo`, as `swarm` does."""
    return swarm(repo, *args, env=env, ok=ok, program=SWARM_GATE)


def start(
    repo: Repo | Path, *args: str, env: Env | None = None, input: str | None = None, program: Path = SWARM
) -> Running:
    """Start `swarm` in `repo` and let it run."""
    return Running([str(program), *args], repo, env, input)


def race(
    commands: Sequence[Command | tuple[Repo | Path, Sequence[str], Env | None]],
    *,
    warm: bool = True,
    seconds: float = 120.0,
    program: Path = SWARM,
    entry: str = ENTRY,
) -> list[Result]:
    """Start one process a command, hold all until the last is ready, release them at once; results in that order.

    With `warm` each has loaded the interpreter and `entry` (`module:function`) before it waits, which makes the race
    tight; without, each turns into `program` once released, as a user would start it. AssertionError where a process
    cannot get ready or has not ended within `seconds` from the start; whatever still runs then is killed.
    """
    deadline = time.monotonic() + seconds
    ready, ready_in_child = os.pipe()
    go_in_child, go = os.pipe()
    theirs = (ready_in_child, go_in_child)
    launch = [sys.executable, str(_LAUNCHER), *map(str, theirs), entry if warm else str(program)]
    with ExitStack() as stack:
        # Nobody else holds the writing end of `go`: closing it is the starting gun for all.
        stack.enter_context(os.fdopen(ready, "rb"))
        gun = stack.enter_context(os.fdopen(go, "wb"))
        with os.fdopen(ready_in_child, "wb"), os.fdopen(go_in_child, "rb"):
            runners = [
                stack.enter_context(Running([*launch, *args], repo, env, pass_fds=theirs))
                for repo, args, env in commands
            ]
        _await_ready(ready, runners, deadline)
        gun.close()
        return [runner.wait(max(0.0, deadline - time.monotonic())) for runner in runners]


def _await_ready(ready: int, runners: Sequence[Running], deadline: float) -> None:
    """Read one byte from each. The pipe ends early where one of them died before it was ready."""
    missing = len(runners)
    while missing:
        readable, _, _ = select.select([ready], [], [], max(0.0, min(1.0, deadline - time.monotonic())))
        got = len(os.read(ready, missing)) if readable else 0
        missing -= got
        dead = [runner for runner in runners if runner.ended]
        if dead:
            raise AssertionError(f"not ready for the race: {dead[0].wait()}")
        assert missing == 0 or time.monotonic() < deadline, f"{missing} processes did not get ready"


def _read(file: IO[bytes]) -> str:
    """The whole file by position: the child shares its offset."""
    return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode("utf-8", "replace")
