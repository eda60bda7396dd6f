"""The suite for `swarm-gate`: judging pull requests in large repositories, from a clone and by fetching; the board."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import floor, scenes, table
from benchmarks.install import Installed, install
from benchmarks.measure import Sample, in_turn, peak_memory, run
from tests.support import board, seal
from tests.support.http_origin import HttpOrigin
from tests.support.repo import Repo

FILES, QUICK_FILES = (2_000, 20_000, 200_000), (2_000, 20_000)
PATHS, QUICK_PATHS = (10, 1_000, 10_000), (10, 1_000)
TASKS, QUICK_TASKS = (10, 1_000, 10_000), (10, 1_000)
COMMITS = 2_000
ROUNDS, QUICK_ROUNDS = 9, 3
#: How many times the floor a judgement of ten paths may take, by the files of the repository.
LIMITS = {20_000: 2.0, 200_000: 1.5}
#: Seconds and MB for the largest board.
BOARD_LIMIT = 3.0, 200.0

_TASK = board.task_id(0)
_BRANCH = "agent/work"
_IDENTITY = "Bench <bench@example.invalid>"

#: Judge by fetching, and nothing else: `python -I -c … URL`.
_FETCH = """
import os, sys
from datetime import datetime, timezone
from claims.names import RefName
from gate.evidence import Facts
from gate.fetched import Source, judge_fetched
source = Source(sys.argv[1], RefName("refs/heads/main"), RefName("refs/pull/1/head"))
facts = Facts("main", datetime.now(timezone.utc), "agent/work")
verdict = judge_fetched(source, facts, os.environ)
print(verdict.word)
sys.exit(verdict.word != "pass")
"""


@dataclass(frozen=True, slots=True)
class Place:
    """A repository with a pull request of so many paths: judged here, and served by `url`."""

    files: int
    paths: int
    repo: Repo
    url: str


def main(arguments: Sequence[str]) -> int:
    """Measure and print. Returns 1 where a limit is passed, else 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks gate", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer runs, smaller repositories")
    options = parser.parse_args(arguments)
    installed = install()
    with tempfile.TemporaryDirectory(prefix="swarm-benchmark-") as name:
        folder = Path(name)
        env = seal.enter(folder / "home")
        print(f"Python {sys.version.split()[0]}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
        with HttpOrigin(folder / "served") as server:
            over = _pull_requests(folder, server, installed, env, quick=options.quick)
        over += _boards(folder / "boards", installed, env, quick=options.quick)
    for line in over:
        print(f"over the limit: {line}")
    return 1 if over else 0


def _pull_requests(
    folder: Path, server: HttpOrigin, installed: Installed, env: Mapping[str, str], *, quick: bool
) -> list[str]:
    rounds = QUICK_ROUNDS if quick else ROUNDS
    local, fetched, over = [], [], []
    for files in QUICK_FILES if quick else FILES:
        for paths in QUICK_PATHS if quick else PATHS:
            place = _build(folder / f"{files}-{paths}", files, paths, server, installed, env)
            limit = LIMITS.get(files) if paths == PATHS[0] else None
            sample, bare = _judged(place, installed, env, rounds)
            ratio = sample.median / bare.median
            peak = peak_memory(_command(place, installed), place.repo.path, env)
            local.append(_row(place, sample, bare, ["" if limit is None else table.times(limit), f"{peak:.0f}"]))
            if limit is not None and ratio > limit:
                over.append(f"local, {files:,} files: {table.times(ratio)}")
            fetched.append(_fetched(place, server, installed, env, rounds))
    head = ("files", "paths", "median", "p95", "floor", "ratio")
    table.show(f"pr, from a clone, {rounds} runs", (*head, "limit", "MB"), local)
    table.show(f"pr, fetching over HTTP, {rounds} runs", (*head, "requests", "KB", "MB"), fetched, _NOTE)
    return over


_NOTE = """\
Milliseconds. floor: `python -I -c 'import click, json, subprocess'` and the git commands that any judge of what lands
must run, bare, in turn with the command. requests, KB: what the server was asked and answered in one judgement, those
of git's merge among it. MB: the most memory of the command and of any git that it waited for."""


def _row(place: Place, sample: Sample, bare: Sample, more: Sequence[str]) -> list[str]:
    numbers = [table.ms(sample.median), table.ms(sample.p95), table.ms(bare.median)]
    return [f"{place.files:,}", f"{place.paths:,}", *numbers, table.times(sample.median / bare.median), *more]


def _command(place: Place, installed: Installed) -> list[str | Path]:
    gate = installed.swarm.with_name("swarm-gate")
    return [gate, "pr", "--base", "main", "--head", _BRANCH, "--claims", "local"]


def _judged(place: Place, installed: Installed, env: Mapping[str, str], rounds: int) -> tuple[Sample, Sample]:
    folder = place.repo.path
    found = in_turn(
        {
            "imports": lambda number: floor.interpreter(installed.python, floor.IMPORTS, folder, env),
            "plumbing": lambda number: _plumbing(folder, env, "main", _BRANCH),
            "judged": lambda number: run(_command(place, installed), folder, env) and None,
        },
        rounds,
    )
    return found["judged"], found["imports"].plus(found["plumbing"])


def _plumbing(folder: Path, env: Mapping[str, str], base: str, head: str, claims: str = "refs/swarm") -> None:
    """The merge base, the commits, the merge with both settings, the changes, a few files, the claims."""

    def git(*args: str, stdin: bytes = b"") -> bytes:
        return run(["git", *args], folder, env, stdin)

    merge_base = git("merge-base", "--all", base, head).decode().strip()
    commits = git("rev-list", "--no-commit-header", "--format=%T %P", head, f"^{base}").decode().splitlines()
    trees = [
        git("-c", f"merge.directoryRenames={setting}", "merge-tree", "--write-tree", base, head).decode().split()[0]
        for setting in ("true", "false")
    ]
    pairs = [(f"{base}^{{tree}}", trees[0]), (f"{merge_base}^{{tree}}", f"{head}^{{tree}}")]
    pairs += [(f"{line.split()[1]}^{{tree}}", line.split()[0]) for line in commits]
    names = "".join(f"{before}\n{after}\n" for before, after in pairs).encode()
    ids = git("cat-file", "--batch-check=%(objectname)", stdin=names).decode().split()
    lines = "".join(f"{before} {after}\n" for before, after in zip(ids[::2], ids[1::2], strict=True)).encode()
    git("diff-tree", "--stdin", "-r", "-z", "--raw", "--no-renames", stdin=lines)
    git("for-each-ref", "--format=%(refname) %(objectname)", f"{claims}/task-claims/{_TASK}")


def _fetched(place: Place, server: HttpOrigin, installed: Installed, env: Mapping[str, str], rounds: int) -> list[str]:
    folder = place.repo.path
    judging: list[str | Path] = [installed.python, "-I", "-c", _FETCH, place.url]
    found = in_turn(
        {
            "imports": lambda number: floor.interpreter(installed.python, floor.IMPORTS, folder, env),
            "plumbing": lambda number: _bare_fetch(place, env),
            "judged": lambda number: run(judging, folder, env) and None,
        },
        rounds,
    )
    server.clear_requests()
    run(judging, folder, env)
    asked = server.requests
    size = sum(request.bytes_out for request in asked) / 1024
    peak = peak_memory(judging, folder, env)
    bare = found["imports"].plus(found["plumbing"])
    return _row(place, found["judged"], bare, [str(len(asked)), f"{size:,.0f}", f"{peak:.0f}"])


def _bare_fetch(place: Place, env: Mapping[str, str]) -> None:
    """Commits and trees, then the plumbing: what cannot be left out."""
    with tempfile.TemporaryDirectory(prefix="swarm-benchmark-floor-") as name:
        run(["git", "init", "-q", "--bare", name], Path(name), env)
        for key, value in (("url", place.url), ("promisor", "true"), ("partialclonefilter", "blob:none")):
            run(["git", "config", f"remote.o.{key}", value], Path(name), env)
        fetch = ["git", "fetch", "-q", "--no-tags", "--filter=blob:none", "o"]
        run([*fetch, "+refs/heads/main:refs/heads/main"], Path(name), env)
        run([*fetch, "+refs/pull/1/head:refs/heads/head"], Path(name), env)
        run([*fetch, f"+refs/swarm/task-claims/{_TASK}*:refs/c/task-claims/{_TASK}*"], Path(name), env)
        _plumbing(Path(name), env, "main", "head", "refs/c")


def _build(
    folder: Path, files: int, paths: int, server: HttpOrigin, installed: Installed, env: Mapping[str, str]
) -> Place:
    """A repository with a claimed task and a finished branch, and a copy of it that is served."""
    folder.mkdir(parents=True)
    run(["git", "init", "-q", "-b", "main", "."], folder, env)
    run(["git", "fast-import", "--quiet"], folder, env, b"".join(_base(files)))
    run(["git", "symbolic-ref", "HEAD", f"refs/heads/{_BRANCH}"], folder, env)
    run(["git", "update-ref", f"refs/heads/{_BRANCH}", "main"], folder, env)
    run([installed.swarm, "claim", _TASK, "--agent", "bench"], folder, env)
    run(["git", "fast-import", "--quiet"], folder, env, b"".join(_branch(paths)))
    run(["git", "repack", "-adq"], folder, env)
    name = f"{files}-{paths}"
    served = server.create(name)
    run(["git", "fetch", "-q", str(folder), "+refs/*:refs/*"], served.path, env)
    run(["git", "update-ref", "refs/pull/1/head", f"refs/heads/{_BRANCH}"], served.path, env)
    for setting in ("allowFilter", "allowAnySHA1InWant"):
        run(["git", "config", f"uploadpack.{setting}", "true"], served.path, env)
    return Place(files, paths, Repo(folder), server.url(name))


def _path(number: int) -> str:
    return f"src/d{number // 10_000:02}/e{number // 100 % 100:02}/f{number % 100:02}.txt"


def _base(files: int) -> Iterator[bytes]:
    """A board and that many files; then commits that change a file each."""
    yield _commit("main", 1, None)
    for path, text in board.board_files([board.task_file(_TASK, paths=["src/"])]).items():
        yield _file(path, text)
    for number in range(files):
        yield _file(_path(number), f"{number}\n" * 20)
    for number in range(COMMITS - 1):
        yield _commit("main", number + 2, None)
        yield _file(_path(number * 7 % files), f"{number}\n" * 21)


def _branch(paths: int) -> Iterator[bytes]:
    """The work, half of it edits and half new files, and the move of the task; then base moves on."""
    text = board.task_file(_TASK, paths=["src/"])
    yield _commit(_BRANCH, COMMITS + 1, f"refs/heads/{_BRANCH}^0")
    for number in range(paths - 2):
        path = _path(number) if number % 2 else f"src/new/n{number // 100:03}/f{number % 100:02}.txt"
        yield _file(path, f"{number}\n" * 22)
    yield _commit(_BRANCH, COMMITS + 2, None)
    for path, moved in board.moved(text, "done").items():
        yield _file(path, moved) if moved is not None else f"D {path}\n".encode()
    yield _commit("main", COMMITS + 3, "refs/heads/main^0")
    yield _file("docs/later.md", "Base moves on.\n")


def _commit(branch: str, number: int, start: str | None) -> bytes:
    head = f"commit refs/heads/{branch}\ncommitter {_IDENTITY} {1_700_000_000 + number} +0000\ndata 2\nx\n"
    return (head + (f"from {start}\n" if start is not None else "")).encode()


def _file(path: str, text: str) -> bytes:
    data = text.encode()
    return f"M 100644 inline {path}\ndata {len(data)}\n".encode() + data + b"\n"


def _boards(folder: Path, installed: Installed, env: Mapping[str, str], *, quick: bool) -> list[str]:
    rounds = QUICK_ROUNDS if quick else ROUNDS
    rows, over = [], []
    gate = installed.swarm.with_name("swarm-gate")
    for tasks in QUICK_TASKS if quick else TASKS:
        scene = scenes.build(folder / str(tasks), "local", scenes.large_board(tasks))
        place = scene.work.path
        found = in_turn({"board": lambda number, place=place: run([gate, "board"], place, env) and None}, rounds)
        peak = peak_memory([gate, "board"], place, env)
        assert json.loads(run([gate, "board", "--json"], place, env))["tasks"] == tasks
        seconds = found["board"].median / 1000
        rows.append([f"{tasks:,}", table.ms(found["board"].median), table.ms(found["board"].p95), f"{peak:.0f}"])
        if seconds >= BOARD_LIMIT[0] or peak >= BOARD_LIMIT[1]:
            over.append(f"board, {tasks:,} tasks: {seconds:.1f} s, {peak:.0f} MB")
    table.show(f"board, {rounds} runs", ("tasks", "median", "p95", "MB"), rows)
    return over
