"""Kills git inside its own transaction, between two renames, which leaves what a killed process really leaves.

git's files backend writes each ref by renaming its lock file, in the order of the transaction, and deletes afterwards
by unlink (reflogs first, then refs). A signal at the k-th of either leaves the k-1 before it done, and lock files.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.support.repo import Repo

#: How the C library spells a call differs by machine; `?` lets strace ignore what this one lacks.
_CALLS = {
    "rename": "?rename,?renameat,?renameat2",
    "unlink": "?unlink,?unlinkat",
    "link": "?link,?linkat",
}


def _traces() -> bool:
    """Whether strace is here and may trace (some containers forbid it)."""
    if shutil.which("strace") is None:
        return False
    return subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, check=False).returncode == 0


needs_strace = pytest.mark.skipif(not _traces(), reason="strace is missing or may not trace")


def killed_at(k: int, call: str = "rename") -> list[str]:
    """What to put before a command so that SIGKILL meets it on its k-th `rename`, `unlink` or `link`, from 1.

    The count is per process: with `killed_at(2)` each process that the command starts has two of its own. A command
    with fewer runs to its end. Otherwise it exits 137, or -9 as subprocess says it.
    """
    return ["strace", "-f", "-o", "/dev/null", "-e", f"inject={_CALLS[call]}:signal=KILL:when={k}"]


@contextmanager
def torn_receive_pack(clone: Repo, k: int, call: str = "rename", remote: str = "origin") -> Iterator[None]:
    """Meanwhile every push from `clone` to `remote`, a path or file://, is killed at the other end, as `killed_at`.

    Over HTTP arm `HttpOrigin.run_next_push_under(killed_at(k))` instead.
    """
    key = f"remote.{remote}.receivepack"
    clone.git("config", key, shlex.join([*killed_at(k, call), "git", "receive-pack"]))
    try:
        yield
    finally:
        clone.git("config", "--unset", key)
