"""The strict reader: what it refuses, each with a twin that it reads; what values it gives; which lines are a key's."""

from __future__ import annotations

import math

import pytest

from claims.board.node import MAX_DEPTH, MAX_FILE, MAX_FRONT_MATTER, Node, Plain, plain
from claims.board.strict_yaml import FrontMatter, split_front_matter
from claims.errors import Undecided


def split(front: str | bytes, body: str = "") -> FrontMatter:
    data = front if isinstance(front, bytes) else front.encode()
    return split_front_matter(b"---\n" + data + b"---\n" + body.encode(), "a.md")


def values(front: str | bytes) -> Plain:
    return plain(Node(split(front).root, 1))


def refusal(data: bytes) -> Undecided:
    with pytest.raises(Undecided) as caught:
        split_front_matter(data, "a.md")
    return caught.value


# What is refused, the line it is on (the first line of front matter is line 2), words of the message, and the twin.
REFUSED = {
    "duplicate key": ("a: 1\nb: 2\na: 3\n", 4, "the key `a` again; it is on line 2", "a: 1\nb: 2\nc: 3\n"),
    "duplicate key below": ("m:\n  a: 1\n  a: 1\n", 4, "the key `a` again", "m:\n  a: 1\n  b: 1\n"),
    "duplicate key in a list": ("l:\n  - a: 1\n    a: 2\n", 4, "the key `a` again", "l:\n  - a: 1\n  - a: 2\n"),
    "anchor": ("a: &x 1\n", 2, "anchor", 'a: "&x 1"\n'),
    "anchor on a mapping": ("a: &x\n  b: 1\n", 2, "anchor", "a:\n  b: 1\n"),
    "anchor before a key": ("&x a: 1\n", 2, "anchor", "a: 1\n"),
    "anchor in a list": ("a:\n  - &x 1\n", 3, "anchor", 'a:\n  - "&x 1"\n'),
    "anchor in brackets": ("a: [b, &x 1]\n", 2, "anchor", "a: [b, '&x 1']\n"),
    "alias": ("a: *x\n", 2, "alias", "a: '*x'\n"),
    "alias for a glob": ("a:\n  - *.py\n", 3, "alias", 'a:\n  - "*.py"\n'),
    "merge key": ("a: 1\n<<: b\n", 3, "merge key", "a: 1\nb: b\n"),
    "merge key below": ("a:\n  <<: b\n", 3, "merge key", "a:\n  b: b\n"),
    "merge sign as a value": ("a: <<\n", 2, "`<<`", "a: '<<'\n"),
    "value sign": ("a: =\n", 2, "`=`", "a: '='\n"),
    "tag": ("a: !!str 1\n", 2, "tag", 'a: "1"\n'),
    "local tag": ("a: !x y\n", 2, "tag", "a: x!y\n"),
    "tag before a key": ("!!str a: 1\n", 2, "tag", "a: 1\n"),
    "directive": ("%YAML 1.1\na: 1\n", 2, "directive", "# %YAML 1.1\na: 1\n"),
    "tab in the indentation": ("a:\n\tb: 1\n", 3, "tab in the indentation", "a:\n  b: 1\n"),
    "tab after blanks": ("a:\n  \tb: 1\n", 3, "tab in the indentation", "a:\n    b: 1\n"),
    "tab on a blank line": ("a: 1\n\t\nb: 2\n", 3, "tab in the indentation", "a: 1\n\nb: 2\n"),
    "tab before a comment": ("a: 1\n\t# c\n", 3, "tab in the indentation", "a: 1\n  # c\n"),
    "tab after a colon": ("a:\t1\n", 2, "neither", "a: 1\n"),
    "tab in text": ("a: b\tc\n", 2, "tab", 'a: "b\tc"\n'),
    "tab after a dash": ("a:\n-\tb\n", 3, "neither", "a:\n- b\n"),
    "byte-order mark inside": ("a: \ufeff1\n", 2, "byte-order mark", 'a: "\\uFEFF1"\n'),
    "second document": ("a: 1\n--- b\n", 3, "second document", "a: 1\n# --- b\n"),
    "end of document": ("a: 1\n...\n", 3, "second document", "a: ...\n"),
    "next line": ("a: 1\nb: x\x85y\n", 3, "U+0085", 'b: "x\\Ny"\n'),
    "line separator": ("a: x\u2028b: 2\n", 2, "U+2028, which parsers disagree on", 'a: "x\\Lb: 2"\n'),
    "paragraph separator": ("a: x # \u2029\n", 2, "U+2029", 'a: "x # \\P"\n'),
    "null": ("a: x\0\n", 2, "U+0000", "a: x0\n"),
    "escape": ('a: "\x1b[2J"\n', 2, "U+001B", 'a: "\\e[2J"\n'),
    "delete": ("a: x\x7f\n", 2, "U+007F", "a: x\n"),
    "C1 control": ("a: x\x9b2J\n", 2, "U+009B", "a: x\xa02J\n"),
    "control in a comment": ("a: x # \x07\n", 2, "U+0007", "a: x # 7\n"),
    "no character": ("a: x\uffff\n", 2, "U+FFFF", "a: x\ufffd\n"),
    "lone carriage return": ("a: 1\rb: 2\n", 2, "carriage return", "a: 1\r\nb: 2\n"),
    "indented start": ("  a: 1\n", 2, "indented", "a: 1\n"),
    "too far": ("a: 1\n  b: 2\n", 3, "indented further", "a: 1\nb: 2\n"),
    "between two levels": ("a:\n    b: 1\n  c: 2\n", 4, "indented further", "a:\n    b: 1\n    c: 2\n"),
    "list between two levels": ("a:\n    - b\n  - c\n", 4, "indented further", "a:\n    - b\n    - c\n"),
    "text over two lines": ("a: b\n  c\n", 3, "indented further", "a: >\n  b\n  c\n"),
    "text below its key": ("a:\n  b\n", 3, "neither", "a: >\n  b\n"),
    "quotes over two lines": ('a: "b\n  c"\n', 2, "does not end on its line", 'a: "b c"\n'),
    "single quotes over two lines": ("a: 'b\n  c'\n", 2, "does not end on its line", "a: 'b c'\n"),
    "text after quotes": ('a: "b" c\n', 2, "after the closing quote", 'a: "b c"\n'),
    "comment glued to quotes": ('a: "b"#c\n', 2, "after the closing quote", 'a: "b" #c\n'),
    "text after brackets": ("a: [b] c\n", 2, "after the closing quote", "a: [b, c]\n"),
    "a folder in brackets": ("a: [id]/x\n", 2, "after the closing quote", "a: '[id]/x'\n"),
    "list over two lines": ("a: [b,\n  c]\n", 2, "does not end on its line", "a: [b, c]\n"),
    "unclosed list": ("a: [b\n", 2, "`,` or end with `]`", "a: [b]\n"),
    "empty item": ("a: [b, , c]\n", 2, "an empty item", "a: [b, c]\n"),
    "only a comma": ("a: [,]\n", 2, "an empty item", "a: []\n"),
    "comment in brackets": ("a: [b #, c]\n", 2, "comment", "a: [b#, c]\n"),
    "brackets in text in brackets": ("a: [b[c]]\n", 2, "`,` or end", "a: ['b[c]']\n"),
    "pair in brackets": ("a: [b: c]\n", 2, "colon", "a: ['b: c']\n"),
    "quoted pair in brackets": ('a: ["b": c]\n', 2, "`,` or end", 'a: ["b", c]\n'),
    "question mark in brackets": ("a: [?b]\n", 2, "`?`", "a: ['?b']\n"),
    "mapping in braces": ("a: {b: c}\n", 2, "mapping in braces", "a:\n  b: c\n"),
    "mapping in brackets": ("a: [{b: c}]\n", 2, "mapping in braces", "a:\n  - b: c\n"),
    "colon in text": ("a: b: c\n", 2, "colon", "a: b:c\n"),
    "colon at the end": ("a: b:\n", 2, "colon", "a: 'b:'\n"),
    "list on its key's line": ("a: - b\n", 2, "`-`", "a:\n  - b\n"),
    "complex key": ("? a\n: b\n", 2, "several parts", "a: b\n"),
    "quoted key": ('"a": b\n', 2, "key in quotes", "a: b\n"),
    "key that is null": ("null: b\n", 2, "not text", "nil: b\n"),
    "key that is true": ("true: b\n", 2, "not text", "truth: b\n"),
    "number as a key": ("1: b\n", 2, "neither", "_1: b\n"),
    "blank before the colon": ("a : b\n", 2, "neither", "a: b\n"),
    "long key": ("a" * 130 + ": b\n", 2, "neither", "a" * 128 + ": b\n"),
    "a list at the top": ("- a\n", 2, "list item where a key", "a:\n- a\n"),
    "text at the top": ("hello\n", 2, "neither", "hello:\n"),
    "text after an item": ("a:\n- b\n  c\n", 4, "indented further", "a:\n- b\n- c\n"),
    "key after a list": ("a:\n  - b\n  c: d\n", 4, "indented further", "a:\n  - b\nc: d\n"),
    "list after a key": ("a:\n  b: c\n  - d\n", 4, "list item where a key", "a:\n  b: c\n"),
    "reserved sign": ("a: @b\n", 2, "reserves", 'a: "@b"\n'),
    "backtick": ("a: `b`\n", 2, "reserves", "a: '`b`'\n"),
    "percent": ("a: %b\n", 2, "directive", "a: b%\n"),
    "indentation indicator": ("a: |2\n   b\n", 2, "begins a value", "a: |\n   b\n"),
    "text after a block sign": ("a: | b\n  c\n", 2, "begins a value", "a: | # b\n  c\n"),
    "blanks before a block": ("a: |\n  \n    b\n", 2, "blanks on an empty line", "a: |\n\n    b\n"),
    "unknown escape": ('a: "\\d"\n', 2, "escape `\\d`", "a: '\\d'\n"),
    "short escape": ('a: "\\x4"\n', 2, "escape `\\x`", 'a: "\\x41"\n'),
    "surrogate": ('a: "\\uD800"\n', 2, "no character", 'a: "\\uD7FF"\n'),
    "last surrogate": ('a: "\\uDFFF"\n', 2, "no character", 'a: "\\uE000"\n'),
    "beyond Unicode": ('a: "\\U00110000"\n', 2, "no character", 'a: "\\U0010FFFF"\n'),
    "endless number": (f"a: {'1' * 65}\n", 2, "a number of 65 characters", f"a: {'1' * 64}\n"),
}


@pytest.mark.parametrize(("front", "line", "words", "twin"), REFUSED.values(), ids=REFUSED)
def test_refuses_with_file_and_line(front: str, line: int, words: str, twin: str) -> None:
    refused = refusal(f"---\n{front}---\n".encode())
    assert refused.code == "malformed-task"
    assert refused.message.startswith(f"a.md:{line}: ")
    assert words in refused.message
    assert split(twin).root


# The same about the file as a whole.
REFUSED_FILES = {
    "byte-order mark": (b"\xef\xbb\xbf---\na: 1\n---\n", 1, "byte-order mark", b"---\na: 1\n---\n"),
    "no front matter": (b"a: 1\n", 1, "does not start with a line `---`", b"---\na: 1\n---\n"),
    "nothing": (b"", 1, "does not start", b"---\na: 1\n---"),
    "blank after the opening": (b"--- \na: 1\n---\n", 1, "does not start", b"---\r\na: 1\n---\n"),
    "four dashes": (b"----\na: 1\n---\n", 1, "does not start", b"---\na: 1\n---\n----\n"),
    "no closing line": (b"---\na: 1\n", 3, "no line `---` closes", b"---\na: 1\n---\n"),
    "closing line with a blank": (b"---\na: 1\n--- \nx\n", 5, "no line `---` closes", b"---\na: 1\n---\r\nx\n"),
    "indented closing line": (b"---\na: 1\n ---\n", 4, "no line `---` closes", b"---\na: 1\n---\n ---\n"),
    "empty front matter": (b"---\n---\n", 1, "nothing but blanks", b"---\na:\n---\n"),
    "only comments": (b"---\n# a: 1\n\n---\n", 1, "nothing but blanks", b"---\n# a: 1\n\na:\n---\n"),
    "not UTF-8": (b"---\na: 1\nb: \xff\n---\n", 3, "not UTF-8", b"---\na: 1\nb: \xc3\xbf\n---\n"),
    "overlong UTF-8": (b"---\na: \xc0\xaf\n---\n", 2, "not UTF-8", b"---\na: /\n---\n"),
    "surrogate in UTF-8": (b"---\na: \xed\xa0\x80\n---\n", 2, "not UTF-8", b"---\na: \xed\x9f\xbf\n---\n"),
    "body not UTF-8": (b"---\na: 1\n---\nx\n\xff\n", 5, "not UTF-8", b"---\na: 1\n---\nx\n\x00\n"),
}


@pytest.mark.parametrize(("data", "line", "words", "twin"), REFUSED_FILES.values(), ids=REFUSED_FILES)
def test_refuses_the_file(data: bytes, line: int, words: str, twin: bytes) -> None:
    refused = refusal(data)
    assert refused.message.startswith(f"a.md:{line}: ")
    assert words in refused.message
    assert split_front_matter(twin, "a.md").root


def test_nesting_stops_at_sixteen() -> None:
    def nested(depth: int) -> str:
        return "".join("  " * level + f"k{level}:\n" for level in range(depth))

    assert values(nested(MAX_DEPTH))
    refused = refusal(f"---\n{nested(MAX_DEPTH + 1)}---\n".encode())
    assert refused.message == f"a.md:{MAX_DEPTH + 2}: nested deeper than 16"


@pytest.mark.parametrize(("start", "opening", "closing"), [("k: ", "[", "]"), ("k:\n", "- ", "x")])
def test_lists_count_as_nesting(start: str, opening: str, closing: str) -> None:
    assert values(f"{start}{opening * 15}{closing * 15}\n")
    refused = refusal(f"---\n{start}{opening * 16}{closing * 16}\n---\n".encode())
    assert refused.message.endswith("nested deeper than 16")


def test_front_matter_stops_at_16_kib() -> None:
    comment = "# " + "x" * (MAX_FRONT_MATTER - 8) + "\n"
    assert len(comment + "a: 1\n") == MAX_FRONT_MATTER
    assert values(comment + "a: 1\n") == {"a": 1}
    refused = refusal(f"---\n{comment}a: 10\n---\n".encode())
    assert refused.code == "malformed-task"
    assert refused.message == "a.md:1: front matter of 16385 bytes; 16384 are allowed"


def test_a_file_stops_at_256_kib() -> None:
    start = b"---\na: 1\n---\n"
    body = b"x" * (MAX_FILE - len(start))
    assert split_front_matter(start + body, "a.md").body == body.decode()
    refused = refusal(start + body + b"x")
    assert refused.code == "limits-exceeded"
    assert refused.message.startswith("a.md:1: 262145 bytes")


def test_a_message_does_not_repeat_the_file() -> None:
    refused = refusal(f"---\na: |{'x' * 9000}\n---\n".encode())
    assert refused.message.startswith("a.md:2: `|xxx")
    assert len(refused.message) < 400
    assert refusal(b"---\na: |x\n---\n").message == "a.md:2: `|x` begins a value"


def test_the_code_is_the_callers() -> None:
    with pytest.raises(Undecided) as caught:
        split_front_matter(b"", "plan.md", "malformed-plan")
    assert caught.value.code == "malformed-plan"


# YAML 1.2.2, section 10.3.2, and what YAML 1.1 reads otherwise.
SCALARS: dict[str, Plain] = {
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "nULL": "nULL",
    "true": True,
    "False": False,
    "tRUE": "tRUE",
    "yes": "yes",
    "no": "no",
    "on": "on",
    "off": "off",
    "y": "y",
    "0": 0,
    "-7": -7,
    "+12": 12,
    "010": 10,
    "00000123": 123,
    "0o17": 15,
    "0x1f": 31,
    "-0x1f": "-0x1f",
    "0b11": "0b11",
    "1_000": "1_000",
    "1:30": "1:30",
    "12e4": 120000.0,
    "12e03": 12000.0,
    "1.": 1.0,
    ".5": 0.5,
    "-1.5E-3": -0.0015,
    ".": ".",
    "1.2.3": "1.2.3",
    ".inf": math.inf,
    "-.INF": -math.inf,
    "inf": "inf",
    "nan": "nan",
    "2026-08-14": "2026-08-14",
    "2026-08-14T09:30:00.000Z": "2026-08-14T09:30:00.000Z",
    "-x": "-x",
    "?x": "?x",
    ":x": ":x",
    "x y": "x y",
    "x   y  ": "x   y",
    "x#y": "x#y",
    "x #y": "x",
    "http://x.example/y": "http://x.example/y",
    "it's": "it's",
    'say "x"': 'say "x"',
    "a, b": "a, b",
    "a[1]{2}": "a[1]{2}",
    "--- x": "--- x",
    "'it''s'": "it's",
    "''": "",
    "'\\n'": "\\n",
    '""': "",
    '"\\"\\\\\\/"': '"\\/',
    '"\\x41\\u00e9\\U0001F600"': "Aé😀",
    '"a # b: [c]"  # d': "a # b: [c]",
    "[]": [],
    "[ ]": [],
    "[a]": ["a"],
    "[a,b , c,]": ["a", "b", "c"],
    "[1, '1', [], [x, [y]]]": [1, "1", [], ["x", ["y"]]],
    "[a b, c:d, -e, it's]": ["a b", "c:d", "-e", "it's"],
    '["a, b]", c] # d': ["a, b]", "c"],
}


@pytest.mark.parametrize(("text", "value"), SCALARS.items())
def test_values_on_one_line(text: str, value: Plain) -> None:
    read = values(f"a: {text}\n")
    assert read == {"a": value}
    assert isinstance(read, dict)
    assert type(read["a"]) is type(value)


def test_not_a_number_is_one() -> None:
    read = values("a: .NaN\n")
    assert isinstance(read, dict)
    assert isinstance(read["a"], float)
    assert math.isnan(read["a"])


COLLECTIONS: dict[str, Plain] = {
    "a:\n  b: 1\n  c:\n    d: 2\ne: 3\n": {"a": {"b": 1, "c": {"d": 2}}, "e": 3},
    "a:\nb:\n": {"a": None, "b": None},
    "a:\n- x\n- y\nb: 1\n": {"a": ["x", "y"], "b": 1},
    "a:\n   - x\n   -   y\nb: 1\n": {"a": ["x", "y"], "b": 1},
    "a:\n  - b: 1\n    c: 2\n  - b: 3\n": {"a": [{"b": 1, "c": 2}, {"b": 3}]},
    "a:\n  -\n    b: 1\n  -\n  - x\n": {"a": [{"b": 1}, None, "x"]},
    "a:\n- - 1\n  - 2\n- - 3\n": {"a": [[1, 2], [3]]},
    "a:\n- b:\n  - 1\n  c: 2\n": {"a": [{"b": [1], "c": 2}]},
    "# x\n\na: # y\n\n  # z\n      # z\n  b: 1 # w\n# v\n": {"a": {"b": 1}},
    "a: 1\r\nb:\r\n  - x\r\n": {"a": 1, "b": ["x"]},
    "a-b_c9: 1\nx-é: 1\n".replace("x-é", "x-e"): {"a-b_c9": 1, "x-e": 1},
}


@pytest.mark.parametrize(("front", "value"), COLLECTIONS.items())
def test_collections(front: str, value: Plain) -> None:
    assert values(front) == value


BLOCKS: dict[str, str] = {
    "|\n  x\n  y\n": "x\ny\n",
    "|-\n  x\n  y\n": "x\ny",
    "|+\n  x\n\n\n": "x\n\n\n",
    "|\n  x\n\n\n": "x\n",
    "|\n    x\n      y\n    z\n": "x\n  y\nz\n",
    "|\n\n\n  x\n": "\n\nx\n",
    "|\n  # not a comment\n  - a\n  b: c\n": "# not a comment\n- a\nb: c\n",
    "| # a comment\n  x\n": "x\n",
    "|\n  x\n# a comment\n": "x\n",
    "|\n  \tx\n": "\tx\n",
    "|\n": "",
    "|+\n\n\n": "\n\n",
    ">\n  x\n  y\n": "x y\n",
    ">\n  x\n\n  y\n": "x\ny\n",
    ">-\n  x\n\n\n  y\n": "x\n\ny",
    ">\n  x\n    y\n  z\n": "x\n  y\nz\n",
    ">\n  x\n\n    y\n\n  z\n": "x\n\n  y\n\nz\n",
    ">\n\n  x\n": "\nx\n",
    ">+\n  x\n\n": "x\n\n",
}


@pytest.mark.parametrize(("block", "value"), BLOCKS.items())
def test_blocks_of_text(block: str, value: str) -> None:
    assert values(f"a: {block}b: 1\n") == {"a": value, "b": 1}
    assert values(f"a: {block}") == {"a": value}


@pytest.mark.parametrize(("front", "value"), [("a:\n  - |\n   x\n  - y\n", ["x\n", "y"]), ("a:\n- >-\n  x\n", ["x"])])
def test_blocks_of_text_in_lists(front: str, value: Plain) -> None:
    assert values(front) == {"a": value}


def test_every_node_knows_its_line() -> None:
    root = split("a: 1\n\nb:\n  # c\n  - x\n  - d: 2\n    e: [3]\n").root
    assert (root["a"].line, root["b"].line) == (2, 4)
    items = root["b"].value
    assert isinstance(items, list)
    assert [item.line for item in items] == [6, 7]
    inner = items[1].value
    assert isinstance(inner, dict)
    assert inner["e"].line == 8


LINES = "# top\nid: x\n\nauthority: # who\n  paths:\n  - a\n\n  # about b\n  - b\n# about status\n\nstatus: y\n# end\n"


@pytest.mark.parametrize(
    ("key", "lines"),
    [
        ("id", "id: x\n\n"),
        ("authority", "authority: # who\n  paths:\n  - a\n\n  # about b\n  - b\n# about status\n\n"),
        ("status", "status: y\n# end\n"),
        ("paths", ""),
        ("x-none", ""),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_keys_lines_run_to_the_next_key(key: str, lines: str, end: str) -> None:
    assert split(LINES.replace("\n", end)).block_lines(key) == lines.encode()


def test_a_key_within_text_is_no_key() -> None:
    front = split("a: |\n  authority:\n    x\nauthority: z\nb:\n- authority:\n")
    assert front.block_lines("authority") == b"authority: z\n"


def test_the_body_follows() -> None:
    assert split("a: 1\n", "x\r\n---\ny\u2028\0").body == "x\n---\ny\u2028\0"
    assert split_front_matter(b"---\na: 1\n---", "a.md").body == ""


# Each fills the 16 KiB. The test is that they end: one step too many a character is minutes here.
HOSTILE = [
    "[", "]", "{", "'", '"', "''", "'' ", '"\\', "-", "- ", "-\n", "- - ", "- a: ", ":", ": ", "a: ", "a:\n", "a: |\n",
    "- |\n", "?", "? ", "&", "*", "!", "#", " #", ",", "[,", "[a,", "[[a],", "<<: ", " ", "\n", " \n", "\t", "a", "0",
    "1e", ".", "\u00e9", "a b ", "x\n  ", ">\n\n",
]  # fmt: skip


@pytest.mark.parametrize("unit", HOSTILE)
@pytest.mark.parametrize("start", ["", "k: ", "k:\n  ", "k: |\n "])
def test_hostile_repetition_ends(unit: str, start: str) -> None:
    front = (start + unit * MAX_FRONT_MATTER)[: MAX_FRONT_MATTER - 1000] + "\n"
    try:
        split(front)
    except Undecided as refused:
        assert refused.code == "malformed-task"
