"""What the race tests share: many agents in one place or in many, and what must be so once they have raced."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from typing import Any

from tests.support.board import board_files, task_file, task_id
from tests.support.forked import Forked, ForkServer
from tests.support.invariants_of_refs import Refs, check, live, phantoms, read
from tests.support.repo import Files, Repo, clone, init, origin
from tests.support.swarm import Result

TASK = task_id(1)
#: Where claimants are and who decides: the linked worktrees of one repository without a remote; clones of one origin.
KINDS = ("worktrees", "clones")


@dataclass
class Agents:
    """Agents `a0`, `a1`, … in a place of their own each, on branches `b0`, `b1`, …

    `arbiter` has the refs that count.
    """

    arbiter: Repo
    places: Sequence[Repo]
    forked: ForkServer
    #: What commands reported of claims, for the invariants.
    told: list[Mapping[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        # git is asked where tokens are once, not in every round.
        self._private = [place.path / place.git_path("swarm") for place in self.places]
        shared = {place.git("rev-parse", "--path-format=absolute", "--git-common-dir"): place for place in self.places}
        #: One place for each clone that is not the arbiter itself.
        self.clones = [place for folder, place in shared.items() if Path(folder).parent != self.arbiter.path]

    def command(self, number: int, *args: str) -> Forked:
        return Forked(self.places[number], ["--json", *args], {"SWARM_AGENT": f"a{number}"})

    def race(self, commands: Sequence[Sequence[str]]) -> list[Result]:
        """Agent n runs the n-th command; all start at once."""
        results = self.forked.race([self.command(number, *args) for number, args in enumerate(commands)])
        self.told += [result.json for result in results if result.code == 0 and "task" in result.json]
        return results

    def run(self, number: int, *args: str, ok: bool | None = True) -> Result:
        result = self.forked.run(self.places[number], "--json", *args, ok=ok, env={"SWARM_AGENT": f"a{number}"})
        if result.code == 0 and "task" in result.json:
            self.told.append(result.json)
        return result

    def check(self) -> Refs:
        """The invariants, and that no clone has refs of its own making."""
        refs = check(self.arbiter, self.told)
        for place in self.clones:
            assert phantoms(read(place), refs, self.arbiter) == [], place.path
        return refs

    def check_mirrors(self) -> None:
        """Every clone has the live refs of the arbiter, and nothing is left of its fetches."""
        refs = read(self.arbiter)
        for place in self.clones:
            here = read(place)
            assert (here.live, here.odd) == (refs.live, []), place.path

    def tokens(self) -> dict[int, list[str]]:
        """Agent to the names of the token files in its place, where there are any."""
        listed = {number: sorted(path.name for path in folder.glob("*")) for number, folder in enumerate(self._private)}
        return {number: names for number, names in listed.items() if names}

    def check_tokens(self, tasks: Mapping[int, str]) -> None:
        """Exactly the holders have tokens, one each, under its lasting name."""
        assert self.tokens() == {number: [f"token-{task}"] for number, task in tasks.items()}

    def release_all(self) -> None:
        """Everybody releases what they hold; then no live ref and no token is left anywhere."""
        for number, names in self.tokens().items():
            for name in names:
                self.run(number, "release", name.removeprefix("token-"))
        assert live(self.arbiter) == {}
        assert self.tokens() == {}


def board(count: int = 1, locks: Sequence[Sequence[str]] = (("db", "api"),), **config: Any) -> Files:
    """Tasks 1 to `count`, the n-th with the n-th set of locks, again from the first where there are fewer."""
    tasks = [task_file(task_id(number), locks=locks[(number - 1) % len(locks)]) for number in range(1, count + 1)]
    return board_files(tasks, config=config or None)


def agents(kind: str, folder: Path, forked: ForkServer, count: int, files: Files) -> Agents:
    """`count` agents in worktrees or in clones, over a board of `files`."""
    if kind == "worktrees":
        repo = init(folder / "repo", files)
        return Agents(repo, worktrees(repo, count), forked)
    source = origin(folder / "origin.git", files)
    return Agents(source, clones(source, source.url, folder, count), forked)


def worktrees(repo: Repo, count: int) -> list[Repo]:
    return [repo.worktree(f"w{number}", f"b{number}") for number in range(count)]


def clones(source: Repo, url: str, folder: Path, count: int) -> list[Repo]:
    """Clones on a branch each, whose origin is `url`; cloned from the path, which is faster."""
    made = []
    for number in range(count):
        made.append(clone(str(source.path), folder / f"c{number}", "--no-checkout"))
        made[-1].git("remote", "set-url", "origin", url)
        made[-1].git("symbolic-ref", "HEAD", f"refs/heads/b{number}")
        made[-1].git("update-ref", f"refs/heads/b{number}", "refs/remotes/origin/main")
    return made


def winner(results: Sequence[Result], lost: Collection[str]) -> int:
    """The one that won; every other exits 2 with one of the codes `lost`."""
    won = [number for number, result in enumerate(results) if result.code == 0]
    assert len(won) == 1, "\n".join(map(str, results))
    for number, result in enumerate(results):
        assert number in won or (result.code == 2 and result.error_code in lost), str(result)
    return won[0]


@contextmanager
def meanwhile(repo: Repo, *args: str) -> Iterator[None]:
    """`git ARGS` in `repo`, over and over; it must work at least once."""
    with _looping(lambda: repo.run(*args).returncode == 0):
        yield


@contextmanager
def moving_main(repo: Repo) -> Iterator[None]:
    """Commits onto main of a bare repository, one after another."""
    with _looping(lambda: bool(repo.commit({"moved": "on\n"}, "Move on", branch="main"))):
        yield


@contextmanager
def _looping(once: Any) -> Iterator[None]:
    stop, worked = Event(), [once()]

    def loop() -> None:
        while not stop.is_set():
            worked.append(once())

    thread = Thread(target=loop)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    assert any(worked[1:]), "it never worked while the race was on"
