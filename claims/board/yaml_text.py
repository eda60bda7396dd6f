"""Writing values so that `strict_yaml`, and every other reader of YAML 1.2, reads them back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from claims.board.node import Malformed, resolve

# Text that stands for itself in YAML 1.1 and 1.2, in lists in brackets too, unless it is a number or a word like `no`.
_PLAIN = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./+()@=;'-]*(?: [A-Za-z0-9_./+()@=;'-]+)*")
_YAML_1_1 = re.compile(r"y|n|yes|no|on|off|[-+]?[0-9][0-9_:.eE+-]*", re.IGNORECASE)
_ESCAPED = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"}
_TO_ESCAPE = re.compile('[\\\\"\x00-\x1f\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff]')
_SURROGATE = re.compile("[\ud800-\udfff]")


def scalar(text: str) -> str:
    """`text` as it stands where no reader could take it for anything else, in double quotes otherwise.

    Raises ValueError for surrogates, which UTF-8 has no bytes for.
    """
    if _SURROGATE.search(text):
        raise ValueError(f"{text!r} is not text that UTF-8 can hold")
    return text if _is_plain(text) else f'"{_TO_ESCAPE.sub(_escape, text)}"'


def flow_list(key: str, items: Iterable[str]) -> str:
    """A line with a list in brackets."""
    return f"{key}: [{', '.join(map(scalar, items))}]\n"


def block_list(key: str, items: Sequence[str], indent: str = "") -> str:
    """A key with a list below it, an item a line."""
    return f"{indent}{key}:\n" + "".join(f"{indent}  - {scalar(item)}\n" for item in items)


def _is_plain(text: str) -> bool:
    if _PLAIN.fullmatch(text) is None or _YAML_1_1.fullmatch(text):
        return False
    try:
        return isinstance(resolve(text, 1), str)
    except Malformed:
        return False


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    return _ESCAPED.get(character) or f"\\u{ord(character):04X}"
