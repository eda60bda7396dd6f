"""The one door to git.

Every git process of `swarm` starts here: a fixed argument list, no shell, a scrubbed environment, a deadline, bytes in
and bytes out. Needs git 2.38 or newer (`cat-file --batch-command -z`).
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType

from claims.errors import SwarmError, Undecided
from claims.names import ObjectId, RefName
from claims.values import dataclass

MINIMUM_VERSION = (2, 38)
#: Seconds until a git process is ended. Those that cross the network are given their own by the caller.
LOCAL_DEADLINE = 60.0

#: Inherited `GIT_*` that say how to reach a remote. Everything else of that name may point git at another repository.
_TRANSPORT = ("GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_ASKPASS")
_TRANSPORT_PREFIXES = ("GIT_SSL_", "GIT_PROXY_")
#: Let through only under `SWARM_GIT_CONFIG_SEALED`, with which the tests keep the user's configuration out.
_SEALED = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")

#: What every git process is told. os.devnull is a folder without hooks: nothing can be found below a file.
_ALWAYS = (
    *("-c", f"core.hooksPath={os.devnull}"),
    *("-c", "protocol.version=2"),
    *("-c", "core.warnAmbiguousRefs=false"),
    *("-c", "advice.detachedHead=false"),
)
#: git syncs neither loose objects nor refs unless told to; without it a power cut can leave an empty ref.
DURABLE = ("-c", "core.fsync=loose-object,reference")

#: A fetch of what is named after it and of nothing else, whatever the configuration adds; it leaves nothing behind.
FETCH = (
    *("-c", "fetch.writeCommitGraph=false"),
    "fetch",
    "--quiet",
    "--no-tags",
    "--no-prune",
    "--no-recurse-submodules",
    "--no-write-fetch-head",
    "--no-auto-maintenance",
    "--refmap=",
)

#: How a process ends that a signal ended: what it did until then is not known. Over 129 where a shell script is its
#: parent and stands in for it; 129 itself is git's "usage".
SIGNALLED = (*range(-64, 0), *range(130, 193))
#: However a process ends, for callers that judge it by themselves.
ANY_END = range(-64, 256)

_ASK_ROOT = ("rev-parse", "--path-format=absolute", "--show-toplevel")

#: Bytes of requests sent to `cat-file` before its answers are read: less than the smallest pipe holds.
_REQUEST_WINDOW = 3500
#: What `cat-file` answers where there is no one object; newer versions say `submodule` where others say `missing`.
_NO_OBJECT = (b"missing", b"ambiguous", b"submodule")


class ProcessTimedOut(Undecided):
    """A git process was ended at its deadline; what it did until then is not known."""


@dataclass(frozen=True, slots=True)
class Completed:
    """A git process that ended by itself: exit status, standard output, standard error as text."""

    code: int
    out: bytes
    err: str

    @property
    def words(self) -> str:
        """What git said, on one line, without its `fatal:` and `error:`."""
        lines = [line.strip() for line in self.err.splitlines() if line.strip()]
        return printable(" / ".join(line.removeprefix("fatal: ").removeprefix("error: ") for line in lines))


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """An object's id, type (`blob`, `tree`, `commit`, `tag`) and size in bytes."""

    id: ObjectId
    type: str
    size: int


def printable(text: str, limit: int = 500) -> str:
    """`text` without control and format characters, for messages that quote what others wrote."""
    return "".join(char if char.isprintable() else "�" for char in text)[:limit]


class Git:
    """git, run in one directory. Counts its processes, those that crossed the network apart.

    `git_dir` is the repository to work on where it is not the one around `directory`.
    """

    def __init__(self, directory: Path, environ: Mapping[str, str], git_dir: Path | None = None) -> None:
        self.directory = directory
        self.environ = {**_scrubbed(environ), **({"GIT_DIR": str(git_dir)} if git_dir is not None else {})}
        self.processes = 0
        self.network_operations = 0

    def run(
        self,
        *args: str,
        stdin: bytes = b"",
        ok: Sequence[int] = (0,),
        deadline: float = LOCAL_DEADLINE,
        network: bool = False,
    ) -> Completed:
        """Run git to its end. An exit status outside `ok` raises Undecided `git-failed` with git's words.

        Raises Undecided `git-missing`, and ProcessTimedOut after `deadline` seconds, when the process and all it
        started have been killed.
        """
        if network:
            self.network_operations += 1
        return self.begin(*args).end(stdin=stdin, ok=ok, deadline=deadline)

    def begin(self, *args: str) -> Begun:
        """Start git and let it run while the caller does something else."""
        return Begun(self, args, self._start(args))

    def read(self, *args: str, stdin: bytes, most: int, deadline: float) -> bytes:
        """The standard output of a process that may have too much to say: never more than `most` bytes are held.

        Raises Undecided `limits-exceeded` for more, `git-failed`, and ProcessTimedOut.
        """
        import tempfile
        import threading

        with tempfile.TemporaryFile() as questions:
            questions.write(stdin)
            questions.seek(0)
            process = self._start(args, stdin=questions.fileno(), stderr=subprocess.DEVNULL)
        assert process.stdout is not None
        # The pipe ends where the process does, so that a read without a deadline of its own ends with it.
        began = time.monotonic()
        timer = threading.Timer(deadline, _signal_group, [process])
        timer.start()
        try:
            out = process.stdout.read(most + 1)
            if len(out) <= most:
                process.wait()
        finally:
            timer.cancel()
            timer.join()
            if process.returncode is None:
                _kill_group(process)
            process.stdout.close()
        if len(out) > most:
            raise Undecided("limits-exceeded", f"git {_verb(args)} has more than {most} bytes to say")
        if process.returncode == -signal.SIGKILL and time.monotonic() - began >= deadline:
            raise ProcessTimedOut("timed-out", f"git {_verb(args)} was ended after {deadline:g} s")
        if process.returncode != 0:
            raise self.failure(_verb(args), "")
        return out

    def failure(self, what: str, words: str) -> SwarmError:
        """The error for a git process that failed for no reason that its caller expects."""
        version = self.version()
        if version < MINIMUM_VERSION:
            have, need = ".".join(map(str, version)), ".".join(map(str, MINIMUM_VERSION))
            return Undecided("git-too-old", f"git {have} is too old: {need} or newer is needed", "git --version")
        return Undecided("git-failed", f"git {what} failed: {words or 'it said nothing'}")

    def version(self) -> tuple[int, ...]:
        """The version as numbers; (0,) where git does not say."""
        words = self.run("version", ok=ANY_END).out.decode("ascii", "replace").split()
        numbers = words[2].split(".") if len(words) > 2 else []
        return tuple(int(number) for number in numbers[:3] if number.isdecimal()) or (0,)

    def objects(self, *, lazy_fetch: bool = False) -> Objects:
        """Open a reader of objects. `lazy_fetch` is for partial clones: git may then ask the promisor remote."""
        return Objects(self, lazy_fetch=lazy_fetch)

    def start_reader(self, *args: str, lazy_fetch: bool) -> subprocess.Popen[bytes]:
        """Start a git process that the caller talks to; only `Objects` does."""
        environ = self.environ if lazy_fetch else {**self.environ, "GIT_ALLOW_PROTOCOL": "none"}
        return self._start(args, environ=environ, stderr=subprocess.DEVNULL)

    def _start(
        self,
        args: Sequence[str],
        environ: Mapping[str, str] | None = None,
        stdin: int = subprocess.PIPE,
        stderr: int = subprocess.PIPE,
    ) -> subprocess.Popen[bytes]:
        self.processes += 1
        try:
            # A session of its own: at the deadline the helpers that git started (git-remote-https, ssh) go with it.
            return subprocess.Popen(
                ["git", *_ALWAYS, *args],
                cwd=self.directory,
                env=environ or self.environ,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=stderr,
                start_new_session=True,
            )
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            if not os.access(self.directory, os.X_OK) or not self.directory.is_dir():
                raise Undecided("not-a-repository", f"{self.directory} is not a directory one can enter") from None
            raise Undecided("git-missing", "there is no git on PATH", "install git 2.38 or newer") from None


class Begun:
    """A git process that runs. Whoever began it ends it, or stops it."""

    def __init__(self, git: Git, args: Sequence[str], process: subprocess.Popen[bytes]) -> None:
        self._git = git
        self._args = args
        self._process = process

    def end(self, *, stdin: bytes = b"", ok: Sequence[int] = (0,), deadline: float = LOCAL_DEADLINE) -> Completed:
        """Wait until it has ended by itself; raises as `Git.run` does. `deadline` counts from now."""
        process = self._process
        try:
            out, err = process.communicate(stdin, timeout=deadline)
        except subprocess.TimeoutExpired:
            _kill_group(process)
            message = f"git {_verb(self._args)} was ended after {deadline:g} s"
            raise ProcessTimedOut("timed-out", message) from None
        except BaseException:
            _kill_group(process)
            raise
        completed = Completed(process.returncode, out, err.decode("utf-8", "replace"))
        if completed.code not in ok:
            raise self._git.failure(_verb(self._args), completed.words)
        return completed

    def stop(self) -> None:
        """Kill it, unless it has been waited for."""
        if self._process.returncode is None:
            _kill_group(self._process)


class Objects:
    """Reads objects through one `git cat-file --batch-command` that stays open. Use as a context manager.

    A name is anything git resolves to one object: an id, a full ref name, `<commit>:<path>`.
    """

    def __init__(self, git: Git, *, lazy_fetch: bool = False) -> None:
        self._git = git
        self._lazy_fetch = lazy_fetch
        self._process: subprocess.Popen[bytes] | None = None
        self._buffer = bytearray()

    def __enter__(self) -> Objects:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def start(self) -> None:
        """Start the process now, so that it gets ready while the caller does something else."""
        if self._process is None:
            self._process = self._git.start_reader(
                "cat-file", "--batch-command", "-z", "--buffer", lazy_fetch=self._lazy_fetch
            )

    def close(self) -> None:
        """End the process. It may be started again by the next question."""
        if self._process is not None:
            _kill_group(self._process)
            self._process = None
            self._buffer.clear()

    def info(self, names: Sequence[str]) -> list[ObjectInfo | None]:
        """Type and size of each named object, None where there is none."""
        return [self._header() for _ in self._ask("info", names)]

    def contents(self, names: Sequence[str], *, type: str, limit: int) -> list[bytes | None]:
        """The bytes of each named object, None where there is none.

        Sizes are asked first, so that nothing large is ever read. Raises Undecided `limits-exceeded` for an object
        over `limit` bytes, and `git-failed` for one of another type.
        """
        wanted: list[ObjectId] = []
        infos = self.info(names)
        for name, info in zip(names, infos, strict=True):
            if info is None:
                continue
            if info.type != type:
                message = f"{printable(name)} is a {info.type}, not a {type}"
                raise Undecided("git-failed", message, details={"name": name, "type": info.type})
            if info.size > limit:
                message = f"{printable(name)} has {info.size} bytes; {limit} are read"
                raise Undecided("limits-exceeded", message, details={"name": name})
            wanted.append(info.id)
        bodies = iter(self._bodies(wanted))
        return [None if info is None else next(bodies) for info in infos]

    def _bodies(self, ids: Sequence[ObjectId]) -> Iterator[bytes]:
        for object_id in self._ask("contents", ids):
            header = self._header()
            if header is None:
                raise Undecided("git-failed", f"object {object_id} vanished while it was read")
            yield self._take(header.size + 1)[:-1]  # the line end after it is not part of it

    def _ask(self, command: str, names: Sequence[str]) -> Iterator[str]:
        """Send questions a window at a time; yield each name when its answer is next to be read."""
        odd = next((name for name in names if "\n" in name or "\0" in name), None)
        if odd is not None:
            # git repeats a name that it does not know, and its line would be taken for answers.
            raise Undecided("git-failed", f"{printable(odd)!r} is not one line, as git cat-file needs it")
        start = 0
        while start < len(names):
            window, size, end = bytearray(), 0, start
            while end < len(names) and (end == start or size < _REQUEST_WINDOW):
                window += f"{command} {names[end]}\0".encode("utf-8", "surrogateescape")
                size, end = len(window), end + 1
            self._send(bytes(window) + b"flush\0")
            yield from names[start:end]
            start = end

    def _send(self, data: bytes) -> None:
        self.start()
        assert self._process is not None and self._process.stdin is not None
        try:
            self._process.stdin.write(data)
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._died() from None

    def _header(self) -> ObjectInfo | None:
        words = self._line().rsplit(b" ", 2)
        if words[-1] in _NO_OBJECT:
            return None
        if len(words) != 3 or not words[2].isdigit():
            raise self._died()
        return ObjectInfo(ObjectId(words[0].decode("ascii")), words[1].decode("ascii"), int(words[2]))

    def _line(self) -> bytes:
        while (end := self._buffer.find(b"\n")) < 0:
            self._fill()
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line

    def _take(self, size: int) -> bytes:
        while len(self._buffer) < size:
            self._fill()
        taken = bytes(self._buffer[:size])
        del self._buffer[:size]
        return taken

    def _fill(self) -> None:
        assert self._process is not None and self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, selectors.EVENT_READ)
            until = time.monotonic() + LOCAL_DEADLINE
            while not selector.select(max(0.0, until - time.monotonic())):
                if time.monotonic() >= until:
                    self.close()
                    raise ProcessTimedOut("timed-out", f"git cat-file gave no answer for {LOCAL_DEADLINE:g} s")
        chunk = os.read(descriptor, 1 << 16)
        if not chunk:
            raise self._died()
        self._buffer += chunk

    def _died(self) -> SwarmError:
        self.close()
        return self._git.failure("cat-file", "it ended in the middle of an answer")


@dataclass(frozen=True, slots=True)
class Repository:
    """Where one stands, as `rev-parse` says. Paths are absolute."""

    bare: bool
    object_format: str
    common_dir: Path
    #: `swarm/` in this worktree's private git directory, where tokens live. It may not exist yet.
    private_dir: Path
    #: The checked-out branch as a full ref name; None where HEAD is detached.
    head: RefName | None
    #: What `refs/remotes/<remote>/HEAD` points at; None where it is not there.
    remote_head: RefName | None
    #: The names of the refs below the prefixes that were asked for.
    names: tuple[RefName, ...]

    @property
    def zero(self) -> ObjectId:
        """The id that means "no object" in this repository's format."""
        return ObjectId("0" * (64 if self.object_format == "sha256" else 40))


def begin_repository(git: Git) -> Begun:
    """Start to find the repository around `git.directory`, for `open_repository`."""
    return git.begin(
        "rev-parse",
        "--path-format=absolute",
        "--is-bare-repository",
        "--show-object-format",
        "--git-common-dir",
        *("--git-path", "swarm"),
        "--symbolic-full-name",
        "HEAD",
    )


def open_repository(git: Git, prefixes: Sequence[str], remote: str | None, begun: Begun | None = None) -> Repository:
    """Find the repository around `git.directory`, and list the names of the refs below `prefixes` meanwhile.

    Names only: their values are asked of `Objects`, so that a ref whose object is missing hides no other. Raises
    Undecided `not-a-repository`.
    """
    where = begun or begin_repository(git)
    # for-each-ref looks at what is below the prefixes only; a `--glob` of rev-parse at every ref there is.
    remote_head = [f"refs/remotes/{remote}/HEAD"] if remote else []
    wanted = (*(prefix.rstrip("/") for prefix in prefixes), *remote_head)
    listing = git.begin("for-each-ref", "--format=%(refname)%00%(symref)", *wanted)
    try:
        bare, object_format, common_dir, private_dir, head = _answers(git, where.end(ok=(0, 128)))
        listed = listing.end().out.decode("utf-8", "surrogateescape")
    finally:
        where.stop()
        listing.stop()
    refs = [(name, target) for name, _, target in (line.partition("\0") for line in listed.split("\n")[:-1])]
    targets = [target for name, target in refs if [name] == remote_head and target.startswith("refs/remotes/")]
    return Repository(
        bare == "true",
        object_format,
        Path(common_dir),
        Path(private_dir),
        head,
        RefName(targets[0]) if targets else None,
        tuple(RefName(name) for name, _ in refs if name.startswith("refs/swarm/")),
    )


def _answers(git: Git, asked: Completed) -> tuple[str, str, str, str, RefName | None]:
    """The lines of `begin_repository`, HEAD as the branch that it is on."""
    lines = asked.out.decode("utf-8", "surrogateescape").split("\n")[:-1]
    if len(lines) < 4:
        if "not a git repository" in asked.err:
            raise Undecided("not-a-repository", f"{git.directory} is not in a git repository", "git init")
        raise git.failure("rev-parse", asked.words)
    bare, object_format, common_dir, private_dir, *rest = lines
    if not (common_dir.startswith("/") and private_dir.startswith("/")):
        # A path with a line end in it; or a git before 2.31, which prints the options that it does not know.
        raise git.failure("rev-parse", f"the path of the git directory is not one line: {printable(common_dir)}")
    head = _unborn_head(git) if asked.code else _branch(rest.pop())
    return bare, object_format, common_dir, private_dir, head


def _branch(line: str) -> RefName | None:
    return None if line == "HEAD" else RefName(line)


def _unborn_head(git: Git) -> RefName | None:
    """The branch that HEAD names before its first commit, which `rev-parse` cannot resolve."""
    answer = git.run("symbolic-ref", "-q", "HEAD", ok=(0, 1))
    return RefName(answer.out.decode("utf-8", "surrogateescape").rstrip("\n")) if answer.code == 0 else None


def top_level(git: Git) -> Path | None:
    """The root of the working tree; None where there is none, as in a bare repository."""
    return _root(git.run(*_ASK_ROOT, ok=(0, 128)))


def working_tree(git: Git) -> Path:
    """The root of the working tree. Raises Undecided `not-a-repository` where there is none."""
    answer = git.run(*_ASK_ROOT, ok=(0, 128))
    root = _root(answer)
    if root is not None:
        return root
    if "not a git repository" in answer.err:
        raise Undecided("not-a-repository", f"{git.directory} is not in a git repository", "git init")
    if "must be run in a work tree" in answer.err:
        hint = "git worktree add PATH, and run the command there"
        raise Undecided("not-a-repository", f"{git.directory} is in no working tree to write to", hint)
    raise git.failure("rev-parse", answer.words)


def _root(answer: Completed) -> Path | None:
    path = answer.out.decode("utf-8", "surrogateescape").removesuffix("\n")
    return Path(path) if answer.code == 0 and path.startswith("/") else None


def begin_config(git: Git) -> Begun:
    """Start to read what `read_config` gives."""
    wanted = r"^(swarm\.(base|remote|agent)|remote\..*\.(url|pushurl|promisor)|url\..*\.pushinsteadof)$"
    return git.begin("config", "-z", "--get-regexp", wanted)


def read_config(git: Git, begun: Begun | None = None) -> list[tuple[str, str]]:
    """The configuration that concerns us, by lowercase name with the subsection as written, in git's order."""
    raw = (begun or begin_config(git)).end(ok=(0, 1)).out
    items = raw.decode("utf-8", "surrogateescape").split("\0")[:-1]
    return [(key, value) for key, _, value in (item.partition("\n") for item in items)]


def urls_of(git: Git, remote: str) -> tuple[str, list[str]]:
    """Where git would fetch from and push to, as it rewrites what is configured."""
    read, written = (
        git.run("remote", "get-url", "--all", *push, "--", remote).out.decode("utf-8", "surrogateescape").splitlines()
        for push in ((), ("--push",))
    )
    return read[0], written


def _verb(args: Sequence[str]) -> str:
    """The command among the arguments, which settings (`-c key=value`) may precede."""
    at = 0
    while args[at] == "-c":
        at += 2
    return args[at]


def _scrubbed(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment for git: what could point it at another repository or make it ask questions is gone."""
    let_through = {*_TRANSPORT, *(_SEALED if environ.get("SWARM_GIT_CONFIG_SEALED") == "1" else ())}
    kept = {
        name: value
        for name, value in environ.items()
        if not name.startswith("GIT_") or name in let_through or name.startswith(_TRANSPORT_PREFIXES)
    }
    kept.pop("LANGUAGE", None)
    return {
        **kept,
        "LC_ALL": "C",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
    }


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """End a process and everything it started, and close our ends of its pipes."""
    _signal_group(process)
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            try:
                pipe.close()
            except BrokenPipeError:
                pass  # what was still buffered has no reader any more
    process.wait()


def _signal_group(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass  # it has ended already
