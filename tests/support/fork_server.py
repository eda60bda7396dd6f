"""Run as a script by `forked.ForkServer`: loads `swarm` once, and is forked into each command that it is told of.

A request is a line of JSON on descriptor IN, its answer one on OUT: the exit statuses of all its commands, negative
for signals. The commands of one request start together, once the last of them is ready. What a killed command leaves
running becomes this process's child, and is waited for: nothing of one request is still at work during the next.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import pkgutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

#: What changes something that others can see; of `open` only what writes below a private `swarm/` folder.
_EVENTS = frozenset(["open", "os.mkdir", "os.rename", "os.remove", "subprocess.Popen"])


def main() -> None:
    del sys.path[0]
    requests, answers = (int(argument) for argument in sys.argv[1:])
    _adopt_orphans()
    _load()
    with os.fdopen(requests, "rb") as lines:
        for line in lines:
            codes = _serve(json.loads(line), (requests, answers))
            os.write(answers, json.dumps(codes).encode() + b"\n")


def _load() -> None:
    """Import all of the package, so that no child spends its race on it."""
    package = importlib.import_module("claims")
    for module in pkgutil.walk_packages(package.__path__, "claims."):
        importlib.import_module(module.name)
    gc.collect()
    gc.freeze()


def _adopt_orphans() -> None:
    """prctl(2): PR_SET_CHILD_SUBREAPER, which is Linux's."""
    done: int = ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
    assert done == 0, "prctl failed"


def _serve(request: dict[str, Any], ours: Sequence[int]) -> list[int]:
    """Fork one child a command, let them go at once, and wait for all; at the deadline they are killed."""
    ready, ready_in_child = os.pipe()
    go_in_child, go = os.pipe()
    children: list[int] = []
    for command in request["commands"]:
        child = os.fork()
        if child == 0:
            for descriptor in (*ours, ready, go):
                os.close(descriptor)
            _become(command, ready_in_child, go_in_child)
        children.append(child)
    os.close(ready_in_child)
    os.close(go_in_child)
    awaited = len(children)
    while awaited and (got := len(os.read(ready, awaited))):
        awaited -= got
    signal.signal(signal.SIGALRM, lambda *_: _kill_all())
    signal.alarm(request["seconds"])
    os.close(go)
    statuses: dict[int, int] = {}
    while request["orphans"] or not statuses.keys() >= set(children):
        try:
            child, status = os.waitpid(-1, 0)
        except ChildProcessError:
            break
        statuses[child] = status
    signal.alarm(0)
    os.close(ready)
    return [os.waitstatus_to_exitcode(statuses[child]) for child in children]


def _kill_all() -> None:
    """SIGKILL to every child, orphans too, and in a second to theirs."""
    signal.alarm(1)
    for child in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
        os.kill(int(child), signal.SIGKILL)


def _become(command: dict[str, Any], ready: int, go: int) -> NoReturn:
    """Be the command, in a session of its own."""
    code = 70
    try:
        os.setsid()
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        os.environ.clear()
        os.environ.update(command["env"])
        time.tzset()
        os.chdir(command["directory"])
        for descriptor, path in ((1, command["out"]), (2, command["err"])):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), descriptor)
        sys.argv = ["swarm", *command["args"]]
        if command["clock"] is not None:
            _turn_clock(Path(command["clock"]))
        os.write(ready, b".")
        os.close(ready)
        os.read(go, 1)
        os.close(go)
        if command["events"] is not None:
            _watch(command["events"], command["die_at"])
        code = importlib.import_module("claims.cli.main").main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 - a child must never return into the server's loop
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _turn_clock(ahead: Path) -> None:
    """Let the command's clock be ahead by as many minutes as the file says when it looks."""
    session = importlib.import_module("claims.session")
    real: Callable[[], datetime] = session.open_session.__kwdefaults__["now"]
    session.open_session.__kwdefaults__["now"] = lambda: real() + timedelta(minutes=float(ahead.read_text()))


def _watch(log: str, die_at: int) -> None:
    """Write each step into `log`, a line each, and die by SIGKILL before the `die_at`-th, from 1 (0: never)."""
    count = 0
    written = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal count
        if event not in _EVENTS or (event == "open" and not _counts(*arguments)):
            return
        count += 1
        what = _git_words(arguments[1]) if event == "subprocess.Popen" else _name(arguments[0])
        os.write(written, f"{event} {what}\n".encode())
        if count == die_at:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


def _git_words(argv: Sequence[str]) -> str:
    """`git` and its command, without the options between them."""
    words = [word for before, word in pairwise(argv) if before != "-c" and word != "-c"]
    return f"git {words[0]}"


def _name(path: object) -> str:
    return os.readlink(f"/proc/self/fd/{path}") if isinstance(path, int) else str(path)


def _counts(path: object, mode: str | None, flags: int) -> bool:
    """A token that is created or written (its descriptor is opened as a file then), or its folder that is synced."""
    name = _name(path)
    writes = flags & (os.O_WRONLY | os.O_RDWR) or "w" in (mode or "")
    return name.endswith("/swarm") or bool(writes and "/swarm/" in name)


if __name__ == "__main__":
    main()
