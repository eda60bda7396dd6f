"""Whether what is read from a remote and what is pushed to it is one repository. Pure.

git may fetch from one URL and push to others (`pushurl`, several `url`, `pushInsteadOf`). Claims are decided by the
repository that compares and swaps, so it has to be the one that is read, and the only one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from claims.errors import SwarmError, Undecided
from claims.values import dataclass

#: `user@host:path`, as ssh takes it: no slash before the colon, or it is a path.
_SCP = re.compile(r"(?:[^/@]*@)?(?P<host>\[[^\]]*\]|[^/:@]+):(?!//)(?P<path>.*)", re.DOTALL)
_URL = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?:[^/@]*@)?(?P<host>\[[^\]]*\]|[^/:]*)(?::(?P<port>[0-9]*))?(?P<path>/.*)?",
    re.DOTALL,
)
_PORTS = {"ssh": "22", "https": "443", "http": "80", "git": "9418"}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a URL leads, without names and passwords. `scheme` and `host` are empty for a path of this machine."""

    scheme: str
    host: str
    port: str
    path: str

    def __str__(self) -> str:
        port = f":{self.port}" if self.port else ""
        return f"{self.scheme}://{self.host}{port}/{self.path}" if self.host else self.path

    def same_repository(self, other: Place) -> bool:
        """By https and by ssh one repository has one host and path; within a scheme the port counts too."""
        ports = self.scheme != other.scheme or self.port == other.port
        return ports and (self.host, self.path) == (other.host, other.path)


def place_of(url: str) -> Place:
    """Take a URL or path as git knows them apart."""
    found = _URL.fullmatch(url)
    if found is not None and found["scheme"].lower() != "file":
        scheme, port = found["scheme"].lower(), found["port"] or ""
        port = "" if port == _PORTS.get(scheme) else port
        return Place(scheme, found["host"].lower(), port, _path(found["path"] or ""))
    if found is None and (scp := _SCP.fullmatch(url)) is not None:
        return Place("ssh", scp["host"].lower(), "", _path(scp["path"]))
    local = url if found is None else found["path"] or ""
    return Place("", "", "", "/" * local.startswith("/") + _path(local))


def _path(text: str) -> str:
    return text.strip("/").removesuffix("/.git").removesuffix(".git")


def split(remote: str, read: str, written: Sequence[str]) -> SwarmError | None:
    """`remote-not-atomic` where pushes to `remote` go to several URLs, or to another repository than is read."""
    places = [place_of(url) for url in written]
    if len(places) == 1 and place_of(read).same_repository(places[0]):
        return None
    to = " and ".join(map(str, places))
    why = "that is no one transaction" if len(places) > 1 else "no one repository decides"
    from shlex import quote

    url = f'"$(git remote get-url {quote(remote)})"'
    return Undecided(
        "remote-not-atomic",
        f"{remote} is read from {place_of(read)} and pushed to {to}: {why}",
        f"git remote add swarm {url} && git remote set-url --push swarm {url} && git config swarm.remote swarm",
        {"remote": remote, "read": str(place_of(read)), "pushed": [str(place) for place in places]},
    )
