"""Run as a script by `swarm.race`: get ready, wait at the barrier, then be the command.

`launcher.py READY GO WHAT ARGS…`: READY and GO are descriptors of two pipes. A byte into READY says that this process
is ready; the end of GO releases it. WHAT is `module:function`, imported before the wait, or the path of a program.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


def main() -> None:
    ready, go, what, *args = sys.argv[1:]
    # Not this folder: its modules are not the command's business.
    del sys.path[0]
    run = _loaded(what) if "/" not in what else None
    os.write(int(ready), b".")
    os.close(int(ready))
    os.read(int(go), 1)
    os.close(int(go))
    if run is None:
        os.execv(what, [what, *args])
    sys.argv = ["swarm", *args]
    sys.exit(run())


def _loaded(entry: str) -> Callable[[], Any]:
    module, _, function = entry.partition(":")
    loaded: Callable[[], Any] = getattr(import_module(module), function)
    return loaded


if __name__ == "__main__":
    main()
