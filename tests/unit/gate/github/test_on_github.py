"""Which repository on GitHub a command is about."""

from __future__ import annotations

import pytest

from claims.errors import Usage
from gate.cli.on_github import repository_at, repository_named


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://github.com/octo-org/widgets.git", "octo-org/widgets"),
        ("https://user:secret@github.com/octo-org/widgets", "octo-org/widgets"),
        ("git@github.com:octo-org/widgets.git", "octo-org/widgets"),
        ("ssh://git@ssh.github.com:443/octo-org/widgets.git", "octo-org/widgets"),
        ("https://example.org/octo-org/widgets.git", None),
        ("https://github.com.example.org/octo-org/widgets", None),
        ("https://github.com/octo-org/widgets/wiki", None),
        ("https://github.com/octo-org", None),
        ("/srv/git/octo-org/widgets.git", None),
        ("file:///github.com/octo-org/widgets", None),
    ],
)
def test_a_remote(url: str, expected: str | None) -> None:
    assert repository_at(url, {}) == expected


def test_a_server_of_ones_own() -> None:
    environ = {"GITHUB_SERVER_URL": "https://git.example.org"}
    assert repository_at("git@git.example.org:octo-org/widgets.git", environ) == "octo-org/widgets"
    assert repository_at("git@github.com:octo-org/widgets.git", environ) is None


def test_named() -> None:
    assert repository_named(None, {}) is None
    assert repository_named(None, {"GITHUB_REPOSITORY": "octo-org/widgets"}) == "octo-org/widgets"
    assert repository_named("a/b.c", {"GITHUB_REPOSITORY": "octo-org/widgets"}) == "a/b.c"


@pytest.mark.parametrize(
    "text", ["", "a", "a/b/c", "a/..", "-a/b", "a/b?x=1", "a/b\n", "../x", "https://github.com/a/b"]
)
def test_no_names(text: str) -> None:
    with pytest.raises(Usage, match="OWNER/NAME"):
        repository_named(text, {})
