"""How long claim, renew, check, status and release take, locally and through an origin, against their floor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import floor, scenes, table
from benchmarks.install import Installed
from benchmarks.measure import WARM_UP, Action, Sample, in_turn, run
from benchmarks.scenes import Scene
from tests.support.board import task_id
from tests.support.git_wrapper import GitWrapper
from tests.support.http_origin import HttpOrigin

#: In an order in which each can do its work.
COMMANDS = ("claim", "renew", "check", "status", "release")
#: At most this many times the floor, by place.
LIMITS = {"local": 1.6, "file": 1.5, "http": 1.4}
LIMITED = ("claim", "status")
#: Boards whose commands load ruamel.yaml, which no floor has, are shown without a limit.
LOADS_RUAMEL = "full YAML"

_HEAD = ("", "median", "p95", "floor", "ratio", "limit", "bare", "ratio", "git", "network")
_NOTE = """\
Milliseconds. floor: `python -I -c 'import click, json, subprocess'` and the git plumbing of the operation, run in turn
with the command; bare: `python -I -S -c pass` and the same plumbing. git: processes that the command starts; network:
those of them that talk to the origin."""


def arguments_of(command: str, task: str) -> list[str]:
    """As an agent types it."""
    return {
        "claim": ["claim", task, "--agent", "bench"],
        "release": ["release", task],
    }.get(command, [command])


@dataclass(frozen=True, slots=True)
class Row:
    """One command in one place."""

    label: str
    place: str
    command: str
    taken: Sample
    floor: Sample
    bare: Sample
    processes: int
    network: int

    @property
    def ratio(self) -> float:
        return self.taken.median / self.floor.median

    @property
    def is_over(self) -> bool:
        return self.limit is not None and self.ratio > self.limit

    @property
    def limit(self) -> float | None:
        """What the ratio may be; None where nothing is promised."""
        return LIMITS[self.place] if self.command in LIMITED and LOADS_RUAMEL not in self.label else None

    def cells(self) -> list[str]:
        limit = "" if self.limit is None else table.times(self.limit)
        return [
            self.label,
            table.ms(self.taken.median),
            table.ms(self.taken.p95),
            table.ms(self.floor.median),
            table.times(self.ratio),
            limit,
            table.ms(self.bare.median),
            table.times(self.taken.median / self.bare.median),
            str(self.processes),
            str(self.network),
        ]


class Bench:
    """Times commands in one scene; a fresh task each round."""

    def __init__(self, scene: Scene, installed: Installed, env: Mapping[str, str]) -> None:
        self._scene = scene
        self._installed = installed
        self._env = env
        self._plumbing = floor.Plumbing(scene, env)

    def rows(self, label: str, timed: Sequence[str], rounds: int, wrapper: GitWrapper) -> list[Row]:
        """One row for each of the `timed` commands; the others are run all the same, so that a round is whole."""
        actions: dict[str, Action] = {}
        for command in COMMANDS:
            if command in timed:
                actions |= self._actions_of(command)
            elif command == "release":
                actions[command] = self._command(command)
        found = in_turn(actions, rounds)
        return [self._row(label, command, found, wrapper, rounds) for command in COMMANDS if command in timed]

    def _actions_of(self, command: str) -> dict[str, Action]:
        work, python = self._scene.work.path, self._installed.python
        return {
            f"{command} imports": lambda number: floor.interpreter(python, floor.IMPORTS, work, self._env),
            f"{command} nothing": lambda number: floor.interpreter(python, floor.NOTHING, work, self._env),
            f"{command} plumbing": lambda number: self._plumbing.of(command),
            command: self._command(command),
        }

    def _command(self, command: str) -> Action:
        return lambda number: self._run(command, number, self._env)

    def _run(self, command: str, number: int, env: Mapping[str, str]) -> None:
        arguments = arguments_of(command, task_id(number + WARM_UP))
        run([self._installed.swarm, *arguments], self._scene.work.path, env)

    def _row(self, label: str, command: str, found: Mapping[str, Sample], wrapper: GitWrapper, rounds: int) -> Row:
        plumbing = found[f"{command} plumbing"]
        processes, network = self._counted(command, wrapper, rounds)
        return Row(
            label.format(command=command),
            self._scene.place,
            command,
            found[command],
            found[f"{command} imports"].plus(plumbing),
            found[f"{command} nothing"].plus(plumbing),
            processes,
            network,
        )

    def _counted(self, command: str, wrapper: GitWrapper, number: int) -> tuple[int, int]:
        """The git processes of the command, and those that talk to the origin, in a round that is not timed."""
        if command != "claim":
            self._run("claim", number, self._env)
        wrapper.clear()
        self._run(command, number, {**self._env, **wrapper.env})
        counts = len(wrapper.log), len(wrapper.network_operations)
        if command != "release":
            self._run("release", number, self._env)
        return counts


def tables(folder: Path, installed: Installed, env: Mapping[str, str], rounds: int) -> list[str]:
    """Measure and print everything, a table for each place. Returns what is over its limit."""
    over: list[str] = []
    wrapper = GitWrapper(folder / "wrapper")
    tasks = rounds + WARM_UP + 1
    with HttpOrigin(folder / "served") as server:
        for place in scenes.PLACES:
            rows: list[Row] = []
            for name, label, files, timed in (
                ("plain", "{command}", scenes.plain_board(tasks), COMMANDS),
                ("full", "{command}, plan and caps", scenes.full_board(tasks), LIMITED),
                ("braces", f"{{command}}, {LOADS_RUAMEL}", scenes.braced_board(tasks), ("claim",)),
            ):
                scene = scenes.build(folder / place / name, place, files, server)
                rows += Bench(scene, installed, env).rows(label, timed, rounds, wrapper)
            last = place == scenes.PLACES[-1]
            table.show(f"{place}, {rounds} runs", _HEAD, [row.cells() for row in rows], _NOTE if last else "")
            over += [f"{place}: {row.label} {table.times(row.ratio)}" for row in rows if row.is_over]
    return over
