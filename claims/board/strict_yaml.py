"""The one reader of front matter: a small subset of YAML 1.2, line by line; what it does not read is refused.

It stands on a security boundary (the gate hands it bytes that a stranger wrote) and on every command's path. Each
line is looked at once, nesting is bounded, and nothing leaves it but `Undecided`. board.md, "The board", lists what
is refused.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable

from claims.board.node import (
    MAX_DEPTH,
    MAX_FILE,
    MAX_FRONT_MATTER,
    Forbidden,
    Malformed,
    Node,
    Value,
    find_unprintable,
    resolve,
)
from claims.errors import Undecided
from claims.values import dataclass

_CLOSING = re.compile(rb"\n---\r?(?:\n|\Z)")
_DISPUTED_LINE_ENDS = frozenset("\x85\u2028\u2029")

_KEY = re.compile(r"([A-Za-z_][A-Za-z0-9_-]{0,127}):(?: +|\Z)")
_BLOCK_HEADER = re.compile(r"([|>])([+-]?)(?: *| +#.*)")
_DOUBLE = re.compile(r'"([^"\\]*(?:\\.[^"\\]*)*)"')
_SINGLE = re.compile(r"'([^']*(?:''[^']*)*)'")
_FLOW_PLAIN = re.compile(r"[^,\[\]{}]*")
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))")
_ESCAPED = {
    "0": "\0", "a": "\a", "b": "\b", "t": "\t", "\t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b",
    " ": " ", '"': '"', "/": "/", "\\": "\\", "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029",
}  # fmt: skip

#: Why text may not begin with this character, and what to do.
_CANNOT_BEGIN = {
    "&": "an anchor (`&`)",
    "*": "an alias (`*`)",
    "!": "a tag (`!`)",
    "%": "a directive (`%`)",
    "{": "a mapping in braces",
    "}": "a closing brace",
    "]": "a closing bracket",
    ",": "a comma",
    "@": "`@`, which YAML reserves",
    "`": "a backtick, which YAML reserves",
    "#": "a comment in the middle of a list",
    "|": "a block of text inside a list in brackets",
    ">": "a block of text inside a list in brackets",
}
_FORBIDDEN = frozenset("&*!%")
_QUOTE_IT = "if it is text, put it in quotes"


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """A file with front matter, split and read.

    `lines` are the lines between the two `---` lines, without their ends; the first of them is line 2 of the file.
    `root` holds the top-level keys in their order, each node with its key's line. `body` is what follows, with LF.
    """

    where: str
    lines: tuple[str, ...]
    root: dict[str, Node]
    body: str

    def block_lines(self, key: str) -> bytes:
        """A top-level key's lines: to the next top-level key or the end, blanks and comments included, LF ends.

        Empty where there is no such key.
        """
        return _joined(self.lines[slice(*self.spans().get(key, (0, 0)))])

    def lines_without(self, keys: Collection[str]) -> bytes:
        """All lines but those of `keys`, LF ends. What stands before the first key belongs to none."""
        spans = self.spans()
        first = next(iter(spans.values()))[0]
        kept = [self.lines[start:end] for key, (start, end) in spans.items() if key not in keys]
        return _joined(itertools.chain(self.lines[:first], *kept))

    def spans(self) -> dict[str, tuple[int, int]]:
        """Where in `lines` each top-level key's lines begin and end (the latter exclusive), in order."""
        starts = [node.line - 2 for node in self.root.values()]
        return dict(zip(self.root, zip(starts, [*starts[1:], len(self.lines)], strict=True), strict=True))


def split_front_matter(data: bytes, where: str, code: str = "malformed-task") -> FrontMatter:
    """Read a Markdown file's front matter. `where` is its path, for messages.

    Raises Undecided(`code`) with `where:line: …`, or Undecided("limits-exceeded") for a file over 256 KiB.
    """
    check_size(data, where)
    try:
        front, body = _split(data)
        lines = front.split("\n")[:-1] if front else []
        return FrontMatter(where, tuple(lines), read_mapping(lines, 2), body)
    except Malformed as wrong:
        raise wrong.at(where, code) from None


def check_size(data: bytes, where: str) -> None:
    """Raise Undecided("limits-exceeded") for a file over 256 KiB."""
    if len(data) > MAX_FILE:
        raise Undecided(
            "limits-exceeded", f"{where}:1: {len(data)} bytes; files under .agents/ may have {MAX_FILE} at most"
        )


def decode(data: bytes, first_line: int) -> str:
    """Text with LF line ends from UTF-8 without control characters or a byte-order mark. Raises Malformed."""
    text = decode_utf8(data, first_line).replace("\r\n", "\n")
    found = find_unprintable(text)
    if found is None:
        return text
    line = first_line + text.count("\n", 0, found.start())
    character = found.group()
    if character == "\ufeff":
        raise Malformed(line, "a byte-order mark", "save the file as UTF-8 without a byte-order mark")
    if character == "\r":
        raise Malformed(line, "a carriage return that does not end a line", "end lines with LF or CRLF")
    why = ", which parsers disagree on as a line end" if character in _DISPUTED_LINE_ENDS else ""
    raise Malformed(line, f"the character U+{ord(character):04X}{why}", "leave it out, or escape it in double quotes")


def decode_utf8(data: bytes, first_line: int) -> str:
    """Text from UTF-8. Raises Malformed with the line of the first bad byte."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as bad:
        line = first_line + data.count(b"\n", 0, bad.start)
        raise Malformed(line, "not UTF-8", "save the file as UTF-8") from None


def read_mapping(lines: list[str], first_line: int) -> dict[str, Node]:
    """Read a document that is one block mapping; `first_line` is the number of `lines[0]`. Raises Malformed."""
    reader = _Reader(lines, first_line)
    if reader.indent < 0:
        raise Malformed(max(first_line - 1, 1), "nothing but blanks and comments where keys are expected")
    if reader.indent > 0:
        raise reader.wrong("indented, where a key at the start of the line is expected")
    return reader.mapping(0, 1)


def _split(data: bytes) -> tuple[str, str]:
    """Front matter and body as text with LF."""
    if data.startswith(b"\xef\xbb\xbf"):
        raise Malformed(1, "a byte-order mark", "save the file as UTF-8 without a byte-order mark")
    if not data.startswith((b"---\n", b"---\r\n")):
        raise Malformed(1, "the file does not start with a line `---`")
    start = data.index(b"\n") + 1
    closing = _CLOSING.search(data, start - 1)
    if closing is None:
        raise Malformed(data.count(b"\n") + 1, "no line `---` closes the front matter")
    end = max(closing.start() + 1, start)
    if end - start > MAX_FRONT_MATTER:
        raise Malformed(1, f"front matter of {end - start} bytes; {MAX_FRONT_MATTER} are allowed")
    front = decode(data[start:end], 2)
    body = decode_utf8(data[closing.end() :], front.count("\n") + 3)
    return front, body.replace("\r\n", "\n")


class _Reader:
    """A cursor over the lines that are neither blank nor comment. `indent` is -1 at the end."""

    __slots__ = ("_at", "_first", "_lines", "indent", "text")

    def __init__(self, lines: list[str], first_line: int) -> None:
        self._lines = lines
        self._first = first_line
        self._at = -1
        self.indent = -1
        self.text = ""
        self._next()

    @property
    def line(self) -> int:
        return self._first + self._at

    def wrong(self, message: str, hint: str | None = None) -> Malformed:
        return Malformed(self.line, message, hint)

    def forbidden(self, message: str, hint: str | None = None) -> Forbidden:
        return Forbidden(self.line, message, hint)

    def _next(self) -> None:
        lines = self._lines
        for at in range(self._at + 1, len(lines)):
            line = lines[at]
            text = line.lstrip(" ")
            if text and text[0] != "#":
                self._at, self.indent, self.text = at, len(line) - len(text), text
                if text[0] == "\t":
                    raise self.forbidden("a tab in the indentation", "indent with spaces")
                return
        self._at, self.indent, self.text = len(lines), -1, ""

    def mapping(self, indent: int, depth: int) -> dict[str, Node]:
        """Read the block mapping whose keys stand at column `indent`."""
        self._check(depth)
        found: dict[str, Node] = {}
        while self.indent == indent:
            match = _KEY.match(self.text)
            if match is None:
                raise self._no_key()
            key = match.group(1)
            if key in found:
                raise self.forbidden(f"the key `{key}` again; it is on line {found[key].line} already")
            if not isinstance(resolve(key, self.line), str):
                raise self.wrong(f"the key `{key}` is not text")
            found[key] = self._value(self.text[match.end() :], indent, depth, in_mapping=True)
        if self.indent > indent:
            raise self._too_deep()
        return found

    def _sequence(self, indent: int, depth: int) -> list[Node]:
        """Read the block list whose dashes stand at column `indent`."""
        self._check(depth)
        items: list[Node] = []
        while self.indent == indent and _is_item(self.text):
            line = self.line
            rest = self.text[1:].lstrip(" ")
            if _is_item(rest) or _KEY.match(rest):
                # A mapping or list that begins on the dash's line: as if the dash were one more blank.
                self.indent, self.text = indent + len(self.text) - len(rest), rest
                items.append(Node(self._collection(depth), line))
            else:
                items.append(self._value(rest, indent, depth, in_mapping=False))
        if self.indent > indent:
            raise self._too_deep()
        return items

    def _collection(self, depth: int) -> Value:
        """Read the mapping or list that begins at the cursor."""
        if _is_item(self.text):
            return self._sequence(self.indent, depth + 1)
        if _KEY.match(self.text):
            return self.mapping(self.indent, depth + 1)
        raise self._no_key()

    def _value(self, rest: str, indent: int, depth: int, *, in_mapping: bool) -> Node:
        """Read what follows a key or a dash; `indent` is the column of that key or dash."""
        line = self.line
        if not rest or rest[0] == "#":
            self._next()
            if self.indent > indent:
                return Node(self._collection(depth), line)
            if in_mapping and self.indent == indent and _is_item(self.text):
                return Node(self._sequence(indent, depth + 1), line)
            return Node(None, line)
        if rest[0] in "|>":
            return Node(self._block_scalar(rest, indent), line)
        value = self._inline(rest, depth)
        self._next()
        return Node(value, line)

    def _inline(self, rest: str, depth: int) -> Value:
        """Read a value that ends on its line."""
        value: Value
        if rest[0] == "[":
            value, end = self._flow_list(rest, 0, depth + 1)
        elif rest[0] in "\"'":
            value, end = self._quoted(rest, 0)
        else:
            cut = rest.find(" #")
            return self._plain(rest if cut < 0 else rest[:cut])
        after = rest[end:].lstrip(" ")
        if after and not (after[0] == "#" and rest[end] == " "):
            raise self.wrong("something stands after the closing quote or bracket", _QUOTE_IT)
        return value

    def _plain(self, text: str) -> Value:
        text = text.rstrip(" ")
        first = text[:1]
        if first in _CANNOT_BEGIN:
            raise self._cannot_begin(first)
        if first in ("-", "?", ":") and text[1:2] in ("", " "):
            raise self.wrong(f"`{first}` begins a value", _QUOTE_IT)
        if "\t" in text:
            raise self.wrong("a tab in unquoted text", "use a blank, or put the text in double quotes")
        if ": " in text or text.endswith(":"):
            raise self.wrong("a colon that could be a key's", _QUOTE_IT)
        if text in ("<<", "="):
            raise self.wrong(f"`{text}`, which YAML gives a meaning", _QUOTE_IT)
        return resolve(text, self.line)

    def _quoted(self, text: str, at: int) -> tuple[str, int]:
        """Read the quoted text that begins at `at`; return it and where it ends."""
        double = text[at] == '"'
        match = (_DOUBLE if double else _SINGLE).match(text, at)
        if match is None:
            raise self.wrong("quoted text that does not end on its line")
        inner = match.group(1)
        if not double:
            return inner.replace("''", "'"), match.end()
        return (_ESCAPE.sub(self._unescape, inner) if "\\" in inner else inner), match.end()

    def _unescape(self, match: re.Match[str]) -> str:
        digits = match.group(1) or match.group(2) or match.group(3)
        if digits is None:
            if match.group(4) not in _ESCAPED:
                raise self.wrong(f"the escape `{match.group()}`", "write a backslash as two, or use single quotes")
            return _ESCAPED[match.group(4)]
        number = int(digits, 16)
        if number > 0x10FFFF or 0xD800 <= number <= 0xDFFF:
            raise self.wrong(f"the escape `{match.group()}` is no character")
        return chr(number)

    def _flow_list(self, text: str, at: int, depth: int) -> tuple[list[Node], int]:
        """Read the list in brackets that begins at `at`; return it and where it ends."""
        self._check(depth)
        items: list[Node] = []
        at = _skip_blanks(text, at + 1)
        while text[at : at + 1] != "]":
            value, at = self._flow_item(text, at, depth)
            items.append(Node(value, self.line))
            at = _skip_blanks(text, at)
            if text[at : at + 1] == ",":
                at = _skip_blanks(text, at + 1)
            elif text[at : at + 1] != "]":
                raise self.wrong(
                    "a list in brackets that does not go on with `,` or end with `]` on its line", _QUOTE_IT
                )
        return items, at + 1

    def _flow_item(self, text: str, at: int, depth: int) -> tuple[Value, int]:
        first = text[at : at + 1]
        if first == "[":
            return self._flow_list(text, at, depth + 1)
        if first and first in "\"'":
            return self._quoted(text, at)
        match = _FLOW_PLAIN.match(text, at)
        assert match is not None, "the pattern matches nothing at all"
        item = match.group()
        if not item:
            raise self._no_flow_item(first)
        if first == "?":
            # A key to some parsers, even without a blank after it.
            raise self.wrong("`?` begins an item in a list in brackets", _QUOTE_IT)
        if " #" in item:
            raise self.wrong("a comment in the middle of a list", _QUOTE_IT)
        return self._plain(item), match.end()

    def _no_flow_item(self, first: str) -> Malformed:
        if not first:
            return self.wrong("a list in brackets that does not end on its line", "end it with `]`")
        return self._cannot_begin(first) if first in "{}" else self.wrong("an empty item in a list in brackets")

    def _block_scalar(self, header: str, indent: int) -> str:
        """Read the block of text that `header` announces; `indent` is the column of its key or dash."""
        match = _BLOCK_HEADER.fullmatch(header)
        if match is None:
            raise self.wrong(f"`{header}` begins a value", "a block of text begins with |, |-, |+, >, >- or >+")
        content, blanks = self._take_block(indent)
        text = "\n".join(content) if match.group(1) == "|" else _fold(content)
        if match.group(2) == "-":
            return text
        if match.group(2) == "+":
            return text + "\n" * (blanks + bool(content))
        return text + "\n" if content else text

    def _take_block(self, indent: int) -> tuple[list[str], int]:
        """Consume a block's lines. Returns them without their margin, and how many blank ones ended it."""
        lines, start = self._lines, self._at + 1
        first = next((at for at in range(start, len(lines)) if lines[at].strip(" ")), len(lines))
        margin = len(lines[first]) - len(lines[first].lstrip(" ")) if first < len(lines) else 0
        end = start if margin > indent else first
        content: list[str] = []
        while margin > indent and end < len(lines) and _belongs(lines[end], margin):
            content.append(lines[end][margin:])
            end += 1
        if any(lines[start:first]):
            # Parsers disagree on what blanks before the first line of text mean for its margin.
            raise self.wrong("blanks on an empty line at the start of a block of text", "leave the line empty")
        self._at = end - 1
        self._next()
        kept = len(content)
        while kept and not content[kept - 1]:
            kept -= 1
        return content[:kept], (len(content) - kept if content else first - start)

    def _check(self, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise self.forbidden(f"nested deeper than {MAX_DEPTH}")

    def _cannot_begin(self, first: str) -> Malformed:
        kind = Forbidden if first in _FORBIDDEN else Malformed
        return kind(self.line, f"{_CANNOT_BEGIN[first]} is not read here", _QUOTE_IT)

    def _too_deep(self) -> Malformed:
        return self.wrong(
            "indented further than what it belongs to",
            "a value that goes on over several lines needs `|` or `>` after its key",
        )

    def _no_key(self) -> Malformed:
        """Say what stands where a key, or on a line of its own a list item, should."""
        first, text = self.text[0], self.text
        if text.startswith("<<:"):
            return self.forbidden("a merge key (`<<`)", "write the keys out")
        if self.indent == 0 and (text == "..." or text.startswith(("--- ", "... "))):
            return self.wrong("a second document")
        if first in _CANNOT_BEGIN:
            return self._cannot_begin(first)
        if first in "\"'":
            return self.wrong("a key in quotes", "write keys without quotes")
        if first == "?" and text[1:2] in ("", " "):
            return self.wrong("a key of several parts (`?`)")
        if _is_item(text):
            return self.wrong("a list item where a key is expected")
        return self.wrong(
            "neither `key: value` nor a list item", "text over several lines needs `|` or `>` after its key"
        )


def _joined(lines: Iterable[str]) -> bytes:
    return "".join(line + "\n" for line in lines).encode()


def _is_item(text: str) -> bool:
    return text[:2] in ("-", "- ")


def _belongs(line: str, margin: int) -> bool:
    """Is this a line of a block of text with `margin` blanks in front?"""
    stripped = line.lstrip(" ")
    return not stripped or len(line) - len(stripped) >= margin


def _skip_blanks(text: str, at: int) -> int:
    while text[at : at + 1] == " ":
        at += 1
    return at


def _fold(content: list[str]) -> str:
    """Join a folded block's lines: one blank for a line end, except beside lines that begin with a blank (8.1.3)."""
    parts: list[str] = []
    breaks = 0
    before: str | None = None
    for text in content:
        if not text:
            breaks += 1
            continue
        if before is not None:
            folds = before[0] not in " \t" and text[0] not in " \t"
            parts.append("" if folds and breaks else " " if folds else "\n")
        parts.append("\n" * breaks)
        parts.append(text)
        before, breaks = text, 0
    return "".join(parts)
