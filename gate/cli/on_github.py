"""Which repository on GitHub a command is about."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from claims.errors import Usage
from claims.remote_urls import place_of

_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+")
#: The host that takes ssh on the port of https.
_OTHER_HOSTS = {"ssh.github.com": "github.com"}


def parse_repository(text: str, source: str) -> str:
    """`OWNER/NAME`. Raises Usage that names the source."""
    if _REPOSITORY.fullmatch(text) is None or text.endswith(("/.", "/..")):
        raise Usage("usage", f"{source}: {text!r} is not OWNER/NAME")
    return text


def repository_named(option: str | None, environ: Mapping[str, str]) -> str | None:
    """The one that `--repo` or the environment names; None where neither does."""
    if option is not None:
        return parse_repository(option, "--repo")
    named = environ.get("GITHUB_REPOSITORY")
    return parse_repository(named, "GITHUB_REPOSITORY") if named else None


def repository_at(url: str, environ: Mapping[str, str]) -> str | None:
    """The repository that a remote's URL leads to; None where it does not lead to GitHub."""
    place = place_of(url)
    server = urlsplit(environ.get("GITHUB_SERVER_URL") or "https://github.com").hostname
    host = _OTHER_HOSTS.get(place.host, place.host)
    return place.path if host == server and _REPOSITORY.fullmatch(place.path) is not None else None
