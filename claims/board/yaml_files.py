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

from claims.board.node import MAX_DEPTH, Forbidden, Malformed, Node, plain, resolve
from claims.board.strict_yaml import check_size, decode, read_mapping
from claims.errors import Undecided, Usage
from claims.names import TaskId

if TYPE_CHECKING:
    from ruamel.yaml import YAML

_MANIFEST_CODE = "malformed-manifest"

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
    except Forbidden:
        raise
    except Malformed:
        return _read_with_ruamel(text)


def _read_with_ruamel(text: str) -> dict[str, Node]:
    """What `text` says, for documents outside the small subset. Raises Malformed."""
    root = _compose(text)
    value, line = _convert(root, 1)
    if value is None:
        # A line `---` and comments, say.
        return {}
    if not isinstance(value, dict):
        raise Malformed(line, "expected keys and values")
    return value


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


def add_task_to_milestone(data: bytes, milestone: str, task: TaskId, where: str) -> bytes:
    """`manifest.yaml` with `task` at the end of a milestone's tasks, and every other byte as it was.

    Raises Usage where there is no such milestone; Undecided("malformed-manifest") where the file does not read, or is
    written in a way that leaves no simple place for one more task.
    """
    document: Any = plain(Node(load(data, where, _MANIFEST_CODE), 1))
    stone = _stone(document, milestone, where)
    tasks = stone.get("tasks")
    if isinstance(tasks, list) and task in tasks:
        return data
    after = _with_task(data.decode(), milestone, task)
    stone["tasks"] = [*tasks, task] if isinstance(tasks, list) else [task]
    if after is None or not _says(after, document, where):
        raise Undecided(
            _MANIFEST_CODE,
            f"{where}: found no simple place for one more task of the milestone {milestone}",
            f"add {task} to its tasks by hand",
        )
    return after


def _stone(document: Any, milestone: str, where: str) -> dict[str, Any]:
    """The milestone within the document. Raises Usage where there is none."""
    listed = document.get("milestones")
    stones = [stone for stone in listed if isinstance(stone, dict)] if isinstance(listed, list) else []
    for stone in stones:
        if stone.get("id") == milestone:
            return stone
    known = ", ".join(str(stone.get("id")) for stone in stones)
    raise Usage("usage", f"{where} has no milestone {milestone!r}; it has {known or 'none'}")


def _says(data: bytes, document: Any, where: str) -> bool:
    try:
        return bool(plain(Node(load(data, where, _MANIFEST_CODE), 1)) == document)
    except Undecided:
        return False


def _with_task(text: str, milestone: str, task: TaskId) -> bytes | None:
    """`text` with the task inserted, to be checked by reading; None where there is no place for it."""
    try:
        keys = {key.value: value for key, value in _compose(text).value}
    except Malformed:
        return None
    stones = [stone for stone in keys["milestones"].value if stone.id == "mapping"]
    named = [stone for stone in stones if (entry := _entry(stone, "id")) and entry[1].value == milestone]
    place = _place(text, named[0], task) if named else None
    return (text[: place[0]] + place[1] + text[place[0] :]).encode() if place else None


def _place(text: str, stone: Any, task: TaskId) -> tuple[int, str] | None:
    """Where in `text` to insert what, so that the milestone has one more task."""
    entry = _entry(stone, "tasks")
    if entry is None:
        return _place_for_key(text, stone, task)
    key, tasks = entry
    if tasks.id == "scalar" and not tasks.value:
        # `tasks:` with nothing after it.
        return text.index(":", key.end_mark.index) + 1, f" [{task}]"
    if tasks.id != "sequence":
        return None
    if not tasks.flow_style:
        return _next_line_like(text, tasks.value[-1], task)
    if tasks.value:
        return tasks.value[-1].end_mark.index, f", {task}"
    return tasks.end_mark.index - 1, task


def _place_for_key(text: str, stone: Any, task: TaskId) -> tuple[int, str]:
    """Where a milestone without `tasks` gets them: after its id."""
    key, value = _entry(stone, "id")
    if stone.flow_style:
        return value.end_mark.index, f", tasks: [{task}]"
    return _after_line(text, value.end_mark.index, " " * key.start_mark.column + f"tasks: [{task}]")


def _next_line_like(text: str, item: Any, task: TaskId) -> tuple[int, str]:
    """The line below a list item, with the same dash before the task."""
    start = text.rfind("\n", 0, item.start_mark.index) + 1
    return _after_line(text, item.end_mark.index, text[start : item.start_mark.index] + task)


def _after_line(text: str, at: int, line: str) -> tuple[int, str]:
    """Where `line` goes to stand below the line that `at` is on, with an end like that one's."""
    end = text.find("\n", at)
    if end < 0:
        return len(text), "\n" + line
    return end + 1, line + ("\r\n" if text[end - 1] == "\r" else "\n")


def _entry(mapping: Any, key: str) -> Any:
    """A mapping's key and value as nodes, or None."""
    return next(((node, value) for node, value in mapping.value if node.value == key), None)
