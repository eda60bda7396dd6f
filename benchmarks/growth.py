"""How much longer the commands take, and how much memory, with many log refs and many task files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

from benchmarks import floor, scenes, table
from benchmarks.install import Installed
from benchmarks.measure import Action, in_turn, peak_memory, run
from benchmarks.scenes import Scene
from claims.names import ObjectId, parse_agent, parse_branch, parse_task_id
from claims.record import Claim, Closed, encode
from tests.support.board import task_id

COMMANDS = ("claim", "check", "status")
#: At most this many times what it takes where there is nothing.
LIMIT = 4 / 3
#: MB, of any command on the largest board with the longest log.
MEMORY_LIMIT = 60.0

LOG_SIZES, QUICK_LOG_SIZES = (0, 1_000, 10_000, 50_000), (0, 10_000)
BOARD_SIZES, QUICK_BOARD_SIZES = (10, 1_000, 10_000), (10, 1_000)
_TASKS = 10
#: Commands that run on a claimed task, for the table of memory; `claim` comes before them.
_OTHERS = (
    ["renew"],
    ["check"],
    ["status"],
    ["tasks"],
    ["tasks", "--ready", "--json"],
    ["show", task_id(0)],
    ["log"],
    ["reap"],
    ["prune", "--dry-run"],
    ["release"],
)


@dataclass(frozen=True, slots=True)
class Size:
    """One scene of a growth table, and how large it is."""

    number: int
    scene: Scene


def tables(folder: Path, installed: Installed, env: Mapping[str, str], rounds: int, *, quick: bool) -> list[str]:
    """Measure and print. Returns what is over a limit."""
    over: list[str] = []
    for place in ("local", "file"):
        logs = [
            Size(
                number,
                _with_log(scenes.build(folder / f"{place}-log-{number}", place, scenes.plain_board(_TASKS)), number),
            )
            for number in (QUICK_LOG_SIZES if quick else LOG_SIZES)
        ]
        over += _table(f"{place}: log refs", logs, installed, env, rounds)
        boards = [
            Size(number, scenes.build(folder / f"{place}-board-{number}", place, scenes.large_board(number)))
            for number in (QUICK_BOARD_SIZES if quick else BOARD_SIZES)
        ]
        over += _table(f"{place}: task files", boards, installed, env, rounds)
    for place in ("local", "file"):
        tasks, refs = (QUICK_BOARD_SIZES[-1], QUICK_LOG_SIZES[-1]) if quick else (BOARD_SIZES[-1], LOG_SIZES[-1])
        scene = _with_log(scenes.build(folder / f"{place}-memory", place, scenes.large_board(tasks)), refs)
        over += _memory(
            f"{place}: peak memory in MB, {tasks:,} task files and {refs:,} log refs", scene, installed, env
        )
    return over


def _with_log(scene: Scene, refs: int) -> Scene:
    scenes.add_log_refs(scene.arbiter, refs, [_closed(number) for number in range(5)])
    return scene


def _closed(number: int) -> bytes:
    """The record of a claim that ended, as the log has them."""
    began = datetime(2025, 1, 1, tzinfo=timezone.utc)
    claim = Claim(
        task=parse_task_id(f"T-20250101-{number:08x}"),
        agent=parse_agent(f"agent-{number}"),
        branch=parse_branch(f"agent/{number}"),
        base_commit=ObjectId("0" * 40),
        claimed_at=began,
        expires_at=began + timedelta(minutes=30),
        locks=(),
        plan_revision=0,
        task_digest="sha256:" + "0" * 64,
        token_hash="0" * 64,
    )
    return encode(replace(claim, closed=Closed(began, claim.agent, "released", None, None)))


def _table(title: str, sizes: Sequence[Size], installed: Installed, env: Mapping[str, str], rounds: int) -> list[str]:
    """One line a command, one column a size, all sizes measured in turn."""
    actions: dict[str, Action] = {}
    for size in sizes:
        actions |= _actions(size, installed, env)
    found = in_turn(actions, rounds, lambda number: _forget([size.scene for size in sizes]))
    rows, over = [], []
    for command in (*COMMANDS, "bare git of claim"):
        samples = [found[f"{size.number} {command}"] for size in sizes]
        growth = [sample.median / samples[0].median for sample in samples]
        cells = [table.ms(samples[0].median)]
        cells += [
            f"{table.ms(sample.median)} {table.percent(by):>6}"
            for sample, by in zip(samples[1:], growth[1:], strict=True)
        ]
        rows.append([command, *cells])
        if growth[-1] > LIMIT and command in COMMANDS:
            over.append(f"{title}: {command} {table.percent(growth[-1])}")
    table.show(f"growth, {title}, {rounds} runs, median ms", ["", *(f"{size.number:,}" for size in sizes)], rows)
    return over


def _actions(size: Size, installed: Installed, env: Mapping[str, str]) -> dict[str, Action]:
    scene, prefix = size.scene, str(size.number)
    plumbing = floor.Plumbing(scene, env)
    lines = {"claim": ["claim", task_id(0), "--agent", "bench"], "check": ["check"], "status": ["status"]}
    found: dict[str, Action] = {f"{prefix} bare git of claim": lambda number: plumbing.of("claim")}
    for command, line in lines.items():
        found[f"{prefix} {command}"] = _running(installed, line, scene, env)
    return found


def _running(installed: Installed, line: Sequence[str], scene: Scene, env: Mapping[str, str]) -> Callable[[int], None]:
    def action(number: int) -> None:
        run([installed.swarm, *line], scene.work.path, env)

    return action


def _forget(found: Sequence[Scene]) -> None:
    for scene in found:
        scenes.forget_claims(scene)


def _memory(title: str, scene: Scene, installed: Installed, env: Mapping[str, str]) -> list[str]:
    rows, over = [], []
    for line in (["claim", task_id(0), "--agent", "bench"], *_OTHERS):
        try:
            peak = peak_memory([installed.swarm, *line], scene.work.path, env)
        except SystemExit as failed:
            rows.append([" ".join(line), f"failed: {str(failed).splitlines()[-1][:80]}"])
            continue
        rows.append([" ".join(line), f"{peak:.1f}"])
        if peak >= MEMORY_LIMIT:
            over.append(f"{title}: {' '.join(line)} {peak:.1f}")
    table.show(title, ["", "MB"], rows)
    return over
