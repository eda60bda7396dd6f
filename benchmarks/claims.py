"""The suite for `swarm`: speed, races, growth. Each section prints its tables; a limit that is passed exits 1."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks import growth, races, speed
from benchmarks.install import install
from tests.support import seal

SECTIONS = ("speed", "races", "growth")
ROUNDS, QUICK_ROUNDS = 30, 7


def main(arguments: Sequence[str]) -> int:
    """Measure and print. Returns 1 where a limit is passed, else 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks claims", description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=f"of {', '.join(SECTIONS)}; all without any")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_ROUNDS} runs instead of {ROUNDS}, smaller sizes")
    options = parser.parse_args(arguments)
    unknown = set(options.sections) - set(SECTIONS)
    if unknown:
        parser.error(f"no section {', '.join(sorted(unknown))}; there are {', '.join(SECTIONS)}")
    wanted = options.sections or SECTIONS
    rounds = QUICK_ROUNDS if options.quick else ROUNDS
    installed = install()
    with tempfile.TemporaryDirectory(prefix="swarm-benchmark-") as name:
        folder = Path(name)
        env = seal.enter(folder / "home")
        print(f"Python {sys.version.split()[0]}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
        passed: list[str] = []
        if "speed" in wanted:
            passed += speed.tables(folder / "speed", installed, env, rounds)
        if "races" in wanted:
            passed += races.tables(folder / "races", installed, env, quick=options.quick)
        if "growth" in wanted:
            passed += growth.tables(folder / "growth", installed, env, rounds, quick=options.quick)
    for line in passed:
        print(f"over the limit: {line}")
    return 1 if passed else 0
