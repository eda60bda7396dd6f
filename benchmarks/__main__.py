"""`python -m benchmarks SUITE`: the table of suites."""

from __future__ import annotations

import importlib
import sys

#: Every suite and its module, which has a `main(arguments) -> int`.
SUITES = {"claims": "benchmarks.claims", "gate": "benchmarks.gate"}


def main(arguments: list[str]) -> int:
    """Run a suite. Returns the exit status: 64 for a suite that there is not."""
    if not arguments or arguments[0] not in SUITES:
        print(f"usage: python -m benchmarks {{{','.join(SUITES)}}} [--help]", file=sys.stderr)
        return 64
    suite = importlib.import_module(SUITES[arguments[0]])
    return int(suite.main(arguments[1:]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
