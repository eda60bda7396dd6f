"""Running things in turn and timing them; the numbers that tables show; peak memory."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

#: Run first and not counted: they fill the disk's cache.
WARM_UP = 2
_SECONDS = 300

# A small process of its own: a child's peak begins with what its parent had when it was forked.
_PEAK = """
import os, sys
quiet = os.open(os.devnull, os.O_RDWR)
streams = [(os.POSIX_SPAWN_DUP2, quiet, number) for number in (0, 1)]
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=streams)
_, status, usage = os.wait4(pid, 0)
print(usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status) & 255)
"""


@dataclass(frozen=True, slots=True)
class Sample:
    """Times of one thing, in milliseconds, in the order in which they were taken."""

    times: tuple[float, ...]

    def at(self, part: float) -> float:
        """The value below which `part` (0 to 1) of the times lie, interpolated."""
        ordered = sorted(self.times)
        place = part * (len(ordered) - 1)
        below = int(place)
        above = min(below + 1, len(ordered) - 1)
        return ordered[below] + (ordered[above] - ordered[below]) * (place - below)

    @property
    def median(self) -> float:
        return self.at(0.5)

    @property
    def p95(self) -> float:
        return self.at(0.95)

    def plus(self, other: Sample) -> Sample:
        """The sums, round by round."""
        return Sample(tuple(one + two for one, two in zip(self.times, other.times, strict=True)))


#: One thing to time; takes the number of the round.
Action = Callable[[int], None]


def in_turn(actions: Mapping[str, Action], rounds: int, between: Action = lambda number: None) -> dict[str, Sample]:
    """Time each action once a round, in the given order, so that whatever else the machine does meets all alike.

    `between` runs after every round and is not timed.
    """
    times: dict[str, list[float]] = {name: [] for name in actions}
    for number in range(-WARM_UP, rounds):
        for name, action in actions.items():
            began = time.perf_counter()
            action(number)
            taken = time.perf_counter() - began
            if number >= 0:
                times[name].append(taken * 1000)
        between(number)
    return {name: Sample(tuple(found)) for name, found in times.items()}


def run(command: Sequence[str | Path], folder: Path, env: Mapping[str, str], stdin: bytes = b"") -> bytes:
    """Run a command that must succeed; its standard output."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=env,
        input=stdin,
        capture_output=True,
        timeout=_SECONDS,
        check=False,
    )
    if done.returncode:
        words = " ".join(map(str, command))
        raise SystemExit(f"{words}: exit {done.returncode}\n{done.stderr.decode('utf-8', 'replace')}")
    return done.stdout


def peak_memory(command: Sequence[str | Path], folder: Path, env: Mapping[str, str]) -> float:
    """The most memory that the command or a process it waited for had, in MB (resident set)."""
    kilobytes = int(run([sys.executable, "-I", "-S", "-c", _PEAK, *command], folder, env))
    return kilobytes / 1024
