"""Commands that findings propose: a shell reads their paths back to the same bytes, whatever the head named them."""

from __future__ import annotations

import subprocess
import unicodedata
from types import SimpleNamespace
from typing import cast

import pytest

from claims.names import ObjectId
from gate.evidence import Evidence
from gate.fixes import put_back, rename, word
from gate.paths import Judged
from gate.tree import FILE, Change, Entry

PATHS = [
    b"src/plain.py",
    b"with blank",
    b"$(touch owned)",
    b"`touch owned`",
    b"; rm -rf .",
    b"it's",
    b"-f",
    "größe".encode(),
    b"line\nbreak",
    b"\x1b[2J",
    b"back\\slash",
    b"back\\slash\nand 'quote'",
    b"\xff\xfe not utf-8",
    "right\u202eleft".encode(),
    b"\x01" + b"2",  # the escape of the first byte does not swallow the digit
]


@pytest.mark.parametrize("path", PATHS, ids=ascii)
def test_a_shell_reads_a_path_back(path: bytes) -> None:
    quoted = word(path)
    assert not {unicodedata.category(char) for char in quoted} & {"Cc", "Cf"}
    script = f"printf '%s\\0' {quoted}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, timeout=30, check=True)
    assert done.stdout == path + b"\0"


def test_an_ordinary_path_is_itself() -> None:
    assert word(b"src/plain.py") == "src/plain.py"


def judged(path: bytes) -> tuple[Evidence, Judged]:
    """A file that base lacks, and as much of the evidence as its fix needs."""
    landing = SimpleNamespace(merge_base=ObjectId("1" * 40))
    change = Change(path, None, Entry(FILE, ObjectId("2" * 40)))
    return cast(Evidence, SimpleNamespace(landing=landing)), Judged(path, change)


@pytest.mark.parametrize("path", [b"src/../work.py", b"./a", b"a//b", b".GIT/config"])
def test_no_command_names_what_no_checkout_has(path: bytes) -> None:
    """`git rm -- src/../work.py` would remove another file."""
    for fix in (put_back(*judged(path)), rename(*judged(path))):
        assert fix.startswith("git reset 111111111111 && git add --all")


def test_a_path_that_a_checkout_has_is_named() -> None:
    assert put_back(*judged(b"src/..work.py")) == "git rm -- src/..work.py"
    assert rename(*judged(b".github/a")) == "git mv -- .github/a NEW-NAME"
