"""What the gate asks of history: what is in base's, merges anew, and what is like none of a merge's parents."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from claims.arbiter import archive
from claims.errors import Undecided
from claims.git import ProcessTimedOut
from claims.names import ObjectId, TaskId
from gate.repository import GateRepository, borrowing, parse_combined
from tests.support.board import task_id
from tests.support.repo import Repo, init


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return init(tmp_path / "repo", {"a.txt": "a\n", "b.txt": "b\n"})


@pytest.fixture
def gates(repo: Repo) -> Iterator[GateRepository]:
    kind = repo.git("rev-parse", "--show-object-format")
    with borrowing(repo.path / ".git" / "objects", kind, os.environ) as borrowed:
        yield borrowed


def test_an_abbreviation_is_no_commit_of_base(repo: Repo, gates: GateRepository) -> None:
    """As a SHA-1 id may be one in a repository of SHA-256, where a claim could name the branch's own work so."""
    base = ObjectId(repo.git("rev-parse", "HEAD"))
    work = ObjectId(repo.commit({"a.txt": "work\n"}))
    cut = [ObjectId(one[:-4]) for one in (base, work)]
    assert gates.is_in_history([base, work, *cut], base) == {base: True, work: False, **dict.fromkeys(cut, False)}


def test_what_a_merge_has_like_no_parent(repo: Repo, gates: GateRepository) -> None:
    start = repo.git("rev-parse", "HEAD")
    one = repo.commit({"a.txt": "one\n"})
    other = repo.git("commit-tree", f"{start}^{{tree}}", "-p", start, "-m", "Other")
    (repo.path / "a.txt").write_text("neither\n")
    (repo.path / "new.txt").write_text("new\n")
    (repo.path / "b.txt").unlink()
    repo.git("add", "--all")
    evil = ObjectId(repo.git("commit-tree", repo.git("write-tree"), "-p", one, "-p", other, "-m", "Evil"))
    honest = ObjectId(repo.git("commit-tree", f"{one}^{{tree}}", "-p", one, "-p", other, "-m", "Honest"))
    found = gates.like_no_parent([honest, evil])
    assert found.keys() <= {honest, evil}
    assert not found.get(honest)
    by_path = {change.path: change for change in found[evil]}
    assert by_path.keys() == {b"a.txt", b"b.txt", b"new.txt"}
    first = by_path[b"a.txt"].before
    assert first is not None and first.id == repo.git("rev-parse", f"{one}:a.txt")
    assert by_path[b"b.txt"].after is None and by_path[b"new.txt"].before is None
    assert gates.like_no_parent([]) == {}


@pytest.mark.parametrize("twins", [False, True])
def test_two_archived_records_at_one_stamp(repo: Repo, gates: GateRepository, twins: bool) -> None:
    """Whoever may push may push such an archive: which of the two counts would be up to the reader."""

    def stored(mode: str, names: list[str], object_id: str) -> str:
        data = b"".join(f"{mode} {name}\0".encode() + bytes.fromhex(object_id) for name in names)
        return repo.git("hash-object", "-w", "--literally", "-t", "tree", "--stdin", input=data)

    task = TaskId(task_id(1))
    names = ["20260814T093000.000Z.json", "20260814T093000.000Z.json" if twins else "20260814T093000.001Z.json"]
    folder = stored("100644", names, repo.blob("{}\n"))
    root = stored("40000", ["202608"], stored("40000", [task], folder))
    made = ObjectId(repo.git("commit-tree", root, "-m", "Archive"))
    if not twins:
        assert len(archive.entries_of(gates.objects, made, [task])) == 2
        return
    with pytest.raises(Undecided, match="two records of one name"):
        archive.entries_of(gates.objects, made, [task])


@pytest.mark.parametrize(
    "out",
    [b"::100644\0a\0", b"%b\0::100644 100644\0a\0" % (b"1" * 40), b"%b\0::1 1 1 a a a MM\0" % (b"1" * 40), b"x\0"],
)
def test_what_is_no_answer_of_a_merge(out: bytes) -> None:
    with pytest.raises(Undecided) as caught:
        parse_combined(out)
    assert caught.value.code == "evidence-incomplete"


class Merged(GateRepository):
    """Merges that cost nothing."""

    def merges(
        self, ours: ObjectId, theirs: ObjectId, directory_renames: Sequence[bool]
    ) -> list[tuple[ObjectId, bool]]:
        return [(theirs, True)]


def test_all_merges_have_one_deadline(repo: Repo, gates: GateRepository, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = ObjectId(repo.git("rev-parse", "HEAD")), ObjectId(repo.commit({"a.txt": "other\n"}))
    merged = Merged(gates.merging)
    assert merged.remerges([(one, other), (other, one), (one, other)]) == [other, one, other]
    monkeypatch.setattr("gate.repository.DEADLINE", -1.0)
    with pytest.raises(ProcessTimedOut, match="2 merges"):
        merged.remerges([(one, other), (other, one)])
