"""The console scripts. A command takes a tenth of a second; without this, a fifth of that is Python tidying up.

While a command loads, nothing is garbage yet, so the collector is told to look for it less often. When it is done,
everything is written and every process has ended, so the interpreter does not take itself apart.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from typing import NoReturn

#: Objects made before the collector looks at them; at Python's 700 it looks a hundred times while a command loads.
#: Not "never": `swarm renew --every` runs for days.
_ALLOCATIONS = 50_000


def swarm() -> NoReturn:
    """`swarm`."""
    run("claims.cli.main")


def run(module: str) -> NoReturn:
    """Run `main()` of a module and end with the exit status that it returns."""
    gc.set_threshold(_ALLOCATIONS)
    status: int = importlib.import_module(module).main()
    try:
        sys.stderr.flush()
    finally:
        os._exit(status)
