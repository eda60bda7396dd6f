"""Many processes that want the same thing at once: how many get it, and how long it takes until each is told."""

from __future__ import annotations

import os
import selectors
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks import scenes, table
from benchmarks.install import Installed
from benchmarks.measure import Sample
from benchmarks.scenes import Scene
from tests.support import launcher
from tests.support.board import board_files, task_file, task_id
from tests.support.http_origin import HttpOrigin
from tests.support.swarm import ENTRY

SIZES, QUICK_SIZES = (2, 16, 64, 256), (2, 16)
_CONFLICT = 2
_SECONDS = 600
_HEAD = ("processes", "winners", "told no", "else", "p50", "p99", "all done")
_NOTE = """\
Milliseconds from the start to the end of each process; every process had loaded the interpreter and the command when
all were let go. One of them must win, and all others be told no (exit 2)."""


@dataclass(frozen=True, slots=True)
class Runner:
    """How one process of a race ended, and when, in milliseconds from the start."""

    code: int
    after: float


def tables(folder: Path, installed: Installed, env: Mapping[str, str], *, quick: bool) -> list[str]:
    """Race and print. Returns what is wrong: a race without exactly one winner."""
    wrong: list[str] = []
    with HttpOrigin(folder / "served") as server:
        for place in scenes.PLACES:
            for title, choose in (("one task", _one_task), ("one lock, a task each", _a_task_each)):
                rows = []
                for size in QUICK_SIZES if quick else SIZES:
                    scene = scenes.build(folder / place / f"{choose.__name__}-{size}", place, _board(size), server)
                    runners = _race(scene, installed, env, [choose(number) for number in range(size)])
                    rows.append(_row(size, runners))
                    if _winners(runners) != 1 or _refused(runners) != size - 1:
                        wrong.append(f"{place}, {title}, {size} processes: {rows[-1]}")
                last = place == scenes.PLACES[-1] and choose is _a_task_each
                table.show(f"race through {place}: {title}", _HEAD, rows, _NOTE if last else "")
    return wrong


def _board(size: int) -> dict[str, str]:
    return board_files(task_file(task_id(number), locks=["the-lock"]) for number in range(size))


def _one_task(number: int) -> list[str]:
    return ["claim", task_id(0), "--agent", f"racer-{number}", "--branch", f"agent/{number}"]


def _a_task_each(number: int) -> list[str]:
    return ["claim", task_id(number), "--agent", f"racer-{number}", "--branch", f"agent/{number}"]


def _race(
    scene: Scene, installed: Installed, env: Mapping[str, str], commands: Sequence[Sequence[str]]
) -> list[Runner]:
    """Start all, hold them until the last is ready, let them go, and note when each ends."""
    ready, ready_in_child = os.pipe()
    go_in_child, go = os.pipe()
    theirs = (ready_in_child, go_in_child)
    with ExitStack() as stack, tempfile.TemporaryFile() as said:
        launch = [str(installed.python), launcher.__file__, *map(str, theirs), ENTRY]
        started: list[subprocess.Popen[bytes]] = []
        for command in commands:
            process = subprocess.Popen(
                [*launch, *command],
                cwd=scene.work.path,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                pass_fds=theirs,
            )
            stack.callback(_end, process)
            started.append(process)
        for descriptor in theirs:
            os.close(descriptor)
        _await_bytes(ready, len(commands))
        began = time.perf_counter()
        # Nobody else holds this end: to close it is the starting gun.
        os.close(go)
        runners = list(_ends(started, began))
        os.close(ready)
    return runners


def _await_bytes(descriptor: int, count: int) -> None:
    """Read one byte from each process. The pipe ends early where one of them died before it was ready."""
    while count:
        got = len(os.read(descriptor, count))
        if not got:
            raise SystemExit(f"{count} processes of a race did not get ready")
        count -= got


def _ends(started: Sequence[subprocess.Popen[bytes]], began: float) -> Iterator[Runner]:
    """Each process as it ends, in that order."""
    with selectors.DefaultSelector() as selector:
        for process in started:
            selector.register(os.pidfd_open(process.pid), selectors.EVENT_READ, process)
        while selector.get_map():
            ended = selector.select(_SECONDS)
            after = (time.perf_counter() - began) * 1000
            if not ended:
                raise SystemExit(f"a race was not over after {_SECONDS} s")
            for key, _ in ended:
                selector.unregister(key.fd)
                os.close(key.fd)
                yield Runner(key.data.wait(), after)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.kill()
        process.wait()


def _winners(runners: Sequence[Runner]) -> int:
    return sum(runner.code == 0 for runner in runners)


def _refused(runners: Sequence[Runner]) -> int:
    return sum(runner.code == _CONFLICT for runner in runners)


def _row(size: int, runners: Sequence[Runner]) -> list[str]:
    taken = Sample(tuple(runner.after for runner in runners))
    winners, refused = _winners(runners), _refused(runners)
    other = size - winners - refused
    return [
        str(size),
        str(winners),
        str(refused),
        str(other),
        table.ms(taken.median),
        table.ms(taken.at(0.99)),
        table.ms(taken.at(1)),
    ]
