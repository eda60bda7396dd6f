"""What the kill tests share: two agents, one command that dies, and what has to work afterwards.

Every experiment starts from the same refs and tokens. After the kill the invariants are checked, then both ways to go
on are tried from what it left: the agent comes back, or its lease runs out and another one comes.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.support.board import board_files, task_file, task_id
from tests.support.forked import ForkServer
from tests.support.git_wrapper import GitWrapper
from tests.support.invariants_of_refs import Record, Refs, check, lock_ref, phantoms, problems, read
from tests.support.repo import Repo, clone, init, origin
from tests.support.swarm import Result

KINDS = ("local", "remote")
TASK = task_id(1)
#: Another task that needs one of the same locks.
RIVAL = task_id(2)
TASK_FILE = task_file(TASK, locks=["x", "y"])
#: Tasks of two locks; each needs a slot, of which there are two.
FILES = board_files([TASK_FILE, task_file(RIVAL, locks=["y", "z"])], config={"wip": {"implementation": 2}})
#: Minutes after which every lease of 30 minutes has run out, and once more.
EXPIRED, EXPIRED_AGAIN = 31, 62

#: The kinds of states that a test of this run has gone on from.
_GONE_ON_FROM: set[object] = set()

#: Names and contents of token files.
_Tokens: TypeAlias = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Verb:
    """A command of agent `a` that is to be killed, and what came before it.

    `before` are commands of `a` and `b`, as in `a claim …`. `ahead` is the time of the command itself, in minutes.
    `then` are the codes that the next claim by `a` may be refused with.
    """

    name: str
    command: str
    before: tuple[str, ...] = ()
    ahead: int = 0
    then: tuple[str, ...] = ()


_OTHERS = (f"b claim {TASK}",)
_MINE = (f"a claim {TASK}",)
_DONE = (*_MINE, f"a release {TASK} --done")
VERBS = (
    Verb("claim", f"claim {TASK}"),
    Verb("renew", f"renew {TASK}", _MINE),
    Verb("end-lease", f"renew {TASK} --minutes 0", _MINE, then=("claim-expired",)),
    Verb("release", f"release {TASK}", _MINE),
    Verb("done", f"release {TASK} --done", _MINE, then=("finished-elsewhere",)),
    Verb("steal", f"steal {TASK}", _OTHERS, EXPIRED, ("claim-held",)),
    Verb("reap", "reap", _OTHERS, EXPIRED, ("claim-held",)),
    Verb("reopen", f"reopen {TASK} --reason again", _DONE, then=("finished-elsewhere",)),
)


@dataclass(frozen=True, slots=True)
class State:
    """All that commands go by: the refs of each repository (the arbiter's first), and the tokens of each agent."""

    refs: tuple[Refs, ...]
    tokens: tuple[_Tokens, ...]


@dataclass
class Ground:
    """Agents `a` and `b`, in worktrees of one repository or in clones of one origin, and their clock."""

    arbiter: Repo
    places: dict[str, Repo]
    forked: ForkServer
    folder: Path
    #: Go on from every state that a kill left; otherwise, in all tests of a run, from one of each kind.
    thorough: bool = False
    told: list[Mapping[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.wrapper = GitWrapper(self.folder / "wrapper")
        self._clock = self.folder / "clock"
        self.turn_clock(0)
        self._repos = [self.arbiter, *(place for place in self.places.values() if not _shares(place, self.arbiter))]
        self.is_local = len(self._repos) == 1
        self._private = [place.path / place.git_path("swarm") for place in self.places.values()]
        self._start: tuple[State, list[Mapping[str, Any]]] | None = None
        #: The kinds of states that kills left here, and of the refs at the arbiter once the verb is done.
        self.seen: set[object] = set()
        self.done: object = None

    def turn_clock(self, minutes: float) -> None:
        """Everybody's clock is ahead by so many minutes from now on."""
        self._clock.write_text(str(minutes))

    def run(
        self, who: str, *args: str, ok: bool | None = None, env: Mapping[str, str] | None = None, **more: Any
    ) -> Result:
        """Run a command as an agent, and keep what it tells of claims."""
        result = self.forked.run(
            self.places[who],
            *("--json", *args),
            env={"SWARM_AGENT": who, **(env or {})},
            clock=self._clock,
            ok=ok,
            **more,
        )
        if result.code == 0 and "task" in result.json:
            self.told.append(result.json)
        return result

    def begin(self, verb: Verb) -> None:
        """Run what comes before the command, or restore what it left the last time."""
        if self._start is None:
            for line in verb.before:
                who, *args = line.split(" ")
                self.run(who, *args, ok=True)
            self._start = self.state(), list(self.told)
        else:
            self.restore(self._start[0])
            self.told[:] = self._start[1]
        self.turn_clock(verb.ahead)

    def kill(self, verb: Verb, **more: Any) -> Result:
        """Bring about what comes before the command, and run it under the wrapper's rules (and what `Forked` has)."""
        self.begin(verb)
        return self.run("a", *verb.command.split(" "), env=self.wrapper.env, **more)

    def settle(self, verb: Verb) -> None:
        """After the kill: the invariants, then both ways to go on."""
        state, told = self.state(), list(self.told)
        found = problems(state.refs[0], told, torn=True)
        assert not found, "\n".join(found)
        self.check_clones(state)
        if self._is_known((verb.name, self._kind(state))):
            return
        self.come_back(verb)
        self.told[:] = told
        self.restore(state)
        self.run_out()

    def settle_any(self, who: str) -> None:
        """The same after several kills, which may leave debris of both: `who` comes back, or the lease runs out."""
        state, told = self.state(), list(self.told)
        found = problems(state.refs[0], told, torn=True)
        assert not found, "\n".join(found)
        if self._is_known((f"{who} again", self._kind(state))):
            return
        claimed = self.run(who, "claim", TASK)
        if claimed.code != 0:
            assert claimed.error_code in ("claim-held", "lock-held", "wip-limit", "claim-expired"), str(claimed)
            assert claimed.error_code != "claim-held" or claimed.error["details"]["agent"] != who, str(claimed)
        check(self.arbiter, self.told, torn=True)
        self.told[:] = told
        self.restore(state)
        self.run_out(debris=True)

    def check_clones(self, state: State) -> None:
        """No clone has refs of its own making."""
        for clone_ in state.refs[1:]:
            assert phantoms(clone_, state.refs[0], self.arbiter) == []

    def come_back(self, verb: Verb) -> None:
        """The same agent claims: it gets the task, or is told whose it is and how to go on."""
        claimed = self.run("a", "claim", TASK)
        if claimed.code != 0:
            assert claimed.error_code in verb.then, f"{verb.name}: {claimed}"
            holders = [claim.members["agent"] for claim in read(self.arbiter).claims.values()]
            assert holders == [claimed.error["details"].get("agent", "a")], str(claimed)
            self.follow("a", claimed)
        check(self.arbiter, self.told)
        self.run("a", "check", TASK, ok=True)
        self.run("a", "renew", TASK, ok=True)
        self._end("a")

    def run_out(self, *, debris: bool = False) -> None:
        """All leases run out, and another agent takes the task; the first one can do nothing to that."""
        self.turn_clock(2 * EXPIRED_AGAIN)
        claimed = self.run("b", "claim", TASK)
        if claimed.code != 0:
            self.follow("b", claimed)
        refs = check(self.arbiter, self.told, torn=debris)
        assert [claim.members["agent"] for claim in refs.held()] == ["b"]
        assert self.run("a", "renew", TASK).code in (1, 2)
        self.run("a", "release", TASK)
        self.run("a", "release", TASK, "--done")
        assert self.run("a", "steal", TASK).error_code == "claim-live"
        assert read(self.arbiter).live == refs.live
        self._end("b", debris=debris)

    def follow(self, who: str, refused: Result, task: str = TASK) -> None:
        """Do what the hints say, then claim again, at most five times over, until the task is taken."""
        result = refused
        for _ in range(5):
            told = result.error["details"].get("operator") or result.error["hint"]
            hint = told.replace("NAME", who).replace("TEXT", "text").split("   #")[0]
            program, *args = shlex.split(hint)
            assert program == "swarm", str(result)
            result = self.run(who, *args)
            if result.code == 0 and args[0] not in ("claim", "steal"):
                result = self.run(who, "claim", task)
            if result.code == 0:
                return
        raise AssertionError(f"the hints lead nowhere: {refused}\n{result}")

    def state(self) -> State:
        tokens = tuple({path.name: path.read_text() for path in folder.glob("*")} for folder in self._private)
        return State(tuple(read(repo) for repo in self._repos), tokens)

    def restore(self, state: State) -> None:
        """Make refs and tokens what they were, the log too: as if nothing had come after."""
        for repo, has in zip(self._repos, state.refs, strict=True):
            now = repo.refs("refs/swarm*/**")
            lines = [f"delete {ref}\n" for ref in now if ref not in has.ids]
            lines += [f"update {ref} {value}\n" for ref, value in has.ids.items() if now.get(ref) != value]
            if lines:
                repo.git("update-ref", "--stdin", input="".join(lines))
        for folder, tokens in zip(self._private, state.tokens, strict=True):
            for path in folder.glob("*"):
                path.unlink()
            for name, content in tokens.items():
                (folder / name).write_text(content)

    def locks(self) -> list[Path]:
        """The lock files that a killed git left anywhere."""
        return [lock for repo in self._repos for lock in repo.locks()]

    def unlock(self) -> None:
        """Delete them, as an operator would who sees that no git is at work."""
        for lock in self.locks():
            lock.unlink()

    def edits(self, verb: Verb) -> int:
        """How many refs the command changes at the arbiter; it is run for that, to its end."""
        self.begin(verb)
        before = read(self.arbiter).ids
        self.run("a", *verb.command.split(" "), ok=True)
        after = read(self.arbiter).ids
        self.done = self._kind_of(read(self.arbiter))
        return sum(before.get(ref) != after.get(ref) for ref in {*before, *after})

    def is_done(self) -> bool:
        """Whether the arbiter has all that the command whose `edits` were counted brings about, without a lock file."""
        return self._kind_of(read(self.arbiter)) == self.done and not self.locks()

    def _is_known(self, kind: object) -> bool:
        """Whether a state of this kind was gone on from, and need not be again."""
        known = kind in _GONE_ON_FROM and not self.thorough
        self.seen.add(kind)
        _GONE_ON_FROM.add(kind)
        return known

    def _kind(self, state: State) -> object:
        """What kind of state it is: the kinds of refs of every repository, and which tokens there are."""
        lasting = tuple(tuple(sorted(name == f"token-{TASK}" for name in names)) for names in state.tokens)
        return tuple(map(self._kind_of, state.refs)), lasting

    def _kind_of(self, refs: Refs) -> object:
        """Which refs there are, which go together, which are as they were before the command; not when it was."""
        assert self._start is not None
        labels: dict[str, int] = {}
        names = {lock_ref("x"): "x", lock_ref("y"): "y"}
        old = set(self._start[0].refs[0].ids.values())

        def part(role: str, record: Record) -> object:
            kind = (record.members["agent"], record.outcome, "replaced" in record.members, record.id in old)
            return role, kind, labels.setdefault(record.id, len(labels))

        logged = (entry for entries in refs.log.values() for entry in entries)
        return (
            *(part("claim", claim) for claim in refs.claims.values()),
            *(part(names.get(ref, "slot"), key) for ref, key in sorted(refs.keys.items())),
            *(part("log", entry) for entry in logged),
            bool(refs.odd),
        )

    def _end(self, who: str, *, debris: bool = False) -> None:
        """Release, and nothing is left that anybody would have to clear away; with `debris`, once it has run out."""
        self.run(who, "release", TASK, ok=True)
        if debris:
            self.turn_clock(3 * EXPIRED_AGAIN)
            self.run(who, "reap", ok=True)
        for other in self.places:
            self.run(other, "status", ok=True)
        first, *clones = self.state().refs
        assert problems(first, self.told) == []
        assert [refs.live for refs in (first, *clones)] == [{}] * (1 + len(clones))


#: Verbs that write all that there is to write: a claim anew, over another's, and its completion record.
TELLING = ("claim", "steal", "done")


def leave_to_full(verb: Verb, thorough: bool, kept: Sequence[str] = TELLING) -> None:
    """Skip a verb whose transactions are parts of those that are kept, but with `--full`."""
    if not thorough and verb.name not in kept:
        pytest.skip("with --full")


def ground(kind: str, folder: Path, forked: ForkServer, thorough: bool = False) -> Ground:
    """Agents over the board of `FILES`."""
    if kind == "local":
        repo = init(folder / "repo", FILES)
        return Ground(repo, {who: repo.worktree(who, f"work-{who}") for who in "ab"}, forked, folder, thorough)
    source = origin(folder / "origin.git", FILES)
    return Ground(source, clones(source, source.url, folder), forked, folder, thorough)


def clones(source: Repo, url: str, folder: Path) -> dict[str, Repo]:
    """A clone for each agent, on a branch of its own; `url` is how they reach the origin."""
    places = {who: clone(source, folder / who) for who in "ab"}
    for who, place in places.items():
        place.git("remote", "set-url", "origin", url)
        place.branch(f"work-{who}")
    return places


def git_commands(wrapper: GitWrapper) -> Iterator[tuple[str, int]]:
    """The commands that git was called with, each with its number among those of its kind, from 1."""
    counts: dict[str, int] = {}
    for call in wrapper.log:
        counts[call.command] = counts.get(call.command, 0) + 1
        yield call.command, counts[call.command]


def _shares(place: Repo, repo: Repo) -> bool:
    """Whether they have their refs in common."""
    asked = ("rev-parse", "--path-format=absolute", "--git-common-dir")
    return place.git(*asked) == repo.git(*asked)
