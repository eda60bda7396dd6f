"""The changes between two trees, against an independent reading of the same two trees."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TypeAlias

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from claims.git import Git
from claims.names import ObjectId
from gate.repository import GateRepository, borrowing
from gate.tree import FOLDER, Change, Entry
from gate.trees import Trees
from tests.support.repo import Repo, init

#: A folder: names to files (mode and content) or folders.
Node: TypeAlias = "dict[bytes, tuple[int, bytes] | Node]"

_NAMES = st.sampled_from([b"a", b"a.b", b"a-b", b"ab", b"A", b"\xc3\xa9", b"\xff", b"x y", b"\x01", b'"q"'])
_FILES = st.tuples(st.sampled_from([0o100644, 0o100755, 0o120000, 0o160000]), st.sampled_from([b"", b"1", b"2"]))
_TREES = st.recursive(
    st.dictionaries(_NAMES, _FILES, max_size=4),
    lambda inner: st.dictionaries(_NAMES, st.one_of(_FILES, inner), max_size=4),
    max_leaves=12,
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Repo, GateRepository]]:
    repo = init(tmp_path_factory.mktemp("changes") / "repo")
    form = repo.git("rev-parse", "--show-object-format")
    with borrowing(repo.git_path("objects"), form, os.environ) as repository:
        yield repo, repository


def write(repo: Repo, node: Node) -> ObjectId:
    """Store a tree, its entries written by hand."""
    entries = []
    for name, value in node.items():
        if isinstance(value, dict):
            if value:
                entries.append((name + b"/", b"40000 " + name + b"\0" + bytes.fromhex(write(repo, value))))
        else:
            mode, content = value
            object_id = stored(repo, "blob", content) if mode != 0o160000 else "1" * len(stored(repo, "blob", b""))
            entries.append((name, b"%o " % mode + name + b"\0" + bytes.fromhex(object_id)))
    return ObjectId(stored(repo, "tree", b"".join(raw for _, raw in sorted(entries))))


def stored(repo: Repo, kind: str, data: bytes) -> str:
    git = Git(repo.path, os.environ)
    done = git.run("hash-object", "-w", "-t", kind, "--literally", "--stdin", stdin=data)
    return done.out.decode().strip()


def snapshot(repo: Repo, tree: ObjectId) -> dict[bytes, Entry]:
    """What `ls-tree -r` lists: the other way to read a tree."""
    found: dict[bytes, Entry] = {}
    for line in Git(repo.path, os.environ).run("ls-tree", "-r", "-z", "--full-tree", tree).out.split(b"\0")[:-1]:
        head, _, path = line.partition(b"\t")
        mode, _, object_id = head.split(b" ")
        found[path] = Entry(int(mode, 8), ObjectId(object_id.decode()))
    return found


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=_TREES, after=_TREES)
def test_changes_are_what_two_snapshots_differ_in(
    place: tuple[Repo, GateRepository], before: Node, after: Node
) -> None:
    repo, repository = place
    old, new = write(repo, before), write(repo, after)
    was, now = snapshot(repo, old), snapshot(repo, new)
    (changes,) = repository.changes([(old, new)])
    expected = {
        path: Change(path, was.get(path), now.get(path))
        for path in was.keys() | now.keys()
        if was.get(path) != now.get(path)
    }
    assert {change.path: change for change in changes} == expected
    assert len(changes) == len(expected)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(node=_TREES)
def test_a_path_holds_what_a_snapshot_has(place: tuple[Repo, GateRepository], node: Node) -> None:
    repo, repository = place
    tree = write(repo, node)
    listed = snapshot(repo, tree)
    trees = Trees(repository.objects)
    for path, entry in listed.items():
        assert trees.at(tree, path) == entry
        folder = path.rpartition(b"/")[0]
        above = trees.at(tree, folder)
        assert above is not None and above.mode == FOLDER
        assert path.rpartition(b"/")[2] in trees.names_in(tree, folder)
    assert set(trees.blobs_below(tree, b"")) == {entry.id for entry in listed.values() if entry.mode != 0o160000}
    assert trees.malformed([(tree, tree)]) == []
