"""The standard streams, whatever a shell made of them."""

from __future__ import annotations

import io
import os
import sys

_STDERR = 2


def prepare() -> None:
    """Make the standard streams such that one can write to them.

    One that is closed is one that nobody reads; left closed, its number would go to the next file or pipe. One that
    cannot hold a character holds an escape in its place.
    """
    while (opened := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
        pass
    os.close(opened)
    sys.stdout = sys.stdout or _nowhere()
    sys.stderr = sys.stderr or _nowhere()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def give_up() -> None:
    """The reader has gone: what is still to be written goes nowhere, also when Python flushes at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _nowhere() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.FileIO(os.devnull, "w"), encoding="utf-8")
