"""`load`: YAML that people write, less what is refused everywhere; and the one edit of a manifest."""

from __future__ import annotations

import subprocess
import sys

import pytest

from claims.board import yaml_files
from claims.board.node import MAX_FILE, Node, Plain, plain
from claims.errors import Undecided, Usage
from claims.names import TaskId

TASK = TaskId("T-20260814-0000000f")


def load(data: str | bytes) -> Plain:
    document = data if isinstance(data, bytes) else data.encode()
    return plain(Node(yaml_files.load(document, "m.yaml", "malformed-manifest"), 1))


# Outside the strict reader's subset, and read nevertheless.
FULL_YAML: dict[str, Plain] = {
    "---\na: 1\n": {"a": 1},
    "--- # c\na: 1\n": {"a": 1},
    "a: {b: 1, c: [d, {e: f}]}\n": {"a": {"b": 1, "c": ["d", {"e": "f"}]}},
    "{a: 1}\n": {"a": 1},
    "a: [b,\n  c]\n": {"a": ["b", "c"]},
    'a: "b\n  c"\n': {"a": "b c"},
    "a: b\n  c\n": {"a": "b c"},
    '"a b": 1\n': {"a b": 1},
    "? a\n: b\n": {"a": "b"},
    "a: |2\n   b\n": {"a": " b\n"},
    "é: {}\n": {"é": {}},
    # What ruamel.yaml itself, or YAML 1.1, would read otherwise: only the core schema counts.
    "a: {b: 2026-08-14, c: 1_000, d: 0b1, e: on, f: 1:30, g: 010, h: 12e4}\n": {
        "a": {"b": "2026-08-14", "c": "1_000", "d": "0b1", "e": "on", "f": "1:30", "g": 10, "h": 120000.0}
    },
    "a: {}\r\nb: 1\r\n": {"a": {}, "b": 1},
    "": {},
    "# c\n\n": {},
    "---\n# c\n": {},
}


@pytest.mark.parametrize(("text", "value"), FULL_YAML.items())
def test_reads_more_than_the_strict_reader(text: str, value: Plain) -> None:
    assert load(text) == value


# The first line of each makes the document one for ruamel.yaml; the strict reader has never seen the second.
SLOW = "q: {}\n"
REFUSED = {
    "duplicate key": ("a: 1\na: 2\n", 3, "the key `a` again; it is on line 2", "a: 1\nb: 2\n"),
    "duplicate key in braces": ("a: {b: 1, b: 2}\n", 2, "the key `b` again", "a: {b: 1, c: 2}\n"),
    "anchor": ("a: &x 1\n", 2, "an anchor", "a: '&x 1'\n"),
    "alias": ("a: *x\n", 2, "an alias", "a: '*x'\n"),
    "merge key": ("<<: {a: 1}\n", 2, "a merge key", "'<<': {a: 1}\n"),
    "tag": ("a: !!python/object:x 1\n", 2, "a tag", "a: '!!x'\n"),
    "tag of no kind": ("a: ! 1\n", 2, "a tag", "a: '! 1'\n"),
    "second document": ("---\na: 1\n", 2, "a second document", "a: '---'\n"),
    "end of document": ("...\n", 2, "an end of document", "a: ...\n"),
    "tab": ("a:\n\tb: 1\n", 3, "a tab in the indentation", "a:\n  b: 1\n"),
    "next line": ("a: x\x85y\n", 2, "U+0085", "a: 'x\\Ny'\n"),
    "line separator": ("a: x\u2028y\n", 2, "U+2028", "a: 'x y'\n"),
    "control character": ("a: \x00\n", 2, "U+0000", "a: 0\n"),
    "byte-order mark": ("a: \ufeff\n", 2, "byte-order mark", "a: x\n"),
    "deep mappings": (f"a: {'{b: ' * 16}1{'}' * 16}\n", 2, "nested deeper than 16", f"a: {'{b: ' * 15}1{'}' * 15}\n"),
    "deep lists": (f"a: {'[' * 16}{']' * 16}\n", 2, "nested deeper than 16", f"a: {'[' * 15}{']' * 15}\n"),
    "number as a key": ("1: 2\n", 2, "a key that is not text", "'1': 2\n"),
    "list as a key": ("? [a]\n: 2\n", 2, "a key that is not text", "? a\n: 2\n"),
    "null as a key": ("a: {b: 1, : 2}\n", 2, "a key that is not text", "a: {b: 1, c: 2}\n"),
    "braces on a line of their own": ("{a: 1}\n", 3, "not YAML", "a: {a: 1}\n"),
    "unclosed": ("a: [b\n", 3, "not YAML", "a: [b]\n"),
    "endless number": (f"a: {'1' * 65}\n", 2, "a number of 65 characters", f"a: {'1' * 64}\n"),
}


@pytest.mark.parametrize(("text", "line", "words", "twin"), REFUSED.values(), ids=REFUSED)
def test_refuses_what_every_file_may_not_have(text: str, line: int, words: str, twin: str) -> None:
    with pytest.raises(Undecided) as caught:
        load(SLOW + text)
    assert caught.value.code == "malformed-manifest"
    assert caught.value.message.startswith(f"m.yaml:{line}: ")
    assert words in caught.value.message
    assert load(SLOW + twin)


@pytest.mark.parametrize("levels", [7, 8])
def test_lists_that_share_their_keys_column_count_too(levels: int) -> None:
    """ruamel.yaml has no token for them."""
    nested = "".join(f"{'  ' * level}{'- ' if level else ''}k{level}:\n" for level in range(levels + 1))
    document = SLOW + nested.replace("  - ", "- ")
    if levels == 7:
        assert load(document)
        return
    with pytest.raises(Undecided) as caught:
        load(document)
    assert caught.value.message.endswith("nested deeper than 16")


@pytest.mark.parametrize(
    ("data", "words", "twin"),
    [
        (b"%YAML 1.1\n---\na: 1\n", "m.yaml:1: a directive", b"---\na: 1\n"),
        (b"\xef\xbb\xbfa: 1\n", "m.yaml:1: a byte-order mark", b"a: 1\n"),
        (b"\xff\xfea\0:\0", "m.yaml:1: not UTF-8", b"a: 1\n"),
        (b"- a\n", "m.yaml:1: expected keys and values", b"a:\n- a\n"),
        (b"hello\n", "m.yaml:1: expected keys and values", b"hello:\n"),
        (b"[" * 100_000, "m.yaml:1: nested deeper than 16", b"a: [\n" + b"b," * 1000 + b"]"),
        (b"a: 1\nb: &x [*x]\n", "m.yaml:2: an anchor", b"a: 1\nb: ['*x']\n"),
    ],
)
def test_refuses_documents(data: bytes, words: str, twin: bytes) -> None:
    with pytest.raises(Undecided) as caught:
        load(data)
    assert caught.value.message.startswith(words)
    assert load(twin)


def test_a_file_stops_at_256_kib() -> None:
    assert load(b"#" * (MAX_FILE - 5) + b"\na: 1") == {"a": 1}
    with pytest.raises(Undecided) as caught:
        load(b"#" * (MAX_FILE - 4) + b"\na: 1")
    assert caught.value.code == "limits-exceeded"


def test_one_document_leaves_nothing_behind_for_the_next() -> None:
    """`%YAML 1.1` and errors inside deep nesting both did, on a shared instance (facts.md)."""
    for _ in range(3):
        for bad in ("%YAML 1.1\n---\na: {b: on}\n", f"a: {'{b: ' * 30}", "a: {b: [}\n"):
            with pytest.raises(Undecided):
                load(bad)
        assert load(f"a: {{b: on, c: 010}}\nd: {'[' * 15}{']' * 15}\n") != {}
        assert load("a: {b: on, c: 010}\n") == {"a": {"b": "on", "c": 10}}


def test_an_ordinary_file_does_not_load_ruamel() -> None:
    """It takes longer to load than all the rest of a command does to run."""
    script = (
        "import sys; from claims.board.yaml_files import load; import claims.board.board, claims.board.worktree;"
        "load(b'a: [b]\\nc:\\n- d: e\\n', 'm.yaml', 'malformed-manifest'); assert 'ruamel.yaml' not in sys.modules;"
        "load(b'a: {b: c}\\n', 'm.yaml', 'malformed-manifest'); assert 'ruamel.yaml' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


# The manifest before, and after a task was added to its milestone m1.
ADDED = {
    "brackets": (
        "milestones:\n  - id: m1\n    tasks: [T-20260814-00000001]  # c\n    x-a: 1\n",
        f"milestones:\n  - id: m1\n    tasks: [T-20260814-00000001, {TASK}]  # c\n    x-a: 1\n",
    ),
    "dashes": (
        "milestones:\n- id: m1 # c\n  tasks:\n  # first\n  - T-20260814-00000001   # one\n  # after\n  x-a: 1\n",
        "milestones:\n- id: m1 # c\n  tasks:\n  # first\n  - T-20260814-00000001   # one\n"
        f"  - {TASK}\n  # after\n  x-a: 1\n",
    ),
    "Windows": (
        "milestones:\r\n- id: m1\r\n  tasks:\r\n  - T-20260814-00000001\r\n",
        f"milestones:\r\n- id: m1\r\n  tasks:\r\n  - T-20260814-00000001\r\n  - {TASK}\r\n",
    ),
    "no line end": (
        "milestones:\n- id: m1\n  tasks:\n  - T-20260814-00000001",
        f"milestones:\n- id: m1\n  tasks:\n  - T-20260814-00000001\n  - {TASK}",
    ),
    "an empty list": (
        "milestones:\n- id: m1\n  tasks: [] # none\n",
        f"milestones:\n- id: m1\n  tasks: [{TASK}] # none\n",
    ),
    "nothing": (
        "milestones:\n- id: m1\n  tasks:   # none yet\n  title: x\n",
        f"milestones:\n- id: m1\n  tasks: [{TASK}]   # none yet\n  title: x\n",
    ),
    "no key": (
        "milestones:\n  - title: x\n    id: m1 # c\n  - id: m2\n",
        f"milestones:\n  - title: x\n    id: m1 # c\n    tasks: [{TASK}]\n  - id: m2\n",
    ),
    "braces": ("milestones: [{id: m1}, {id: m2}]\n", f"milestones: [{{id: m1, tasks: [{TASK}]}}, {{id: m2}}]\n"),
    "several lines": (
        "milestones:\n- id: m1\n  tasks: [\n    T-20260814-00000001, # a\n    T-20260814-00000002, # b\n  ]\n",
        f"milestones:\n- id: m1\n  tasks: [\n    T-20260814-00000001, # a\n    T-20260814-00000002, {TASK}, # b\n  ]\n",
    ),
    "the second milestone": (
        "milestones:\n- id: m0\n  tasks:\n  - T-20260814-00000001\n- id: m1\n  tasks:\n  - T-20260814-00000002\n",
        "milestones:\n- id: m0\n  tasks:\n  - T-20260814-00000001\n- id: m1\n  tasks:\n  - T-20260814-00000002\n"
        f"  - {TASK}\n",
    ),
    "wide letters before it": (
        "# 😀 é\nmilestones: [{id: m0, title: 😀}, {id: m1, title: é}]\n",
        f"# 😀 é\nmilestones: [{{id: m0, title: 😀}}, {{id: m1, tasks: [{TASK}], title: é}}]\n",
    ),
    "quotes": (
        "milestones:\n- id: 'm1'\n  tasks:\n  - 'T-20260814-00000001'\n",
        f"milestones:\n- id: 'm1'\n  tasks:\n  - 'T-20260814-00000001'\n  - {TASK}\n",
    ),
}


@pytest.mark.parametrize(("before", "after"), ADDED.values(), ids=ADDED)
def test_adds_a_task_and_nothing_else(before: str, after: str) -> None:
    data = yaml_files.add_task_to_milestone(before.encode(), "m1", TASK, "m.yaml")
    assert data.decode() == after
    assert yaml_files.add_task_to_milestone(data, "m1", TASK, "m.yaml") == data


@pytest.mark.parametrize(
    "text",
    [
        "milestones:\n- id: m1\n  tasks: hello\n",
        "milestones:\n- id: m1\n  tasks: {a: b}\n",
        "milestones:\n- id: m1\n  tasks: 5\n",
        "milestones:\n- id: m1\n  tasks:\n  -\n    T-20260814-00000001\n",
        "milestones:\n- id: m1\n  tasks:\n  - T-20260814-00000001\n- id: m1\n  tasks: x\n".replace(
            "- T", "- |\n   T", 1
        )[:-9],
        "milestones: [{id: m1}, &x {id: m2}]\n",
        "x-note: |\n  \tindented\nmilestones:\n- id: m1\n",
    ],
)
def test_leaves_alone_what_it_cannot_edit(text: str) -> None:
    with pytest.raises(Undecided) as caught:
        yaml_files.add_task_to_milestone(text.encode(), "m1", TASK, "m.yaml")
    assert caught.value.code == "malformed-manifest"
    assert caught.value.message.startswith("m.yaml")


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("milestones:\n- id: m2\n- id: m3\n", "it has m2, m3"),
        ("milestones: []\n", "it has none"),
        ("milestones: m1\n", "it has none"),
        ("", "it has none"),
        ("milestones: [m1]\n", "it has none"),
    ],
)
def test_a_milestone_that_is_not_there(text: str, known: str) -> None:
    with pytest.raises(Usage) as caught:
        yaml_files.add_task_to_milestone(text.encode(), "m1", TASK, "m.yaml")
    assert caught.value.message == f"m.yaml has no milestone 'm1'; {known}"
