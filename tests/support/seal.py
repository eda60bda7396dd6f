"""The seal around every test: an environment of its own, and no way out of this machine.

The functions here take what they need and change nothing; `tests/conftest.py` applies them.
"""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

#: What every commit of a test is dated, so that the same script gives the same object ids.
DATE = "2026-08-14T09:30:00+00:00"
EPOCH = 1786699800
NAME = "Sealed Test"
EMAIL = "sealed@example.invalid"

#: Whatever starts like this would make a test depend on who runs it, or reach something that costs money.
_DROPPED_PREFIXES = (
    *("GIT_", "GITHUB_", "GH_", "SWARM_", "XDG_", "LC_", "ACTIONS_", "RUNNER_"),
    *("ANTHROPIC_", "CLAUDE", "OPENAI_", "CODEX_"),
)
#: A proxy would swallow requests to 127.0.0.1; the others change what git or our output does.
_DROPPED = frozenset(
    (
        *(
            "HTTP_PROXY",
            "HTTPS_PROXY",
            "ALL_PROXY",
            "NO_PROXY",
            "SSH_ASKPASS",
            "EMAIL",
            "EDITOR",
            "VISUAL",
            "PAGER",
        ),
        *("PYTHONUNBUFFERED", "PYTHONIOENCODING", "PYTHONUTF8", "PYTHONDONTWRITEBYTECODE"),
        *("LANG", "LANGUAGE", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE"),
    )
)

_GIT_CONFIG = f"""\
[user]
\tname = {NAME}
\temail = {EMAIL}
[init]
\tdefaultBranch = main
[protocol "file"]
\tallow = always
[gc]
\tauto = 0
\tautoDetach = false
[maintenance]
\tauto = false
[receive]
\tautogc = false
[commit]
\tgpgSign = false
[tag]
\tgpgSign = false
[core]
\tfsync = none
[advice]
\tdetachedHead = false
"""


def environment(inherited: Mapping[str, str], home: Path, object_format: str, locale: str | None) -> dict[str, str]:
    """The variables of a sealed test whose home is `home` (see `write_home`).

    `object_format` is `sha1` or `sha256`: git itself reads it where a repository is created. `locale` is what child
    processes speak, None for C.UTF-8.
    """
    kept = {name: value for name, value in inherited.items() if not _is_dropped(name)}
    spoken = locale or "C.UTF-8"
    return kept | {
        "HOME": str(home),
        "TZ": "UTC",
        "LC_ALL": spoken,
        **({"LANGUAGE": spoken.partition(".")[0]} if locale else {}),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": str(home / "gitconfig"),
        "GIT_AUTHOR_DATE": DATE,
        "GIT_COMMITTER_DATE": DATE,
        "GIT_DEFAULT_HASH": object_format,
        "GIT_TERMINAL_PROMPT": "0",
        # The product drops inherited GIT_*; this keeps the sealed configuration, and only that, in force.
        "SWARM_GIT_CONFIG_SEALED": "1",
    }


def write_home(home: Path) -> None:
    """Create `home` with the git configuration that `environment` points at."""
    home.mkdir(parents=True)
    (home / "gitconfig").write_text(_GIT_CONFIG)


def _is_dropped(name: str) -> bool:
    return name.startswith(_DROPPED_PREFIXES) or name.upper() in _DROPPED


def enter(home: Path) -> dict[str, str]:
    """Seal this process, and so all that it starts, for good: what benchmarks and scripts do. Gives its environment."""
    write_home(home)
    sealed = environment(os.environ, home, "sha1", None)
    os.environ.clear()
    os.environ.update(sealed)
    return sealed


class LoopbackOnly:
    """Fails a test that looks up or connects to anything but this machine, in this process.

    The failure is raised where it happens and kept in `attempts` (it may be swallowed there, or be in a thread).
    """

    def __init__(self) -> None:
        self.attempts: list[str] = []

    def install(self, patch: pytest.MonkeyPatch) -> None:
        """Guard `socket` until `patch` is undone."""
        for method in ("connect", "connect_ex"):
            patch.setattr(socket.socket, method, self._guarded(getattr(socket.socket, method)))
        look_up = socket.getaddrinfo

        def getaddrinfo(host: Any, *args: Any, **kwargs: Any) -> Any:
            self._admit(host)
            return look_up(host, *args, **kwargs)

        patch.setattr(socket, "getaddrinfo", getaddrinfo)

    def _guarded(self, method: Any) -> Any:
        def guarded(sock: socket.socket, address: Any) -> Any:
            if sock.family in (socket.AF_INET, socket.AF_INET6):
                self._admit(address[0])
            return method(sock, address)

        return guarded

    def _admit(self, host: object) -> None:
        if not _is_loopback(host):
            self.attempts.append(repr(host))
            pytest.fail(f"a test tried to reach {host!r}; only loopback is open")


def _is_loopback(host: object) -> bool:
    text = host.decode("ascii", "replace") if isinstance(host, bytes) else host
    if text is None or text == "localhost":
        return True
    try:
        return isinstance(text, str) and ipaddress.ip_address(text).is_loopback
    except ValueError:
        return False
