"""Commands that findings propose: a shell reads their paths back to the same bytes, whatever the head named them."""

from __future__ import annotations

import subprocess
import unicodedata

import pytest

from gate.fixes import word

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
