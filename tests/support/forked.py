"""`swarm` as real processes that start at once: forked from a server that has loaded it, instead of started anew.

A tenth of the time of `tests.support.swarm`, and a tighter race; besides, a command's clock can be turned, and it can
be killed between two of its own steps. What is not under test here is the console script and the start of Python.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.support.repo import Repo
from tests.support.swarm import Env, Result, environment

_SERVER = Path(__file__).with_name("fork_server.py")


@dataclass(frozen=True, slots=True)
class Forked:
    """One command. `clock` is a file with the minutes by which its clock is ahead, read each time it looks.

    `events` is a file to write its steps to, a line each (git processes, and files written, renamed, deleted);
    `die_at` kills it before that step, from 1.
    """

    repo: Repo | Path
    args: Sequence[str]
    env: Env = field(default_factory=dict)
    clock: Path | None = None
    events: Path | None = None
    die_at: int = 0


class ForkServer:
    """The server, while it is entered as a context manager. One request at a time."""

    def __enter__(self) -> ForkServer:
        requests, self._requests = os.pipe()
        self._answers, answers = os.pipe()
        self._folder = tempfile.TemporaryDirectory()
        self._errors = Path(self._folder.name, "server")
        with self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, str(_SERVER), str(requests), str(answers)],
                stdin=subprocess.DEVNULL,
                stdout=errors,
                stderr=errors,
                pass_fds=(requests, answers),
                cwd="/",
            )
        os.close(requests)
        os.close(answers)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._requests)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._answers)
        self._folder.cleanup()

    def run(self, repo: Repo | Path, *args: str, ok: bool | None = None, **more: Any) -> Result:
        """Run one command, as `tests.support.swarm.swarm` does; `more` is what `Forked` has."""
        (result,) = self.race([Forked(repo, args, **more)])
        assert ok is None or ok == (result.code == 0), f"swarm {' '.join(args)}: {result}"
        return result

    def race(self, commands: Sequence[Forked], seconds: int = 120, orphans: bool = True) -> list[Result]:
        """Start all, hold them until the last is ready, release them at once; results in that order.

        Those that have not ended after `seconds` are killed. With `orphans` it also waits for what killed ones left
        running, as a git that is still at its push.
        """
        folder = Path(self._folder.name)
        told = [self._told(command, folder / str(number)) for number, command in enumerate(commands)]
        codes = json.loads(self._answer({"commands": told, "seconds": seconds, "orphans": orphans}))
        said = [[Path(one[name]).read_text("utf-8", "replace") for name in ("out", "err")] for one in told]
        return [Result(code, out, err) for code, (out, err) in zip(codes, said, strict=True)]

    def _told(self, command: Forked, place: Path) -> dict[str, Any]:
        where = command.repo.path if isinstance(command.repo, Repo) else command.repo
        return {
            "directory": str(where),
            "args": list(command.args),
            "env": environment(command.env),
            "clock": command.clock and str(command.clock),
            "events": command.events and str(command.events),
            "die_at": command.die_at,
            "out": f"{place}.out",
            "err": f"{place}.err",
        }

    def _answer(self, request: Mapping[str, Any]) -> bytes:
        line = b""
        try:
            os.write(self._requests, json.dumps(request).encode() + b"\n")
            while not line.endswith(b"\n"):
                chunk = os.read(self._answers, 1 << 16)
                if not chunk:
                    break
                line += chunk
        except BrokenPipeError:
            pass
        assert line.endswith(b"\n"), f"the fork server died: {self._errors.read_text()}"
        return line
