"""Links and anchors in the body of a task."""

from __future__ import annotations

import pytest

from claims.board.links import Link, anchors_in, links_in


@pytest.mark.parametrize(
    ("body", "links"),
    [
        ("See [the docs](docs/login.md#tokens).", [("docs/login.md", "tokens")]),
        ("See [here](#why) and [there](</docs/a b.md>).", [("", "why")]),
        ("[x]: docs/x.md 'title'", [("docs/x.md", "")]),
        ("[x](docs/x.md 'title') and ![image](img/y.png)", [("docs/x.md", ""), ("img/y.png", "")]),
        ("Edit `src/auth/login.py`.", [("src/auth/login.py", "")]),
        ("Twice `src/a.py`, `src/a.py`.", [("src/a.py", "")]),
        ("[x](docs/a%20b.md)", [("docs/a b.md", "")]),
        ("`make test`, `src/`, `a.b`, `--flag=x/y.z`, `x.y/z`", []),
        ("[x](https://example.org/a.md) [y](mailto:a@b.c) [z](//host/a.md)", []),
        ("```\n[x](docs/x.md)\n```\n[y](docs/y.md)", [("docs/y.md", "")]),
        ("~~~~\n```\n[x](docs/x.md)\n~~~\n~~~~\n[y](docs/y.md)", [("docs/y.md", "")]),
        ("`[x](docs/x.md)`", []),
        ("", []),
    ],
)
def test_links(body: str, links: list[tuple[str, str]]) -> None:
    assert links_in(body) == tuple(Link(*link) for link in links)


def test_anchors_are_those_of_github() -> None:
    body = "# Why, though?\n\n## What's `x-y` & z\n## Why, though?\n```\n# Not one\n```\n#Not one\n   ### Übung ###\n"
    assert anchors_in(body) == {"why-though", "whats-x-y--z", "why-though-1", "übung"}
