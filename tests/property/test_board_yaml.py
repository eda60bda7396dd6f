"""The strict reader against ruamel.yaml: whatever it accepts, ruamel.yaml reads to the same values."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from claims.board import yaml_files, yaml_text
from claims.board.node import Node, plain
from claims.board.strict_yaml import split_front_matter
from claims.errors import Undecided

CODE = "malformed-config"


def core_schema(text: str) -> Any:
    """YAML 1.2.2, table 10.3.2, row by row."""
    rows: list[tuple[str, Callable[[str], Any]]] = [
        (r"null|Null|NULL|~|", lambda _: None),
        (r"true|True|TRUE|false|False|FALSE", lambda word: word.lower() == "true"),
        (r"[-+]?[0-9]+", int),
        (r"0o[0-7]+", lambda word: int(word[2:], 8)),
        (r"0x[0-9a-fA-F]+", lambda word: int(word[2:], 16)),
        (r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", float),
        (r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", lambda word: float(word.replace(".", ""))),
    ]
    return next((read(text) for expression, read in rows if re.fullmatch(expression, text)), text)


def by_ruamel(text: str) -> Any:
    return _converted(YAML(typ="safe", pure=True).compose(text))


def _converted(node: Any) -> Any:
    if node.id == "scalar":
        return node.value if node.style else core_schema(node.value)
    if node.id == "sequence":
        return [_converted(item) for item in node.value]
    pairs = [(_converted(key), _converted(value)) for key, value in node.value]
    assert len(dict(pairs)) == len(pairs)
    return dict(pairs)


def by_us(front: str) -> Any:
    """The values, or None where the reader refuses. Any exception but its own leaves."""
    try:
        read = split_front_matter(b"---\n" + front.encode("utf-8", "surrogatepass") + b"---\n", "a.md", CODE)
    except Undecided as refused:
        assert re.match(r"a\.md:[0-9]+: .", refused.message)
        return None
    return plain(Node(read.root, 1))


def same(one: Any, two: Any) -> bool:
    """Equal, and of the same types throughout; not-a-number equals itself."""
    return repr(one) == repr(two)


# Documents as nested values, each drawn together with a way to write it.
KEYS = st.from_regex(r"[A-Za-z_][A-Za-z0-9_-]{0,8}", fullmatch=True).filter(
    lambda key: isinstance(core_schema(key), str)
)
PLAIN = st.one_of(
    st.sampled_from(["a", "no", "on", "010", "0x1F", "12e4", "00000123", "2026-08-14", "~", "null", "true", "-.inf",
                     "1_000", ".nan", "x y", "it's", "a#b", "http://x/y", "-x", "src/**/x.py", "é", "=x", "--- x"]),
    st.from_regex(r"[A-Za-z0-9./+-][A-Za-z0-9 ./+'\"#:_-]{0,12}[a-z]", fullmatch=True).filter(
        lambda text: ": " not in text and " #" not in text and not text.startswith("- ")
    ),
)  # fmt: skip
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
BLOCK_LINE = st.from_regex(r"[ ]{0,2}[a-z#:'\"\[-][a-z #:'\"\t\[\],-]{0,8}", fullmatch=True)


def double_quoted(text: str) -> str:
    return '"' + "".join(_escaped(character) for character in text) + '"'


def _escaped(character: str) -> str:
    return character if character.isalnum() or character in " #:,[]{}-'&*!%" else f"\\U{ord(character):08X}"


@st.composite
def scalars(draw: st.DrawFn) -> str:
    style = draw(st.integers(0, 3))
    if style < 2:
        return draw(PLAIN)
    text = draw(TEXT)
    printable = "".join(character for character in text if character.isprintable())
    return double_quoted(text) if style == 2 else "'" + printable.replace("'", "''") + "'"


@st.composite
def flow_lists(draw: st.DrawFn, depth: int = 0) -> str:
    item = scalars().filter(lambda text: text[0] in "'\"" or not set(text) & set(",[]{}")).filter(lambda t: t[0] != "?")
    items = draw(st.lists(item if depth > 1 else st.one_of(item, flow_lists(depth + 1)), max_size=3))
    return draw(st.sampled_from(["[", "[ "])) + draw(st.sampled_from([", ", ",", " , "])).join(items) + "]"


@st.composite
def blocks(draw: st.DrawFn, indent: int) -> str:
    margin = " " * (indent + draw(st.integers(1, 3)))
    first, *rest = draw(st.lists(st.one_of(BLOCK_LINE, st.just("")), min_size=1, max_size=5))
    lines = [margin + first.strip() + "x", *(margin + line if line else "" for line in rest)]
    header = draw(st.sampled_from(["|", ">"])) + draw(st.sampled_from(["", "-", "+", " # c"]))
    return header + "\n" + "".join(f"{line}\n" for line in lines)


@st.composite
def mappings(draw: st.DrawFn, indent: int = 0, depth: int = 0) -> str:
    keys = draw(st.lists(KEYS, min_size=1, max_size=4, unique=True))
    return "".join(" " * indent + key + ":" + draw(values(indent, depth, in_mapping=True)) for key in keys)


@st.composite
def sequences(draw: st.DrawFn, indent: int, depth: int) -> str:
    items = draw(st.integers(1, 3))
    return "".join(" " * indent + "-" + draw(values(indent, depth, in_mapping=False)) for _ in range(items))


@st.composite
def values(draw: st.DrawFn, indent: int, depth: int, in_mapping: bool) -> str:
    """What follows a key's colon or a dash, to the end of its last line."""
    end = draw(st.sampled_from(["\n", "\n", "  # c\n", "\n\n", "\n   # c\n"]))
    kind = draw(st.integers(0, 5 if depth < 3 else 3))
    if kind == 0:
        return end
    if kind == 1:
        return " " + draw(scalars()) + end
    if kind == 2:
        return " " + draw(flow_lists()) + end
    if kind == 3:
        return " " + draw(blocks(indent))
    deeper = indent + draw(st.integers(1, 3))
    if kind == 4:
        inner = draw(mappings(deeper, depth + 1))
        return (
            (" " * (deeper - indent - 1) or " ") + inner.lstrip(" ")
            if not in_mapping and deeper > indent + 1
            else end + inner
        )
    return end + draw(sequences(indent if in_mapping and draw(st.booleans()) else deeper, depth + 1))


@given(mappings())
def test_valid_documents_are_read_as_ruamel_reads_them(front: str) -> None:
    ours = by_us(front)
    assert ours is not None, "the subset is smaller than it says"
    assert same(ours, by_ruamel(front))


@given(mappings())
def test_line_ends_of_windows_change_nothing(front: str) -> None:
    assert same(by_us(front.replace("\n", "\r\n")), by_us(front))


FRAGMENTS = st.sampled_from(
    ["a", "b: ", "c:", "- ", "-", " ", "  ", "\n", "\n", "\n  ", "\n- ", "\n  - ", "#", " # c", "'", '"', "\\", "\\n",
     "\\x41", "[", "]", ", ", ",", "|", "|+\n  ", ">\n  ", ">-", "1", "~", "0o7", "true", "<<", "&a", "*a", "!t", "%",
     "?", "? ", ":", ": ", "{", "}", "\t", "é", "...", "---", "\n\n", "\n   x\n", "\n  x\n    y\n", "\u2028", "\r"]
)  # fmt: skip
STARTS = st.sampled_from(["", "a: ", "k:\n  ", "a:\n- ", "a: [", "a: |\n", "a: >\n  "])


@given(st.builds(lambda start, rest: start + "".join(rest) + "\n", STARTS, st.lists(FRAGMENTS, max_size=12)))
def test_what_is_accepted_by_chance_is_read_as_ruamel_reads_it(front: str) -> None:
    ours = by_us(front)
    # CRLF is read as LF before anything else, and a document that ends in `---` has another body.
    inner = front.replace("\r\n", "\n").split("\n---\n")[0]
    assert ours is None or same(ours, by_ruamel(inner if inner.endswith("\n") else inner + "\n"))


@given(mappings(), st.data())
def test_mutated_documents_raise_nothing_of_their_own(front: str, data: st.DataObject) -> None:
    mutated = bytearray(front.encode())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(mutated)))
        mutated[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=2))
    try:
        text = mutated.decode()
    except UnicodeDecodeError:
        text = ""
    ours = by_us(text)
    inner = text.replace("\r\n", "\n").split("\n---\n")[0]
    assert ours is None or same(ours, by_ruamel(inner if inner.endswith("\n") else inner + "\n"))


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for document in (data, b"---\n" + data + b"\n---\n"):
        for read in (split_front_matter, yaml_files.load):
            try:
                read(document, "a.md", CODE)
            except Undecided as refused:
                assert refused.code == CODE


@given(mappings())
def test_both_readers_of_yaml_files_agree(document: str) -> None:
    """`load` goes to ruamel.yaml for what the strict reader refuses; a flow mapping at the end makes it."""
    fast = yaml_files.load(document.encode(), "a.yaml", CODE)
    slow = yaml_files.load(document.encode() + b"zz-zz-zz-zz: {}\n", "a.yaml", CODE)
    assert slow.pop("zz-zz-zz-zz").value == {}
    assert same(plain(Node(fast, 1)), plain(Node(slow, 1)))
    assert [node.line for node in fast.values()] == [node.line for node in slow.values()]


@given(st.text(max_size=30))
def test_scalars_are_written_so_that_everybody_reads_them_back(text: str) -> None:
    written = yaml_text.scalar(text)
    assert by_us(f"a: {written}\n") == {"a": text}
    assert by_us(f"a: [{written}, {written}]\n") == {"a": [text, text]}
    for version in ("1.2", "1.1"):
        yaml = YAML(typ="safe", pure=True)
        yaml.version = version
        assert yaml.load(f"a: {written}\n") == {"a": text}
