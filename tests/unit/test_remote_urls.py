"""Which URLs lead to one repository, and what is said where reading and pushing do not."""

from __future__ import annotations

import pytest

from claims.remote_urls import place_of, split

# A URL, others that lead to the same repository, and some that do not.
PLACES: dict[str, tuple[str, list[str], list[str]]] = {
    "https": (
        "https://host.invalid/org/repo",
        [
            "https://host.invalid/org/repo.git",
            "https://HOST.invalid/org/repo/",
            "HTTPS://name:secret@host.invalid/org/repo.git/",
            "ssh://git@host.invalid/org/repo.git",
            "ssh://git@host.invalid:2222/org/repo.git",
            "git@host.invalid:org/repo.git",
            "host.invalid:/org/repo",
        ],
        [
            "https://host.invalid/org/fork",
            "https://host.invalid/name/repo",
            "https://host.invalid/Org/repo",
            "https://host.invalid:8443/org/repo",
            "https://other.invalid/org/repo",
            "git@other.invalid:org/repo.git",
            "/org/repo",
            "host.invalid/org/repo",
        ],
    ),
    "an address": (
        "ssh://git@[::1]:22/repo",
        ["[::1]:repo", "http://[::1]/repo"],
        ["[::2]:repo", "ssh://git@[::1]:23/repo"],
    ),
    "a path": (
        "/srv/repo.git",
        ["file:///srv/repo.git", "/srv/repo", "/srv/repo.git/", "/srv/repo/.git"],
        ["srv/repo.git", "../srv/repo.git", "/srv/repo2.git", "file:///repo.git", "host:/srv/repo.git"],
    ),
    "a path with a colon": ("./a:b", ["./a:b/"], ["a:b"]),
}
SAME = [(name, other) for name, (_, same, _) in PLACES.items() for other in same]
OTHERS = [(name, other) for name, (_, _, others) in PLACES.items() for other in others]


@pytest.mark.parametrize(("name", "other"), SAME)
def test_one_repository(name: str, other: str) -> None:
    url = PLACES[name][0]
    assert split("origin", url, [other]) is None
    assert split("origin", other, [url]) is None


@pytest.mark.parametrize(("name", "other"), OTHERS)
def test_another_repository(name: str, other: str) -> None:
    assert split("origin", PLACES[name][0], [other]) is not None


def test_two_are_one_too_many_even_where_they_are_the_same() -> None:
    assert split("origin", "/x", ["/x"]) is None
    fault = split("origin", "/x", ["/x", "/x"])
    assert fault is not None and fault.code == "remote-not-atomic"


def test_no_password_is_told() -> None:
    fault = split("my hub", "https://name:secret@host.invalid/a.git", ["https://token@other.invalid:8/b"])
    assert fault is not None
    assert fault.message.startswith(
        "my hub is read from https://host.invalid/a and pushed to https://other.invalid:8/b"
    )
    assert "'my hub'" in (fault.hint or "")
    assert "secret" not in f"{fault.message}{fault.hint}{fault.details}"
    assert "token" not in f"{fault.message}{fault.hint}{fault.details}"


@pytest.mark.parametrize("url", ["", ":", "://", "x://", "file://", "@:", "a@b", "\n", "[", "[]:"])
def test_whatever_is_configured_is_some_place(url: str) -> None:
    assert place_of(url).same_repository(place_of(url))
    assert split("origin", url, [url]) is None
