"""Programs that tests write: Python scripts that start wherever this interpreter lies."""

from __future__ import annotations

import sys


def head(options: str = "") -> str:
    """The first lines of a script that this interpreter shall run.

    Not `#!` and its path: the kernel splits that at blanks, and a checkout may be in a folder with one. To sh these
    lines are an `exec`, to Python a string.
    """
    assert not set('"$`\\\n') & set(sys.executable), "quote it"
    return f"""#!/bin/sh\n'''exec' "{sys.executable}" {options} "$0" "$@"\n' '''\n"""
