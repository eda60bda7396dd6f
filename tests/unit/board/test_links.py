"""Links and anchors in the body of a task."""

from __future__ import annotations

import subprocess
import sys

import pytest

from claims.board.links import MOST, Link, anchors_in, links_in


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
        ("``a ` b`` `c/d.md` ``` `e/f.md`", [("c/d.md", ""), ("e/f.md", "")]),
        ("```x``` [y](docs/y.md)\n[z](docs/z.md)", [("docs/y.md", ""), ("docs/z.md", "")]),
        ("[^1]: A footnote.\n[Note]: this is no definition", []),
        ("[x](docs/**/x.md) [y](docs/y.md?plain=1#z)", [("docs/y.md", "z")]),
        ("[x](docs/a_(b).md)", []),
        ("", []),
    ],
)
def test_links(body: str, links: list[tuple[str, str]]) -> None:
    assert links_in(body) == tuple(Link(*link) for link in links)


def test_anchors_are_those_of_github() -> None:
    body = "# Why, though?\n\n## What's `x-y` & z\n## Why, though?\n```\n# Not one\n```\n#Not one\n   ### Übung ###\n"
    assert anchors_in(body) == {"why-though", "whats-x-y--z", "why-though-1", "übung"}


@pytest.mark.parametrize(
    ("text", "anchors"),
    [
        ("Why\n===\nHow\n---\n\n---\n", {"why", "how"}),
        ("## See [the docs](docs/x.md) first", {"see-the-docs-first"}),
        ("<a id=\"here\"></a>\n<A NAME='There'>", {"here", "There"}),
        ("# C#\n## Closed ##\n", {"c", "closed"}),
        ("text\n", set()),
    ],
)
def test_other_ways_to_make_one(text: str, anchors: set[str]) -> None:
    assert anchors_in(text) == anchors


def test_the_first_thousand_are_looked_at() -> None:
    body = "".join(f"[x](docs/{number}.md)\n" for number in range(MOST + 1))
    assert links_in(body) == tuple(Link(f"docs/{number}.md", "") for number in range(MOST))


BUSY = """
from claims.board.links import anchors_in, links_in
links = ["](", "](<", "[x](", "](a '", "](a   ", "[", "[x]: ", "![", "("]
others = ["`", "`a``b```", "`a/", "# ", "#", " ", "<a id="]
for unit in links + others:
    body = (unit * (256 * 1024))[: 256 * 1024]
    for text in (body, f"# {body}x", f"x](a{body}"):
        links_in(text)
        anchors_in(text)
"""


def test_a_body_that_was_written_to_keep_its_reader_busy() -> None:
    """Minutes to years each, with patterns that go back over what they have read; here a second for all of them."""
    subprocess.run([sys.executable, "-c", BUSY], check=True, timeout=120)
