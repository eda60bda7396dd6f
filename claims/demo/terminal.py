"""The demo's terminal: prints a command as one would type it, runs it, and insists on how it ends.

Only here does the demo start programs. They see a home of their own, no configuration of the user or the system, and
never a network: every repository is below one folder.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from claims.errors import CODES, EXIT_OK, EXIT_REFUSED, Undecided
from claims.values import dataclass

#: Seconds that one command of the demo may take.
_DEADLINE = 60.0

#: Variables that could point git or swarm at something outside the demo, or change what they say.
_DROPPED = ("GIT_", "SWARM_", "XDG_", "LC_", "LANG")

_GIT_CONFIG = """\
[user]
\tname = Swarm Demo
\temail = demo@example.invalid
[init]
\tdefaultBranch = main
[gc]
\tauto = 0
[maintenance]
\tauto = false
"""

# The commands of the very installation that runs the demo, whatever PATH says.
_SCRIPT = """\
#!/bin/sh
exec {python} -c 'from {module}.cli.start import {name}; {name}()' "$@"
"""
_COMMANDS = {"swarm": ("claims", "swarm"), "swarm-gate": ("gate", "swarm_gate")}


@dataclass(frozen=True, slots=True)
class Step:
    """One command that was run: in which folder of the demo, as typed, what it printed, its exit status."""

    where: str
    command: str
    output: str
    exit: int

    def to_json(self) -> dict[str, object]:
        return {"where": self.where, "command": self.command, "output": self.output, "exit": self.exit}


class Terminal:
    """Runs commands below `folder` and shows each with its output. `steps` is what was run so far."""

    def __init__(self, folder: Path, environ: Mapping[str, str], show: Callable[[str], None]) -> None:
        self.folder = folder
        self.steps: list[Step] = []
        self._show = show
        self._environ = _sealed(environ, folder)
        _furnish(folder)

    def say(self, text: str) -> None:
        """Tell the reader what comes."""
        self._show(f"\n# {text}")

    def run(self, where: str, command: str, *, says: str = "") -> str:
        """Run a command that has to succeed and print `says`; its output. Raises Undecided `unexpected`."""
        return self._run(where, command, EXIT_OK, says)

    def refused(self, where: str, command: str, code: str) -> str:
        """Run a command that has to end with the error `code` and its exit status. Raises Undecided `unexpected`."""
        return self._run(where, command, CODES[code], f"error[{code}]: ")

    def failed(self, where: str, command: str, *rules: str) -> str:
        """Run a command of the gate that has to fail by exactly these rules. Raises Undecided `unexpected`."""
        output = self._run(where, command, EXIT_REFUSED, "verdict: FAIL")
        broken = set(re.findall(r"^fail\[([a-z-]+)\]: ", output, re.MULTILINE))
        if broken != set(rules):
            raise _otherwise(where, command, f"a failure by {', '.join(rules)}")
        return output

    def _run(self, where: str, command: str, exit: int, says: str) -> str:
        self._show(f"\n{where}$ {command}")
        step = self._start(where, command)
        self.steps.append(step)
        self._show(f"{step.output}(exit {step.exit})")
        if step.exit != exit or says not in step.output:
            expected = f"exit {exit}" + (f" and {says.strip()!r}" if says else "")
            raise _otherwise(where, command, expected)
        return step.output

    def _start(self, where: str, command: str) -> Step:
        try:
            done = subprocess.run(
                shlex.split(command),
                cwd=self.folder / where,
                env=self._environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=_DEADLINE,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise Undecided("timed-out", f"the demo's `{command}` in {where} was ended after {_DEADLINE:g} s") from None
        except FileNotFoundError:
            raise Undecided("git-missing", "there is no git on PATH", "install git 2.38 or newer") from None
        return Step(where, command, done.stdout.decode("utf-8", "replace"), done.returncode)


def _otherwise(where: str, command: str, expected: str) -> Undecided:
    return Undecided("unexpected", f"the demo's `{command}` in {where} ended otherwise than told: not {expected}")


def _sealed(environ: Mapping[str, str], folder: Path) -> dict[str, str]:
    """The environment without what reaches out of the demo, and with its own home, programs and configuration."""
    kept = {name: value for name, value in environ.items() if not name.startswith(_DROPPED)}
    return {
        **kept,
        "PATH": f"{folder / 'bin'}{os.pathsep}{environ.get('PATH', os.defpath)}",
        "HOME": str(folder / "home"),
        "LC_ALL": "C.UTF-8",
        "NO_COLOR": "1",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": str(folder / "home" / ".gitconfig"),
        "GIT_TERMINAL_PROMPT": "0",
        # swarm drops inherited GIT_*; this keeps the two above in force.
        "SWARM_GIT_CONFIG_SEALED": "1",
    }


def _furnish(folder: Path) -> None:
    """Write the home and the programs that `_sealed` speaks of."""
    (folder / "home").mkdir()
    (folder / "home" / ".gitconfig").write_text(_GIT_CONFIG, "utf-8")
    (folder / "bin").mkdir()
    for name, (module, function) in _COMMANDS.items():
        program = folder / "bin" / name
        program.write_text(_SCRIPT.format(python=shlex.quote(sys.executable), module=module, name=function), "utf-8")
        program.chmod(0o755)
