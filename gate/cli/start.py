"""The console script `swarm-gate`."""

from __future__ import annotations

from typing import NoReturn

from claims.cli import start


def swarm_gate() -> NoReturn:
    """`swarm-gate`."""
    start.run("gate.cli.main")
