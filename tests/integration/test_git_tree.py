"""A commit's tree: how many names git has to walk to."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from claims.git_tree import GitTree
from claims.names import ObjectId
from claims.session import Options, Session, open_session
from tests.support.repo import init

FOLDER = ".agents/tasks/queued"
PATHS = [f"{FOLDER}/{number}.md" for number in range(200)]


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    init(tmp_path / "here", {**{path: path for path in PATHS}, f"{FOLDER}/folder/inner": "x"})
    opened = open_session(Options(directory=tmp_path / "here"), os.environ)
    yield opened
    opened.objects.close()


@pytest.fixture
def walked(session: Session, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths that git was asked to walk to."""
    asked: list[str] = []
    real = type(session.objects).info

    def info(self: object, names: Sequence[str]) -> object:
        asked.extend(name for name in names if ":" in name)
        return real(session.objects, names)

    monkeypatch.setattr(type(session.objects), "info", info)
    return asked


def head(session: Session) -> ObjectId:
    info = session.objects.info(["refs/heads/main"])[0]
    assert info is not None
    return info.id


def test_for_many_paths_their_folder_is_read_instead(session: Session, walked: list[str]) -> None:
    """To walk to a path, git unpacks and searches its folder each time: a minute for ten thousand tasks."""
    tree = GitTree(session, head(session))
    assert tree.read(PATHS) == [path.encode() for path in PATHS]
    assert all(tree.exists(PATHS))
    assert len(walked) == 1


def test_a_few_paths_are_walked_to(session: Session, walked: list[str]) -> None:
    tree = GitTree(session, head(session))
    assert tree.read(PATHS[:3]) == [path.encode() for path in PATHS[:3]]
    assert len(walked) == 3


@pytest.mark.parametrize("many", [False, True])
def test_what_is_no_file_is_not_there(many: bool, session: Session) -> None:
    tree = GitTree(session, head(session))
    more = PATHS if many else []
    paths = [f"{FOLDER}/none.md", f"{FOLDER}/folder", f"{FOLDER}/0.md/below", "none/x", *more]
    assert list(tree.exists(paths)) == [False] * 4 + [True] * len(more)
    assert tree.list(f"{FOLDER}/0.md") is None
    assert tree.list("none") is None
    assert len(tree.list(FOLDER) or ()) == 201
