"""Makes a bare repository an awkward remote. Each function changes `origin` for good; gone ones are made of nothing."""

from __future__ import annotations

import socket
from pathlib import Path

from tests.support.repo import Repo

_REFUSE = """\
#!/bin/sh
while read -r old new ref; do
    case "$ref" in
    {namespace}*) echo '{words}' >&2; exit 1 ;;
    esac
done
"""


def refuse_namespace(origin: Repo, namespace: str = "refs/swarm/", words: str = "no such refs here") -> None:
    """A pre-receive hook that refuses a push with any ref below `namespace`, saying `words` (no quotes in them)."""
    hook = origin.path / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(_REFUSE.format(namespace=namespace, words=words))
    hook.chmod(0o755)


def hide_namespace(origin: Repo, namespace: str = "refs/swarm") -> None:
    """`receive.hideRefs`: git refuses pushes to it on its own ("deny updating a hidden ref")."""
    origin.git("config", "receive.hideRefs", namespace)


def no_atomic(origin: Repo) -> None:
    """A server that does not speak `atomic`."""
    origin.git("config", "receive.advertiseAtomic", "false")


def read_only(origin: Repo) -> None:
    """Served over HTTP it fetches, and answers pushes with 403. Pushes to its path are refused by a hook."""
    origin.git("config", "http.receivepack", "false")
    refuse_namespace(origin, "refs/", "read only")


def nobody_home() -> str:
    """A URL on a loopback port where nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    return f"http://127.0.0.1:{port}/gone.git"


def gone(folder: Path) -> str:
    """A file:// URL below `folder` with no repository behind it."""
    return (folder / "gone.git").absolute().as_uri()
