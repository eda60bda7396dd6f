"""A `git` of one's own, first on PATH: it writes down each call, and dies, fails, lies or waits where it is told to."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypedDict

from tests.support import script

When: TypeAlias = Literal["before", "after"]

_SCRIPT = """\
{head}import sys
sys.path.insert(0, {here!r})
import wrapped_git
wrapped_git.main({git!r}, {folder!r}, {rules!r})
"""


#: The git commands that talk to a remote. (`rev-list` and `cat-file` may in a partial clone; ours are kept from it.)
NETWORK = frozenset({"fetch", "push", "ls-remote", "pull", "clone", "fetch-pack", "send-pack", "archive"})


class Rule(TypedDict):
    """What `wrapped_git` is to do, as it is written into the script; `name` is unique in it."""

    name: str
    #: Words that all must be among the arguments.
    words: tuple[str, ...]
    #: The rule is obeyed by the nth invocation with these words, from 1; 0 means by each.
    nth: int
    action: str
    options: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Invocation:
    """One call of git: its process, the one that called, its arguments without the leading `git`."""

    pid: int
    ppid: int
    argv: list[str]

    @property
    def command(self) -> str:
        """`fetch` of `-c protocol.version=2 fetch --quiet …`."""
        words = iter(self.argv)
        for word in words:
            if word in ("-c", "-C", "--git-dir", "--work-tree", "--namespace"):
                next(words, None)
            elif not word.startswith("-"):
                return word
        return ""


@dataclass(frozen=True, slots=True)
class Pause:
    """A place where git waits."""

    _folder: Path
    _name: str

    def wait(self, seconds: float = 30.0) -> None:
        """Until git got there. AssertionError where it does not in time."""
        deadline = time.monotonic() + seconds
        while not (self._folder / f"reached-{self._name}").exists():
            assert time.monotonic() < deadline, "git never got to the pause"
            time.sleep(0.002)

    def resume(self) -> None:
        (self._folder / f"resume-{self._name}").touch()


class GitWrapper:
    """Wraps git for every process that runs with `env`; give each agent its own where they are to differ.

    Rules are told by the methods. Each is obeyed once, by the `nth` invocation (from 1, counted from when it was told)
    whose arguments hold all `words`, as in `kill("before", "push")`; without words every invocation counts. Where
    several are due at once the first told is obeyed. "The parent" is the process that called git: the command under
    test. git's own children do not come through here.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._rules: list[Rule] = []
        self._names = 0
        found = shutil.which("git")
        assert found is not None
        self._git = found
        (folder / "bin").mkdir(parents=True)
        self._write()

    @property
    def env(self) -> dict[str, str]:
        """For `swarm(…, env=wrapper.env)`."""
        return {"PATH": f"{self._folder / 'bin'}{os.pathsep}{os.environ['PATH']}"}

    @property
    def network_operations(self) -> list[str]:
        """The commands of the calls so far that talk to a remote, in order."""
        return [call.command for call in self.log if call.command in NETWORK]

    @property
    def log(self) -> list[Invocation]:
        """The calls so far."""
        path = self._folder / "log"
        return list(_invocations(path.read_bytes())) if path.exists() else []

    def kill(self, when: When, *words: str, nth: int = 1) -> None:
        """SIGKILL to the parent, before git runs (it does not, then) or after it has done its work."""
        self._tell("kill", words, nth, when=when)

    def fail(self, code: int, stderr: str, *words: str, nth: int = 1, when: When = "before") -> None:
        """Exit with `code` and `stderr` instead of running git; `after`: git does its work, its answer is lost."""
        self._tell("fail", words, nth, code=code, stderr=stderr, when=when)

    def pause(self, when: When, *words: str, nth: int = 1, seconds: float = 30.0) -> Pause:
        """Wait before or after git does its work, until `resume`; after `seconds` exit 97.

        It waits on where the parent is killed meanwhile, and then still does its work: so a late push is made.
        """
        return Pause(self._folder, self._tell("pause", words, nth, when=when, seconds=seconds))

    def version(self, version: str) -> None:
        """Be of this version, as in `2.30.0`, for whoever asks, each time."""
        for word in ("version", "--version"):
            self._tell("version", (word,), 0, version=version)

    def tear(self, edits: int, *words: str, nth: int = 1, kill: Literal["parent", "git"] = "parent") -> None:
        """Of an `update-ref --stdin -z` do only the first `edits`, then SIGKILL the parent (and end) or git itself.

        First means as git's files backend goes about it: writes in the order given, then deletes. A transaction that
        git refuses as a whole is refused. Leaves no lock files; `under(torn.killed_at(k), "update-ref")` does.
        """
        self._tell("tear", words or ("update-ref", "--stdin"), nth, edits=edits, kill=kill)

    def under(self, prefix: Sequence[str], *words: str, nth: int = 1) -> None:
        """Run git under another program, as in `torn.killed_at(2)`."""
        self._tell("under", words, nth, prefix=list(prefix))

    def clear(self) -> None:
        """Forget rules and log."""
        self._rules.clear()
        self._write()
        (self._folder / "log").unlink(missing_ok=True)

    def _tell(self, action: str, words: tuple[str, ...], nth: int, **options: Any) -> str:
        self._names += 1
        name = str(self._names)
        self._rules.append(Rule(name=name, words=words, nth=nth, action=action, options=options))
        self._write()
        return name

    def _write(self) -> None:
        """Replace the script in one step: a command may be running it."""
        fresh = self._folder / "git.new"
        fresh.write_text(
            _SCRIPT.format(
                head=script.head("-IS"),
                here=str(Path(__file__).parent),
                git=self._git,
                folder=str(self._folder),
                rules=self._rules,
            )
        )
        fresh.chmod(0o755)
        fresh.replace(self._folder / "bin" / "git")


def _invocations(log: bytes) -> Iterator[Invocation]:
    fields = [os.fsdecode(field) for field in log.split(b"\0")[:-1]]
    while fields:
        pid, ppid, count = map(int, fields[:3])
        yield Invocation(pid, ppid, fields[3 : 3 + count])
        fields = fields[3 + count :]
