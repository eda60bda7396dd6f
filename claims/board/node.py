"""What a YAML document says, with the line it says it on; the core schema; and the error that a bad document is."""

from __future__ import annotations

import re
from typing import NamedTuple, TypeAlias, Union

from claims.errors import Undecided

#: Files under `.agents/` larger than this are not read. In bytes.
MAX_FILE = 256 * 1024
#: Front matter may be this long, in bytes, without its two `---` lines.
MAX_FRONT_MATTER = 16 * 1024
#: Mappings and lists within each other, the outermost one included.
MAX_DEPTH = 16

_LONGEST_MESSAGE = 300

#: What a node may hold. Dates stay strings: the core schema of YAML 1.2 has none.
Value: TypeAlias = Union[str, int, float, bool, "list[Node]", "dict[str, Node]", None]
Plain: TypeAlias = Union[str, int, float, bool, "list[Plain]", "dict[str, Plain]", None]


class Node(NamedTuple):
    """A value and the line of the file (from 1) where it, or the key that holds it, stands."""

    value: Value
    line: int


class Malformed(ValueError):
    """A file under `.agents/` that does not say what such a file must say. Internal: it leaves as `Undecided`."""

    def __init__(self, line: int, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.line = line
        self.message = message
        self.hint = hint

    def at(self, where: str, code: str) -> Undecided:
        """The same as an error of the commands, with its place in front and what it quotes cut short."""
        message = self.message if len(self.message) <= _LONGEST_MESSAGE else self.message[:_LONGEST_MESSAGE] + "…"
        return Undecided(code, f"{where}:{self.line}: {message}", self.hint)


class Forbidden(Malformed):
    """What no file under `.agents/` may have, as against what only a fuller reader of YAML than ours would read."""


# YAML 1.2.2, section 10.3.2 (core schema), tag resolution.
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT = re.compile(r"[-+]?[0-9]+")
_OCTAL_OR_HEX = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
# Control characters but tab and line feed; and further, in text that is not ASCII, the ends of line that parsers
# disagree on, the byte-order mark, and what is no character. The second is compiled when it is first needed.
_ASCII_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f]")
_UNPRINTABLE = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]"
_MAY_NOT_BE_TEXT = frozenset("0123456789+-.~nNtTfF")
# int() takes quadratic time, and refuses more than 4300 digits with an error of its own.
_LONGEST_NUMBER = 64


def resolve(text: str, line: int) -> str | int | float | bool | None:
    """What unquoted `text` means. Raises Malformed for a number that is too long to be one."""
    if text and text[0] not in _MAY_NOT_BE_TEXT:
        return text
    if text in _NULL:
        return None
    if text in _BOOL:
        return _BOOL[text]
    return _number(text, line)


def find_unprintable(text: str) -> re.Match[str] | None:
    """The first character that no text under `.agents/` may contain as it stands; tab and line feed are fine."""
    return _ASCII_CONTROL.search(text) if text.isascii() else re.search(_UNPRINTABLE, text)


def plain(node: Node) -> Plain:
    """The node's value without its lines, in Python's own lists and dictionaries."""
    value = node.value
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


def describe(value: Value) -> str:
    """What kind of thing `value` is, for a message."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return f"the number {value}"
    if isinstance(value, str):
        return "text"
    return "a list" if isinstance(value, list) else "a mapping"


def _number(text: str, line: int) -> str | int | float:
    based = _OCTAL_OR_HEX.fullmatch(text) is not None
    whole = _INT.fullmatch(text) is not None
    if not (based or whole or _FLOAT.fullmatch(text)):
        return text
    if len(text) > _LONGEST_NUMBER:
        raise Malformed(line, f"a number of {len(text)} characters", "put it in quotes if it is text")
    if based:
        return int(text[2:], 8 if text[1] == "o" else 16)
    if whole:
        return int(text)
    # Python writes infinity and not-a-number without YAML's dot.
    return float(text.replace(".", "") if text[-1] in "fFnN" else text)
