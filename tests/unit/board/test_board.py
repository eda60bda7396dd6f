"""A board through its port: what is read, how often, and what a broken file does to the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from claims.board.board import FOLDER_MODES, Board, Entry, NotAFile
from claims.board.config import Config, Overlap
from claims.board.graph import cycles, edges
from claims.board.node import MAX_FILE
from claims.board.plan import PLAN_PATH
from claims.board.task import State, Task, task_path
from claims.board.worktree import WorkTree
from claims.errors import Undecided
from claims.names import ObjectId, TaskId
from tests.support import board as text

SOUND = Path(__file__).parents[3] / "fixtures" / "boards" / "sound"
COMMIT = ObjectId("1" * 40)


class Recorded:
    """A tree in memory that remembers what it was asked."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = {path: content.encode() for path, content in files.items()}
        self.calls: list[tuple[str, int]] = []

    def list(self, folder: str) -> tuple[Entry, ...] | None:
        self.calls.append(("list", 1))
        below = [path.removeprefix(folder + "/") for path in self._files if path.startswith(folder + "/")]
        names = {name.partition("/")[0]: 0o040000 if "/" in name else 0o100644 for name in below}
        return tuple(Entry(name, mode, None) for name, mode in names.items()) or None

    def files(self, folder: str) -> Sequence[str]:
        return [entry.name for entry in self.list(folder) or () if entry.mode not in FOLDER_MODES]

    def read(self, paths: Sequence[str]) -> Sequence[bytes | None]:
        self.calls.append(("read", len(paths)))
        found = [self._files.get(path) for path in paths]
        if any(data is not None and len(data) > MAX_FILE for data in found):
            raise Undecided("limits-exceeded", "too large")
        return found

    def exists(self, paths: Sequence[str]) -> Sequence[bool]:
        self.calls.append(("exists", len(paths)))
        return [path in self._files for path in paths]


def id_of(number: int) -> TaskId:
    return TaskId(text.task_id(number))


def queued(number: int, **more: str) -> str:
    return text.task_file(id_of(number), **more)


def board(*tasks: str, **files: str) -> tuple[Board, Recorded]:
    reader = Recorded(text.board_files(tasks, **files))
    return Board(COMMIT, reader), reader


def test_a_claim_needs_one_batch() -> None:
    found, reader = board(queued(1), plan=text.plan_file(), manifest=text.manifest_file(), config="lease_minutes: 5\n")
    found.prefetch(id_of(1))
    assert found.commit == COMMIT
    assert found.config.lease_minutes == 5
    assert found.plan is not None
    assert found.manifest is not None
    assert found.states_of([id_of(1)]) == {id_of(1): State.QUEUED}
    assert found.task(id_of(1), State.QUEUED).title == "A task"
    assert found.tasks({id_of(1): State.QUEUED})
    assert reader.calls == [("read", 3 + 6)]


def test_without_prefetch_each_file_is_read_once() -> None:
    found, reader = board(queued(1))
    for _ in range(2):
        assert (found.config, found.plan, found.manifest) == (Config(), None, None)
        assert found.task(id_of(1), State.QUEUED)
    assert reader.calls == [("read", 1)] * 4


def test_looking_up_states_lists_nothing() -> None:
    found, reader = board(queued(1), queued(2, status="done"), queued(3, status="backlog"), queued(4))
    wanted = [id_of(number) for number in (1, 2, 3, 9)]
    assert found.states_of(wanted) == dict(zip(wanted, [State.QUEUED, State.DONE, State.BACKLOG, None], strict=True))
    assert found.states_of([]) == {}
    assert reader.calls == [("exists", 4 * 6)]


def test_a_task_in_two_folders_counts_as_done() -> None:
    found, _ = board(queued(1), queued(1, status="done"), queued(2), queued(2, status="backlog"))
    assert found.places_of([id_of(1)]) == {id_of(1): (State.DONE, State.QUEUED)}
    assert found.states_of([id_of(1), id_of(2)]) == {id_of(1): State.DONE, id_of(2): State.QUEUED}


def test_a_task_that_is_not_there() -> None:
    found, _ = board(queued(1))
    with pytest.raises(Undecided) as caught:
        found.task(id_of(1), State.DONE)
    assert caught.value.code == "malformed-task"
    assert task_path(id_of(1), State.DONE) in caught.value.message


def test_one_broken_task_does_not_hide_the_others() -> None:
    found, reader = board(queued(1), queued(2).replace("title:", "titel:"))
    one, two = found.tasks({id_of(1): State.QUEUED, id_of(2): State.QUEUED}).values()
    assert isinstance(one, Task)
    assert isinstance(two, Undecided)
    assert two.code == "malformed-task"
    assert reader.calls == [("read", 2)]


def test_one_large_task_does_not_hide_the_others() -> None:
    found, _ = board(queued(1), queued(2, body="x" * MAX_FILE))
    one, two = found.tasks({id_of(1): State.QUEUED, id_of(2): State.QUEUED}).values()
    assert isinstance(one, Task)
    assert isinstance(two, Undecided)
    assert two.code == "limits-exceeded"


def test_a_reader_that_fails_fails_everything() -> None:
    class Broken(Recorded):
        def read(self, paths: Sequence[str]) -> Sequence[bytes | None]:
            raise Undecided("git-failed", f"no answer for {len(paths)} paths")

    with pytest.raises(Undecided) as caught:
        Board(COMMIT, Broken({})).tasks({id_of(1): State.QUEUED})
    assert caught.value.code == "git-failed"


@pytest.mark.parametrize(
    ("name", "code"), [("config", "malformed-config"), ("plan", "malformed-plan"), ("manifest", "malformed-manifest")]
)
def test_a_broken_file_stays_broken(name: str, code: str) -> None:
    found, _ = board(queued(1), **{name: "x"})
    for _ in range(2):
        with pytest.raises(Undecided) as caught:
            getattr(found, name)
        assert caught.value.code == code
    assert found.task(id_of(1), State.QUEUED)


def test_what_is_no_file_hides_no_other() -> None:
    """A folder in the place of a task, and of the plan: each is told where it is asked for, as often as it is."""
    path = f"{State.QUEUED.folder}/{id_of(2)}.md"

    class WithFolders(Recorded):
        def read(self, paths: Sequence[str]) -> Sequence[bytes | None]:
            for folder in (PLAN_PATH, path):
                if folder in paths:
                    raise NotAFile(folder, "folder")
            return super().read(paths)

    found = Board(COMMIT, WithFolders(text.board_files([queued(1)])))
    found.prefetch(id_of(1), id_of(2))
    assert found.places_of([id_of(1), id_of(2)]) == {id_of(1): (State.QUEUED,), id_of(2): (State.QUEUED,)}
    one, two = found.tasks(dict.fromkeys([id_of(1), id_of(2)], State.QUEUED)).values()
    assert isinstance(one, Task) and isinstance(two, Undecided)
    assert (two.code, two.message) == ("malformed-task", f"{path}:1: it is a folder, not a file")
    for _ in range(2):
        with pytest.raises(Undecided) as caught:
            _ = found.plan
        assert caught.value.code == "malformed-plan"
    assert found.manifest is None


def test_other_files_in_a_folder_are_passed_over() -> None:
    folder = State.QUEUED.folder
    files = text.board_files([queued(2), queued(1)])
    files |= {f"{folder}/{name}": "" for name in ("README.md", "T-1.md", f"{id_of(3)}.txt", f"{id_of(4)}.md/x")}
    found = Board(None, Recorded(files))
    assert found.ids_in(State.QUEUED) == (id_of(1), id_of(2))
    assert found.ids_in(State.BACKLOG) == ()
    assert found.counts() == {state: 2 if state is State.QUEUED else 0 for state in State}


def test_a_sound_board_in_a_working_tree() -> None:
    found = Board(None, WorkTree(str(SOUND)))
    counts = {State.QUEUED: 2}
    assert found.counts() == {state: counts.get(state, 1) for state in State}
    places = {task: state for state in State for task in found.ids_in(state)}
    tasks = [task for task in found.tasks(places).values() if isinstance(task, Task)]
    assert len(tasks) == len(places) == 7
    assert found.config.overlap is Overlap.REFUSE
    assert found.plan is not None
    assert found.manifest is not None
    assert found.plan.revision == found.manifest.plan_revision
    assert cycles(edges(tasks, found.manifest)) == ()
    assert found.states_of(places) == places
