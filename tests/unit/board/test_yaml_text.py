"""Writing scalars: plain where nobody could misread them, in double quotes otherwise."""

from __future__ import annotations

import pytest

from claims.board.yaml_text import block_list, flow_list, scalar


@pytest.mark.parametrize(
    "text", ["a", "T-20260814-abcdef01", "src/auth/", "pytest -q tests/auth", "it's", "v1.2.3", "./x", "a=b;c", "x (y)"]
)
def test_stands_for_itself(text: str) -> None:
    assert scalar(text) == text


NOT_PLAIN = [
    "", " a", "a ", "on", "No", "y", "null", "~", "true", "010", "12e4", "1_000", "1:30", "0x1f", "0x" + "f" * 70, ".5",
    ".inf", "2026-08-14", "a: b", "a:", "a #b", "#a", "- a", "*.py", "**/x", "&a", "!a", "[a]", "{a}", "@a", "`a`",
    "%a", "a, b", "|", ">", "'a'", "?a", "é",
]  # fmt: skip


@pytest.mark.parametrize("text", NOT_PLAIN)
def test_is_quoted(text: str) -> None:
    assert scalar(text) == f'"{text}"'


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ('say "x"', '"say \\"x\\""'),
        ("a\\b", '"a\\\\b"'),
        ("a\nb\tc", '"a\\nb\\tc"'),
        ("\x1b\x85\xa0\u2028\ufeff\0", '"\\u001B\\u0085\\u00A0\\u2028\\uFEFF\\u0000"'),
        ("😀", '"😀"'),
    ],
)
def test_is_escaped(text: str, written: str) -> None:
    assert scalar(text) == written


def test_refuses_what_utf8_has_no_bytes_for() -> None:
    with pytest.raises(ValueError, match="UTF-8"):
        scalar("a\ud800")
    assert scalar("a\ud7ff") == '"a\ud7ff"'


def test_lists() -> None:
    assert flow_list("locks", ["a", "b, c"]) == 'locks: [a, "b, c"]\n'
    assert block_list("paths", ["a/", "*.py"], "  ") == '  paths:\n    - a/\n    - "*.py"\n'
