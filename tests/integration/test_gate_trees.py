"""Trees as bytes: what a path holds, malformed trees, and trees that are larger than they look."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from claims.errors import Undecided
from claims.git import Git
from claims.names import ObjectId
from gate.tree import FILE, FOLDER, LINK, Entry
from gate.trees import Trees
from tests.support.repo import Repo, init


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return init(tmp_path / "repo", {"a/b/c.txt": "c\n", "a/d.txt": "d\n", "e.txt": "e\n"})


@pytest.fixture
def trees(repo: Repo) -> Iterator[Trees]:
    with Git(repo.path, os.environ).objects() as objects:
        yield Trees(objects)


def root(repo: Repo, commit: str = "HEAD") -> ObjectId:
    return ObjectId(repo.git("rev-parse", f"{commit}^{{tree}}"))


def mktree(repo: Repo, *entries: tuple[str, str, str]) -> ObjectId:
    lines = "".join(f"{mode} {'tree' if mode == '040000' else 'blob'} {id}\t{name}\n" for mode, id, name in entries)
    return ObjectId(repo.git("mktree", input=lines))


def test_what_a_path_holds(repo: Repo, trees: Trees) -> None:
    blob = ObjectId(repo.git("rev-parse", "HEAD:a/b/c.txt"))
    assert trees.at(root(repo), b"a/b/c.txt") == Entry(FILE, blob)
    assert trees.at(root(repo), b"") == Entry(FOLDER, root(repo))
    for nothing in (b"a/b/x", b"x/y/z", b"e.txt/f", b"a//b", b"/a"):
        assert trees.at(root(repo), nothing) is None
    assert trees.names_in(root(repo), b"a") == {b"b", b"d.txt"}
    assert trees.names_in(root(repo), b"e.txt") == frozenset()


def test_paths_are_loaded_a_level_at_a_time(repo: Repo, trees: Trees) -> None:
    trees.load_paths(root(repo), [b"a/b/c.txt", b"e.txt", b"new/deep/x"])
    trees._objects.close()
    assert trees.names_in(root(repo), b"a/b") == {b"c.txt"}


def test_a_tree_that_is_not_there_is_not_empty(repo: Repo, trees: Trees) -> None:
    with pytest.raises(Undecided) as caught:
        trees.entries(ObjectId("1" * len(root(repo))))
    assert caught.value.code == "evidence-incomplete"


@pytest.mark.parametrize(
    ("entries", "fault"),
    [
        ([("100644", "x"), ("100644", "x")], "a name stands in it twice"),
        ([("100644", "z"), ("100644", "a")], "its entries are out of order"),
        ([("100664", "x")], "an entry has a mode that git does not write"),
        ([("100644", ".git")], "a name that no file can have"),
        ([("100644", "..")], "a name that no file can have"),
        ([("100644", "a/b")], "a name that no file can have"),
        ([("100644", "x")], None),
    ],
)
def test_malformed_trees(entries: list[tuple[str, str]], fault: str | None, repo: Repo, trees: Trees) -> None:
    blob = repo.git("rev-parse", "HEAD:e.txt")
    data = b"".join(f"{mode} {name}\0".encode() + bytes.fromhex(blob) for mode, name in entries)
    path = repo.path / "raw"
    path.write_bytes(data)
    made = ObjectId(repo.git("hash-object", "-w", "--literally", "-t", "tree", str(path)))
    top = mktree(repo, ("040000", made, "sub"))
    assert trees.malformed([(root(repo), top)]) == ([] if fault is None else [(b"sub", fault)])


def test_a_tree_that_has_no_end(repo: Repo, trees: Trees) -> None:
    """Ten folders, each of which holds the same ten folders, and so on: eleven objects, ten thousand million files."""
    made = mktree(repo, ("100644", repo.git("rev-parse", "HEAD:e.txt"), "f"))
    for _ in range(10):
        made = mktree(repo, *(("040000", made, f"d{number}") for number in range(10)))
    with pytest.raises(Undecided) as caught:
        trees.malformed([(root(repo), made)])
    assert caught.value.code == "limits-exceeded"
    assert trees.malformed([(made, made)]) == []


def test_a_folder_at_two_places_is_counted_twice(repo: Repo, trees: Trees, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is looked at once; git walks it once for every place."""
    blob = repo.git("rev-parse", "HEAD:e.txt")
    below = mktree(repo, ("100644", blob, "x"), ("100644", blob, "y"))
    top = mktree(repo, ("040000", below, "one"), ("040000", below, "two"))
    pair = (root(repo), top)
    assert trees.malformed([pair], most=3) == []
    with pytest.raises(Undecided, match="over 2 changed folders"):
        trees.malformed([pair], most=2)
    monkeypatch.setattr("gate.trees.MAX_FILES", 4)
    assert trees.malformed([pair]) == []
    with pytest.raises(Undecided, match="over 4 changed files"):
        trees.malformed([pair, (root(repo), below)])


@pytest.mark.parametrize("limit", ["MAX_IN_FOLDER", "MAX_ENTRIES", "MAX_ALL"])
@pytest.mark.parametrize("more", [0, 1])
def test_as_much_as_is_read(limit: str, more: int, repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    blob = repo.git("rev-parse", "HEAD:e.txt")
    top = mktree(repo, *(("100644", blob, f"f{number}") for number in range(10)))
    exact = len(repo.run("cat-file", "tree", top).stdout) if limit == "MAX_ALL" else 10
    monkeypatch.setattr(f"gate.trees.{limit}", exact - more)
    empty = ObjectId(repo.git("mktree", input=""))
    with Git(repo.path, os.environ).objects() as objects:
        asked = Trees(objects)
        try:
            asked.malformed([(empty, top)]) if limit == "MAX_ALL" else asked.entries(top)
        except Undecided as refused:
            assert (more, refused.code) == (1, "limits-exceeded")
        else:
            assert not more


def test_an_unchanged_folder_is_not_looked_at(repo: Repo, trees: Trees) -> None:
    """What base has is base's, however odd."""
    before = repo.git("rev-parse", "HEAD:a")
    top = mktree(repo, ("040000", before, "a"), ("120000", repo.git("rev-parse", "HEAD:e.txt"), "link"))
    assert trees.malformed([(root(repo), top)]) == []
    assert before not in trees._entries
    found = trees.at(top, b"link")
    assert found is not None and found.mode == LINK
