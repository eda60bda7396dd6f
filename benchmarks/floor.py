"""The floor: an interpreter with the imports that every command needs, and the git plumbing of the operation, bare."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from benchmarks.measure import run
from benchmarks.scenes import Scene

#: An interpreter that could be this command, and one that could be any program at all.
IMPORTS = ("-I", "-c", "import click, json, subprocess")
NOTHING = ("-I", "-S", "-c", "pass")

#: What changes claims, and what only reads them.
WRITES = frozenset({"claim", "renew", "release"})

#: Not below refs/swarm/, where it would be read as a claim.
_REF = "refs/benchmark/floor"
_FETCH = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules")


class Plumbing:
    """The git processes that an operation cannot do without, in one scene."""

    def __init__(self, scene: Scene, env: Mapping[str, str]) -> None:
        self._scene = scene
        self._env = env
        self._blob = ""

    def of(self, command: str) -> None:
        """Run those of `claim`, `renew`, `release` or of `check`, `status`."""
        if self._scene.origin is not None:
            self._git("fetch", *_FETCH, "origin", "refs/heads/main:refs/remotes/origin/main")
        if command not in WRITES:
            self._git("for-each-ref", "--format=%(refname) %(objectname)", "refs/swarm/task-claims")
            return
        # As long as a claim is, and a new object each time.
        blob = self._git("hash-object", "-w", "--stdin", stdin=os.urandom(250).hex().encode()).decode().strip()
        if self._scene.origin is not None:
            lease = f"--force-with-lease={_REF}:{self._blob}"
            self._git("push", "--atomic", "--porcelain", "--no-verify", lease, "origin", f"{blob}:{_REF}")
        self._git("update-ref", _REF, blob)
        self._blob = blob

    def _git(self, *args: str, stdin: bytes = b"") -> bytes:
        return run(["git", *args], self._scene.work.path, self._env, stdin)


def interpreter(python: Path, arguments: tuple[str, ...], folder: Path, env: Mapping[str, str]) -> None:
    run([python, *arguments], folder, env)
