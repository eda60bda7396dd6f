"""What `GitWrapper` puts in git's place: writes down the call, obeys the first rule that it fulfils, or becomes git.

It runs once per git process of the command under test, so it imports next to nothing.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # what `signal` wraps, without the enums
import fcntl
import os
import sys
import time

# `typing` takes longer to import than git takes to run.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

    from tests.support.git_wrapper import Rule


def main(git: str, folder: str, rules: Sequence[Rule]) -> NoReturn:
    """Stand in for the git at path `git`; what is remembered between calls is in `folder`."""
    # Python ignores it, and git would inherit that.
    _signal.signal(_signal.SIGPIPE, _signal.SIG_DFL)
    args = sys.argv[1:]
    obeyed = _write_down(folder, args, rules)
    if obeyed is not None:
        _ACTIONS[obeyed["action"]](git, folder, args, obeyed)
    os.execv(git, ["git", *args])


def _write_down(folder: str, args: Sequence[str], rules: Sequence[Rule]) -> Rule | None:
    """Log the call and count it for every rule that its words fulfil; the first rule whose turn it is."""
    log = os.open(f"{folder}/log", os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    fcntl.flock(log, fcntl.LOCK_EX)
    fields = [str(os.getpid()), str(os.getppid()), str(len(args)), *args]
    os.write(log, b"".join(os.fsencode(field) + b"\0" for field in fields))
    fulfilled = [rule for rule in rules if all(word in args for word in rule["words"])]
    due = [rule for rule in fulfilled if _count(f"{folder}/count-{rule['name']}") == rule["nth"] or rule["nth"] == 0]
    os.close(log)
    return due[0] if due else None


def _count(path: str) -> int:
    """Count on, under the lock on the log: a file as long as the count."""
    counter = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(counter, b".")
    size = os.fstat(counter).st_size
    os.close(counter)
    return size


def _kill(git: str, folder: str, args: Sequence[str], rule: Rule) -> NoReturn:
    """SIGKILL to the command that called, before or after git has done its work."""
    if rule["options"]["when"] == "after":
        _run([git, *args])
    _kill_parent()


def _fail(git: str, folder: str, args: Sequence[str], rule: Rule) -> NoReturn:
    """Exit without running git, or after it has done its work: its answer is lost."""
    if rule["options"]["when"] == "after":
        _run([git, *args], stdout=os.open(os.devnull, os.O_WRONLY))
    os.write(2, rule["options"]["stderr"].encode())
    os._exit(rule["options"]["code"])


def _pause(git: str, folder: str, args: Sequence[str], rule: Rule) -> None:
    """Wait for the file that `Pause.resume` writes, at most `seconds`; 97 says that it never came."""
    code = _run([git, *args]) if rule["options"]["when"] == "after" else None
    _touch(f"{folder}/reached-{rule['name']}")
    deadline = time.monotonic() + rule["options"]["seconds"]
    while not os.path.exists(f"{folder}/resume-{rule['name']}"):
        if time.monotonic() > deadline:
            os.write(2, b"git wrapper: paused for too long\n")
            os._exit(97)
        time.sleep(0.002)
    if code is not None:
        os._exit(code)


def _version(git: str, folder: str, args: Sequence[str], rule: Rule) -> NoReturn:
    os.write(1, f"git version {rule['options']['version']}\n".encode())
    os._exit(0)


def _under(git: str, folder: str, args: Sequence[str], rule: Rule) -> NoReturn:
    """Run git under another program."""
    prefix = rule["options"]["prefix"]
    os.execvp(prefix[0], [*prefix, git, *args])


def _tear(git: str, folder: str, args: Sequence[str], rule: Rule) -> NoReturn:
    """Do only the first edits of a transaction on stdin, if git would have done it all, and die."""
    script = sys.stdin.buffer.read()
    edits = sorted(parse_transaction(script), key=_is_delete)
    whole = b"start\0" + b"".join(edits) + b"prepare\0abort\0"
    if _run([git, *args], _file_of(folder, whole), stdout=2) != 0:
        # Refused as a whole: let git say so.
        os._exit(_run([git, *args], _file_of(folder, script)))
    _run([git, *args], _file_of(folder, b"".join(edits[: rule["options"]["edits"]])), stdout=2)
    if rule["options"]["kill"] == "parent":
        _kill_parent()
    os.kill(os.getpid(), _signal.SIGKILL)
    raise AssertionError("unreachable")


def parse_transaction(script: bytes) -> list[bytes]:
    """The edits of `git update-ref --stdin -z`, whole, each with the options before it. Raises ValueError.

    Source: git-update-ref(1). What checks only (`verify`) is kept in front of the edits that follow.
    """
    edits: list[bytes] = []
    ahead = b""
    fields = script.split(b"\0")
    if fields.pop() != b"":
        raise ValueError("the transaction does not end in NUL")
    while fields:
        first = fields.pop(0)
        command = first.split(b" ")[0]
        if command not in _VALUES:
            raise ValueError(f"not a command of update-ref --stdin -z: {first!r}")
        count = _VALUES[command]
        values, fields = fields[:count], fields[count:]
        whole = b"".join(field + b"\0" for field in (first, *values))
        if command in (b"option", b"verify"):
            ahead += whole
        elif count:
            edits.append(ahead + whole)
            ahead = b""
    return edits


#: Commands to the number of NUL-terminated values after `<command> SP <ref> NUL`.
_VALUES = {
    b"update": 2,
    b"create": 1,
    b"delete": 1,
    b"verify": 1,
    b"option": 0,
    b"start": 0,
    b"prepare": 0,
    b"commit": 0,
    b"abort": 0,
}


def _is_delete(edit: bytes) -> bool:
    """Whether git's files backend does it late: it writes all refs in the order given, then deletes."""
    *_, last = (field for field in edit.split(b"\0") if field.startswith((b"update ", b"create ", b"delete ")))
    return last.startswith(b"delete ")


def _run(argv: Sequence[str], stdin: int = 0, stdout: int = 1) -> int:
    """Run to its end; its exit status, 128 + n for a signal."""
    files = [(os.POSIX_SPAWN_DUP2, stdin, 0), (os.POSIX_SPAWN_DUP2, stdout, 1)]
    pid = os.posix_spawn(argv[0], ["git", *argv[1:]], os.environ, file_actions=files)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return code if code >= 0 else 128 - code


def _file_of(folder: str, data: bytes) -> int:
    """A descriptor to read `data` from. Not a pipe, which might fill."""
    path = f"{folder}/stdin-{os.getpid()}"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    os.unlink(path)
    os.write(descriptor, data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _kill_parent() -> NoReturn:
    """SIGKILL to the caller, without an answer to it: it must not act on one first."""
    os.kill(os.getppid(), _signal.SIGKILL)
    os._exit(128 + _signal.SIGKILL)


def _touch(path: str) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))


_ACTIONS = {"kill": _kill, "fail": _fail, "pause": _pause, "version": _version, "under": _under, "tear": _tear}
