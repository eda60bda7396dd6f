"""The whole board: each thing that can be wrong with it, and the same board with that one thing right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from claims.board.board import Entry, NotAFile
from claims.board.node import MAX_FILE
from claims.board.whole import Report, check
from claims.errors import Undecided
from tests.support.board import board_files, milestone, plan_file, task_file, task_id, yaml
from tests.unit.board.test_decision import GOOD as DECISION
from tests.unit.board.test_proposal import GOOD as PROPOSAL

ONE, TWO, THREE = map(task_id, (1, 2, 3))
QUEUED_ONE = f".agents/tasks/queued/{ONE}.md"
MANIFEST = ".agents/manifest.yaml"
PLAN = ".agents/plan.md"


class Files:
    """A tree in memory. A value of None is a folder, a tuple a mode and a content."""

    def __init__(self, files: Mapping[str, object]) -> None:
        self.files = {path: value for path, value in files.items() if value != ""}

    def list(self, folder: str) -> tuple[Entry, ...] | None:
        found: dict[str, int] = {}
        for path, value in self.files.items():
            if path.startswith(f"{folder}/"):
                name, _, below = path[len(folder) + 1 :].partition("/")
                mode = value[0] if isinstance(value, tuple) else 0o100644
                found[name] = 0o040000 if below else mode
        return tuple(Entry(name, mode, None) for name, mode in sorted(found.items())) or None

    def read(self, paths: Sequence[str]) -> Sequence[bytes | None]:
        return [self._read(path) for path in paths]

    def _read(self, path: str) -> bytes | None:
        value = self.files.get(path)
        if isinstance(value, tuple):
            raise NotAFile(path, "folder")
        if value is None:
            return None
        data = str(value).encode()
        if len(data) > MAX_FILE:
            raise Undecided("limits-exceeded", f"{path}: over {MAX_FILE} bytes", details={"path": path})
        return data

    def exists(self, paths: Sequence[str]) -> Sequence[bool]:
        return [path in self.files for path in paths]


def report(*tasks: str, more: Mapping[str, object] | None = None, **board: object) -> Report:
    """The report on a board; what stands in `more` where it has a folder replaces that."""
    files: dict[str, object] = {**board_files(tasks, **board)}  # type: ignore[arg-type]
    replaced = tuple(f"{path}/" for path in more or {})
    kept = {path: value for path, value in files.items() if not path.startswith(replaced)}
    return check(Files({**kept, **(more or {})}))


def faults(found: Report) -> list[tuple[str, str]]:
    return [(one.path, one.message) for one in found.faults]


GOOD = [task_file(ONE), task_file(TWO, depends_on=[ONE]), task_file(THREE, status="done")]


def test_a_valid_board() -> None:
    stones = [milestone("m1", [ONE, TWO, THREE])]
    found = report(
        *GOOD,
        plan=1,
        manifest=stones,
        config={"lease_minutes": 20},
        more={
            f".agents/proposals/{PROPOSAL['id']}.md": f"---\n{yaml({**PROPOSAL, 'base_plan_revision': 1})}---\nText\n",
            ".agents/decisions/0007-opaque-sessions.md": f"---\n{yaml(DECISION)}---\nText\n",
            ".agents/prompts/triage.md": "anything",
            ".agents/README.md": "anything",
        },
    )
    assert found == Report((), (), 3)


def test_an_empty_one() -> None:
    assert check(Files({})) == Report((), (), 0)


@pytest.mark.parametrize(
    ("tasks", "more", "path", "words"),
    [
        pytest.param([task_file(ONE).replace("title:", "tittle:")], {}, QUEUED_ONE, "tittle", id="key"),
        pytest.param(
            [],
            {f".agents/tasks/done/{ONE}.md": task_file(ONE)},
            f".agents/tasks/done/{ONE}.md",
            "status",
            id="status and folder",
        ),
        pytest.param(
            [task_file(ONE)],
            {f".agents/tasks/done/{ONE}.md": task_file(ONE, status="done")},
            f".agents/tasks/done/{ONE}.md",
            "a task is in one state",
            id="two states",
        ),
        pytest.param(
            [task_file(ONE, depends_on=[TWO])],
            {},
            QUEUED_ONE,
            f"names {TWO}, of which",
            id="depends on nothing",
        ),
        pytest.param(
            [task_file(ONE, depends_on=[TWO]), task_file(TWO, depends_on=[ONE])],
            {},
            QUEUED_ONE,
            f"wait for each other: {ONE} → {TWO} → {ONE}",
            id="a cycle",
        ),
        pytest.param([task_file(ONE, depends_on=[ONE])], {}, QUEUED_ONE, "itself", id="itself"),
        pytest.param(
            [task_file(ONE, regenerated_from=TWO), task_file(TWO, status="failed")],
            {},
            QUEUED_ONE,
            "did not fail for an invalid premise",
            id="regenerated",
        ),
        pytest.param(
            [], {".agents/tasks/queued/notes.md": "x"}, ".agents/tasks/queued/notes.md", "belongs here", id="odd name"
        ),
        pytest.param(
            [],
            {".agents/tasks/queued/x.txt": "x"},
            ".agents/tasks/queued/x.txt",
            "does not end in .md",
            id="odd suffix",
        ),
        pytest.param(
            [],
            {f".agents/tasks/queued/{ONE}.md": (0o120000, "x")},
            f".agents/tasks/queued/{ONE}.md",
            "a symbolic link, where an ordinary file",
            id="a link",
        ),
        pytest.param(
            [],
            {f".agents/tasks/queued/{ONE}.md": (0o100755, "x")},
            f".agents/tasks/queued/{ONE}.md",
            "an executable file, where",
            id="executable",
        ),
        pytest.param([], {".agents/tasks/later/x.md": "x"}, ".agents/tasks/later", "folders of tasks", id="odd folder"),
        pytest.param([], {PLAN: plan_file()}, MANIFEST, "only one of", id="no manifest"),
        pytest.param([], {MANIFEST: "plan_revision: 1\nmilestones: []\n"}, PLAN, "only one of", id="no plan"),
        pytest.param([], {".agents/swarm.yaml": "lease: 3\n"}, ".agents/swarm.yaml", "lease", id="configuration"),
        *(
            pytest.param([], {path: (mode, "x")}, path, words, id=f"{path} is a {words}")
            for path, mode, words in [
                (".agents", 0o120000, "no folder, where"),
                (".agents/swarm.yaml", 0o120000, "a symbolic link, where an ordinary file"),
                (".agents/swarm.yaml", 0o160000, "a submodule, where an ordinary file"),
                (".agents/allowed_signers", 0o120000, "a symbolic link, where an ordinary file"),
                (".agents/tasks", 0o120000, "a symbolic link, where a folder"),
                (".agents/tasks", 0o100644, "a file, where a folder"),
                (".agents/tasks/done", 0o120000, "a symbolic link, where a folder"),
                (".agents/tasks/done", 0o160000, "a submodule, where a folder"),
                (".agents/tasks/done/.gitkeep", 0o120000, "a symbolic link, where an ordinary file"),
                (".agents/proposals", 0o120000, "a symbolic link, where a folder"),
                (".agents/decisions", 0o100644, "a file, where a folder"),
                (".agents/backlog", 0o100755, "an executable file, where a folder"),
            ]
        ),
        pytest.param(
            [],
            {".agents/proposals/x.md": "x"},
            ".agents/proposals/x.md",
            "belongs here",
            id="odd proposal",
        ),
        pytest.param(
            [],
            {f".agents/proposals/{PROPOSAL['id']}.md": f"---\n{yaml(PROPOSAL)}---\nText\n"},
            f".agents/proposals/{PROPOSAL['id']}.md",
            "raised against plan revision 3; the plan is at 0",
            id="a proposal of the future",
        ),
        pytest.param(
            [],
            {
                ".agents/decisions/0007-a.md": f"---\n{yaml({**DECISION, 'id': 7})}---\n",
                ".agents/decisions/0007-b.md": f"---\n{yaml({**DECISION, 'id': 7})}---\n",
            },
            ".agents/decisions/0007-b.md",
            "0007-a.md has the number 0007 already",
            id="a number twice",
        ),
    ],
)
def test_each_fault(tasks: list[str], more: dict[str, object], path: str, words: str) -> None:
    found = report(*tasks, more=more)
    assert [(one, words in message) for one, message in faults(found)] == [(path, True)], faults(found)


def test_plan_and_manifest_have_to_agree() -> None:
    stones = [milestone("m1", [ONE, TWO], integration=THREE, status="done")]
    found = report(task_file(ONE, status="done"), task_file(THREE), plan=1, manifest=stones, more={PLAN: plan_file(2)})
    messages = [message for path, message in faults(found) if path == MANIFEST]
    assert len(messages) == len(faults(found)) == 3
    for words in ("`plan_revision` is 1", f"lists {TWO}, which has no file", "its integration task"):
        assert any(words in message for message in messages), words


def test_an_integration_task_waits_for_its_milestone() -> None:
    stones = [milestone("m1", [ONE], integration=TWO)]
    found = report(task_file(ONE, depends_on=[TWO]), task_file(TWO), plan=1, manifest=stones)
    assert [message for _, message in faults(found)] == [f"tasks that wait for each other: {ONE} → {TWO} → {ONE}"]


def test_everything_is_told_at_once_and_one_file_hides_no_other() -> None:
    found = report(
        task_file(ONE).replace("title:", "tittle:"),
        task_file(TWO, body="x" * (MAX_FILE + 1)),
        task_file(THREE, depends_on=[task_id(9)]),
    )
    assert [path for path, _ in faults(found)] == [f".agents/tasks/queued/{task}.md" for task in (ONE, TWO, THREE)]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("See `docs/gone.md`.", ["docs/gone.md, which is not there"]),
        ("See [x](docs/gone.md) and [y](/docs/gone2.md).", ["/docs/gone2.md,", "docs/gone.md,"]),
        ("See [x](docs/here.md#nowhere).", ["no such heading"]),
        ("See [x](#nowhere).", ["no such heading"]),
        ("# Why\nSee [x](docs/here.md#some-words), [y](#why), `src/new.py`, [z](docs), [o](../queued/other.md).", []),
    ],
)
def test_links_that_lead_nowhere_are_a_notice(body: str, words: list[str]) -> None:
    more = {"docs/here.md": "# Some words\n", ".agents/tasks/queued/other.md": ""}
    more[f".agents/tasks/queued/{TWO}.md"] = task_file(TWO)
    body = body.replace("other.md", f"{TWO}.md")
    found = report(task_file(ONE, body=f"{body}\n", paths=["src/"]), more=more)
    assert faults(found) == []
    assert len(found.notices) == len(words)
    for part, one in zip(words, found.notices, strict=True):
        assert part in one.message and one.path == f".agents/tasks/queued/{ONE}.md"


def test_links_of_what_is_done_are_history() -> None:
    assert report(task_file(ONE, status="done", body="See `docs/gone.md`.\n")).notices == ()


def test_a_queued_task_that_no_milestone_lists_is_a_notice() -> None:
    found = report(task_file(ONE), task_file(TWO), plan=1, manifest=[milestone("m1", [ONE])])
    assert [(one.path, "no milestone lists" in one.message) for one in found.notices] == [
        (f".agents/tasks/queued/{TWO}.md", True)
    ]
