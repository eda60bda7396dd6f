"""The board at one commit, read lazily through a port, each file once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar

from claims.board.config import CONFIG_PATH, Config, parse_config
from claims.board.plan import MANIFEST_PATH, PLAN_PATH, Manifest, Plan, parse_manifest, parse_plan
from claims.board.task import State, Task, parse_task, task_path
from claims.errors import Undecided
from claims.names import ObjectId, TaskId, task_ids_among

T = TypeVar("T")

#: A folder and a submodule.
FOLDER_MODES = (0o040000, 0o160000)
#: Tasks that are looked up in one batch: a path for each state of each.
_AT_ONCE = 1000
#: What does not read, by its path; everything else is a task.
_CODES = {CONFIG_PATH: "malformed-config", PLAN_PATH: "malformed-plan", MANIFEST_PATH: "malformed-manifest"}


class Entry(NamedTuple):
    """A direct child of a folder: its name, its mode as git writes it (0o100644, 0o120000, 0o040000…), its object.

    `id` is None where nothing has been hashed (a working tree). Bytes of a name that are not UTF-8 are surrogates.
    """

    name: str
    mode: int
    id: ObjectId | None


class NotAFile(Undecided):
    """A folder or a submodule (`what`) stands in the place of the file `path`."""

    def __init__(self, path: str, what: str) -> None:
        code = _CODES.get(path, "malformed-task")
        super().__init__(code, f"{path}:1: it is a {what}, not a file", details={"path": path})
        self.path = path


class TreeReader(Protocol):
    """A tree of files. Paths are from its root, with `/`; links are never followed: a link's content is its target."""

    def list(self, folder: str) -> tuple[Entry, ...] | None:
        """The direct children of `folder`, of the root where it is empty; None where there is no such folder."""
        ...

    def files(self, folder: str) -> Sequence[str]:
        """The names of the files (and links) in `folder`, as `Entry` has them; none where there is no such folder.

        For a folder of thousands, of which nothing but the names is wanted.
        """
        ...

    def read(self, paths: Sequence[str]) -> Sequence[bytes | None]:
        """The contents, in order, in one batch; None where there is no such file.

        Raises Undecided("limits-exceeded") for a file over `node.MAX_FILE`, without having read it, and NotAFile.
        """
        ...

    def exists(self, paths: Sequence[str]) -> Sequence[bool]:
        """Whether each path is a file (or link), in order, in one batch."""
        ...


class Board:
    """The board as `commit` has it; `commit` is None for a working tree.

    A file is read once, when it is first asked for; `prefetch` reads several in one batch. Every property and method
    raises Undecided where a file that it needs is malformed, and goes on raising it.
    """

    __slots__ = ("_config", "_contents", "_manifest", "_places", "_plan", "_reader", "_tasks", "commit")

    def __init__(self, commit: ObjectId | None, reader: TreeReader) -> None:
        self.commit = commit
        self._reader = reader
        self._contents: dict[str, bytes | NotAFile | None] = {}
        self._tasks: dict[str, Task] = {}
        self._places: dict[TaskId, tuple[State, ...]] = {}
        self._config: Config | None = None
        # A list of one once it is known: None is an answer, and that it does not read is one too.
        self._plan: list[Plan | Undecided | None] = []
        self._manifest: list[Manifest | Undecided | None] = []

    def prefetch(self, *tasks: TaskId) -> None:
        """Read the configuration, the plan, the manifest and, wherever they are, the files of `tasks`, in one batch."""
        self._read([CONFIG_PATH, PLAN_PATH, MANIFEST_PATH, *_places(tasks)])

    @property
    def config(self) -> Config:
        """The configuration; its defaults where there is no file."""
        if self._config is None:
            data = self._content(CONFIG_PATH)
            self._config = Config() if data is None else parse_config(data)
        return self._config

    @property
    def plan(self) -> Plan | None:
        """The plan; None where there is no file."""
        if not self._plan:
            self._plan.append(self._parsed(PLAN_PATH, parse_plan))
        return _given(self._plan[0])

    @property
    def manifest(self) -> Manifest | None:
        """The manifest; None where there is no file."""
        if not self._manifest:
            self._manifest.append(self._parsed(MANIFEST_PATH, parse_manifest))
        return _given(self._manifest[0])

    def places_of(self, ids: Iterable[TaskId]) -> dict[TaskId, tuple[State, ...]]:
        """Every state in whose folder a file of the task stands: one, none, or, on a broken board, several.

        One batch of look-ups for every thousand tasks that are asked for, whatever the number on the board.
        """
        wanted = list(dict.fromkeys(ids))
        new = [task for task in wanted if task not in self._places]
        for start in range(0, len(new), _AT_ONCE):
            self._find(new[start : start + _AT_ONCE])
        return {task: self._places[task] for task in wanted}

    def _find(self, tasks: Sequence[TaskId]) -> None:
        unknown = [path for path in _places(tasks) if path not in self._contents]
        there = self._reader.exists(unknown) if unknown else ()
        found = dict(zip(unknown, there, strict=True))
        for task in tasks:
            self._places[task] = tuple(state for state in State if self._is_at(task_path(task, state), found))

    def states_of(self, ids: Iterable[TaskId]) -> dict[TaskId, State | None]:
        """The state of each task, None where it is nowhere. Of several, `done` goes first, then `queued`."""
        return {task: (places[0] if places else None) for task, places in self.places_of(ids).items()}

    def task(self, task: TaskId, state: State) -> Task:
        """The task's file in the folder of `state`.

        Raises Undecided("malformed-task") where it is missing there or does not read.
        """
        path = task_path(task, state)
        if path not in self._tasks:
            data = self._content(path)
            if data is None:
                raise Undecided("malformed-task", f"{path}: there is no such file")
            self._tasks[path] = parse_task(data, path)
        return self._tasks[path]

    def tasks(self, wanted: Mapping[TaskId, State]) -> dict[TaskId, Task | Undecided]:
        """The tasks, each read where it is said to be, in one batch; for one that does not read, why not."""
        try:
            self._read([task_path(task, state) for task, state in wanted.items()])
        except Undecided as fault:
            # One file that is too large must not hide the others: each is read for itself below.
            if fault.code != "limits-exceeded":
                raise
        return {task: self._task_or_reason(task, state) for task, state in wanted.items()}

    def ids_in(self, state: State) -> tuple[TaskId, ...]:
        """The tasks with a file in the folder of `state`, sorted. Other files are passed over."""
        return tuple(sorted(self._tasks_in(state)))

    def counts(self) -> dict[State, int]:
        """How many tasks each folder holds."""
        return {state: len(self._tasks_in(state)) for state in State}

    def _tasks_in(self, state: State) -> list[TaskId]:
        names = self._reader.files(state.folder)
        return task_ids_among([name[: -len(".md")] for name in names if name.endswith(".md")])

    def _task_or_reason(self, task: TaskId, state: State) -> Task | Undecided:
        try:
            return self.task(task, state)
        except Undecided as reason:
            return reason

    def _is_at(self, path: str, found: Mapping[str, bool]) -> bool:
        return found[path] if path in found else self._contents[path] is not None

    def _parsed(self, path: str, parse: Callable[[bytes], T]) -> T | Undecided | None:
        """What a file says, or why it does not read; None where there is none."""
        data = self._content(path)
        try:
            return None if data is None else parse(data)
        except Undecided as fault:
            return fault

    def _content(self, path: str) -> bytes | None:
        self._read([path])
        return _given(self._contents[path])

    def _read(self, paths: Iterable[str]) -> None:
        unread = [path for path in dict.fromkeys(paths) if path not in self._contents]
        while unread:
            try:
                found = self._reader.read(unread)
            except NotAFile as fault:
                # One that is none must not hide the others.
                self._contents[fault.path] = fault
                unread.remove(fault.path)
            else:
                self._contents.update(zip(unread, found, strict=True))
                return


def _given(answer: T | Undecided) -> T:
    if isinstance(answer, Undecided):
        # Raised many times over, it would gather the frames of each.
        raise answer.with_traceback(None)
    return answer


def _places(tasks: Iterable[TaskId]) -> list[str]:
    return [task_path(task, state) for task in tasks for state in State]
