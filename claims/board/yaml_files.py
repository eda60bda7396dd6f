"""`manifest.yaml` and `swarm.yaml`: any YAML 1.2 that people write, less what is refused everywhere under `.agents/`.

Most such files are in the small subset that `strict_yaml` reads, a hundred times faster, and never get further: the
two give the same values wherever the first gives one (a property test holds them together). For the rest this is the
only importer of ruamel.yaml, which is hazardous: merge keys can hang it, a `%YAML` line changes how the *next* document
is read, deep nesting overflows it, and it raises whatever comes. So its scanner alone sees the file first, token by
token, until nothing refused is left; then a fresh pure instance composes nodes, and what they mean is decided here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from claims.board.node import MAX_DEPTH, Malformed, Node, resolve
from claims.board.strict_yaml import check_size, decode, read_mapping

if TYPE_CHECKING:
    from ruamel.yaml import YAML

_REFUSED_TOKENS = {
    "DirectiveToken": "a directive (`%`)",
    "AnchorToken": "an anchor (`&`)",
    "AliasToken": "an alias (`*`)",
    "TagToken": "a tag (`!`)",
    "DocumentEndToken": "an end of document (`...`)",
}
_OPENING = frozenset(
    {"BlockMappingStartToken", "BlockSequenceStartToken", "FlowMappingStartToken", "FlowSequenceStartToken"}
)
_CLOSING = frozenset({"BlockEndToken", "FlowMappingEndToken", "FlowSequenceEndToken"})


def load(data: bytes, where: str, code: str) -> dict[str, Node]:
    """Read a document that is one mapping, or nothing (an empty dictionary). `where` is the path, for messages.

    Raises Undecided(`code`) with `where:line: …`; Undecided("limits-exceeded") for a file over 256 KiB.
    """
    check_size(data, where)
    try:
        return _read(_text(data))
    except Malformed as wrong:
        raise wrong.at(where, code) from None


def _text(data: bytes) -> str:
    text = decode(data, 1)
    return text if not text or text.endswith("\n") else text + "\n"


def _read(text: str) -> dict[str, Node]:
    lines = text.split("\n")[:-1]
    if all(not line.strip() or line.lstrip().startswith("#") for line in lines):
        return {}
    try:
        return read_mapping(lines, 1)
    except Malformed:
        return _read_with_ruamel(text)


def _read_with_ruamel(text: str) -> dict[str, Node]:
    """What `text` says, for documents outside the small subset. Raises Malformed."""
    root = _compose(text)
    value = _convert(root, 1)
    if not isinstance(value.value, dict):
        raise Malformed(value.line, "expected keys and values")
    return value.value


def _compose(text: str) -> Any:
    _refuse_tabs(text)
    try:
        _refuse_tokens(_fresh().scan(text))
        node = _fresh().compose(text)
    except Malformed:
        raise
    except Exception as broken:  # noqa: BLE001 - it raises ValueError, AttributeError and others besides its own
        raise _explained(broken) from None
    if node is None:
        raise Malformed(1, "nothing but blanks and comments")
    return node


def _fresh() -> YAML:
    # Imported here: it takes longer to load than all the rest of a command.
    from ruamel.yaml import YAML

    return YAML(typ="safe", pure=True)


def _explained(broken: Exception) -> Malformed:
    mark = getattr(broken, "problem_mark", None) or getattr(broken, "context_mark", None)
    problem = getattr(broken, "problem", None) or getattr(broken, "context", None) or type(broken).__name__
    return Malformed(getattr(mark, "line", 0) + 1, f"not YAML: {' '.join(str(problem).split())}")


def _refuse_tabs(text: str) -> None:
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip(" ").startswith("\t"):
            raise Malformed(number, "a tab in the indentation", "indent with spaces")


def _refuse_tokens(tokens: Iterator[Any]) -> None:
    """Raise Malformed at the first token that is refused. Reads no token after it."""
    depth = 0
    documents = 0
    content = False
    for token in tokens:
        name = type(token).__name__
        line = token.start_mark.line + 1
        if name in _REFUSED_TOKENS:
            raise Malformed(line, f"{_REFUSED_TOKENS[name]} is not read here", "if it is text, put it in quotes")
        if name == "DocumentStartToken":
            documents += 1
            if documents > 1 or content:
                raise Malformed(line, "a second document")
        elif name in _OPENING:
            depth += 1
            if depth > MAX_DEPTH:
                raise Malformed(line, f"nested deeper than {MAX_DEPTH}")
        elif name in _CLOSING:
            depth -= 1
        content = content or name not in ("StreamStartToken", "DocumentStartToken")


def _convert(node: Any, depth: int) -> Node:
    """ruamel's node as ours, with the core schema's meanings. Raises Malformed."""
    line = node.start_mark.line + 1
    if node.id == "scalar":
        return Node(node.value if node.style else resolve(node.value, line), line)
    if depth > MAX_DEPTH:
        raise Malformed(line, f"nested deeper than {MAX_DEPTH}")
    if node.id == "sequence":
        return Node([_convert(item, depth + 1) for item in node.value], line)
    return Node(_convert_mapping(node, depth), line)


def _convert_mapping(node: Any, depth: int) -> dict[str, Node]:
    found: dict[str, Node] = {}
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        key = _convert(key_node, MAX_DEPTH + 1).value if key_node.id == "scalar" else None
        if not isinstance(key, str):
            raise Malformed(line, "a key that is not text")
        if key == "<<" and not key_node.style:
            raise Malformed(line, "a merge key (`<<`)", "write the keys out")
        if key in found:
            raise Malformed(line, f"the key `{key}` again; it is on line {found[key].line} already")
        found[key] = _convert(value_node, depth + 1)._replace(line=line)
    return found
