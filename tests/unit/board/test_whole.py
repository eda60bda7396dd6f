"""The whole board: each thing that can be wrong with it, and the same board with that one thing right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from claims.board.board import FOLDER_MODES, Entry, NotAFile
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
    """A tree in memory. A value of None is nothing, a tuple a mode and a content."""

    def __init__(self, files: Mapping[str, object]) -> None:
        self.content = {path: value for path, value in files.items() if value is not None}

    def list(self, folder: str) -> tuple[Entry, ...] | None:
        found: dict[str, int] = {}
        for path, value in self.content.items():
            start = f"{folder}/" if folder else ""
            if path.startswith(start):
                name, _, below = path.removeprefix(start).partition("/")
                mode = value[0] if isinstance(value, tuple) else 0o100644
                found[name] = 0o040000 if below else mode
        return tuple(Entry(name, mode, None) for name, mode in sorted(found.items())) or None

    def files(self, folder: str) -> Sequence[str]:
        return [entry.name for entry in self.list(folder) or () if entry.mode not in FOLDER_MODES]

    def read(self, paths: Sequence[str]) -> Sequence[bytes | None]:
        return [self._read(path) for path in paths]

    def _read(self, path: str) -> bytes | None:
        value = self.content.get(path)
        if isinstance(value, tuple):
            raise NotAFile(path, "folder")
        if value is None:
            return None
        data = str(value).encode()
        if len(data) > MAX_FILE:
            raise Undecided("limits-exceeded", f"{path}: over {MAX_FILE} bytes", details={"path": path})
        return data

    def exists(self, paths: Sequence[str]) -> Sequence[bool]:
        return [path in self.content for path in paths]


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
    """It is valid, as a repository without a plan is; whoever named the wrong revision is told."""
    found = check(Files({"src/a.py": "a"}))
    assert (found.faults, found.tasks) == ((), 0)
    assert [(one.path, one.message) for one in found.notices] == [(".agents", "there is no board here")]


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
        pytest.param(
            [],
            {".agents/prompts/triage.md": (0o120000, "/etc/passwd")},
            ".agents/prompts/triage.md",
            "a symbolic link, where an ordinary file",
            id="a link for the prompt",
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
        ("See [x](docs/a%0Ab.md), [y](docs/%00.md).", ["docs/\0.md, which", "docs/a\nb.md, which"]),
        ("See [x](docs/here.md?plain=1), [y](src/*.py), [z](../../../../up.md).", ["../../../../up.md, which"]),
        ("# Why\nSee [x](docs/here.md#some-words), [y](#why), `src/new.py`, [z](docs), [o](../queued/other.md).", []),
    ],
)
def test_links_that_lead_nowhere_are_a_notice(body: str, words: list[str]) -> None:
    more = {"docs/here.md": "# Some words\n"}
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


@pytest.mark.parametrize(
    ("one", "two", "stone", "words"),
    [
        pytest.param({"depends_on": [TWO]}, {"status": "cancelled"}, {}, "which is cancelled", id="cancelled"),
        pytest.param({"depends_on": [TWO]}, {"status": "blocked"}, {}, None, id="blocked only"),
        pytest.param({}, {"status": "done"}, {"status": "done"}, "its milestone m1 is done", id="milestone done"),
    ],
)
def test_a_queued_task_that_nobody_can_claim_is_a_notice(
    one: dict[str, object], two: dict[str, object], stone: dict[str, str], words: str | None
) -> None:
    tasks = [task_file(ONE, **one), task_file(TWO, **two)]  # type: ignore[arg-type]
    found = report(*tasks, plan=1, manifest=[milestone("m1", [ONE, TWO], **stone)])
    assert faults(found) == []
    assert [(one.path, bool(words) and str(words) in one.message) for one in found.notices] == (
        [(QUEUED_ONE, True)] if words else []
    )


@pytest.mark.parametrize(("kind", "count"), [("implementation", 1), ("integration", 0)])
def test_an_integration_task_of_another_kind_is_a_notice(kind: str, count: int) -> None:
    found = report(
        task_file(ONE), task_file(TWO, kind=kind), plan=1, manifest=[milestone("m1", [ONE], integration=TWO)]
    )
    assert faults(found) == []
    assert ["integrates the milestone m1" in one.message for one in found.notices] == [True] * count


def test_a_folder_of_tasks_that_keeps_nothing_is_a_notice() -> None:
    path = ".agents/tasks/done/.gitkeep"
    found = report(task_file(ONE), more={path: None})
    assert [(one.path, one.fix) for one in found.notices] == [(path, f"touch {path}")]
    assert report(task_file(ONE)).notices == ()


@pytest.mark.parametrize(
    ("path", "is_fault", "fix"),
    [
        (".agents/swarm.yml", False, "git mv .agents/swarm.yml .agents/swarm.yaml"),
        (".agents/plan.yaml", False, "git mv .agents/plan.yaml .agents/plan.md"),
        (".agents/Swarm.yaml", True, "git mv .agents/Swarm.yaml .agents/swarm.yaml"),
        (".agents/Tasks/x.md", True, "git mv .agents/Tasks .agents/tasks"),
        (".agents/notes.yml", None, None),
        (".agents/skills/x.md", None, None),
        (".agents/manifest.json", None, None),
    ],
)
def test_a_name_that_nobody_reads_but_was_meant_to_be_read(path: str, is_fault: bool | None, fix: str | None) -> None:
    found = report(task_file(ONE), more={path: "x"})
    assert [one.fix for one in found.faults] == ([fix] if is_fault else [])
    assert [one.fix for one in found.notices] == ([fix] if is_fault is False else [])


def test_a_command_that_mends_is_quoted() -> None:
    """Whoever names a file must not write what an operator pastes."""
    hostile = [".agents/tasks/done/$(id).md", ".agents/tasks/done/a\nb.md"]
    found = report(more=dict.fromkeys(hostile, (0o100755, "x")))
    assert {one.path: one.fix for one in found.faults} == {
        hostile[0]: "git update-index --chmod=-x -- '.agents/tasks/done/$(id).md'",
        hostile[1]: None,
    }


def test_contents_are_held_a_batch_at_a_time() -> None:
    """A board may be gigabytes; all of them in one batch would be held at once."""
    asked: list[int] = []

    class Counting(Files):
        def read(self, paths: Sequence[str]) -> Sequence[bytes | None]:
            asked.append(len(paths))
            return super().read(paths)

    tasks = [task_id(number) for number in range(1, 301)]
    assert check(Counting({**board_files(tasks)})).tasks == 300
    assert max(asked) <= 128 and len(asked) <= 4


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        (".agents/", "no task's to change"),
        (".agents/tasks/done/", "no task's to change"),
        (".AGENTS/**", "no task's to change"),
        (".github/", "file by file"),
        (".github/workflows/**", "file by file"),
        ("secrets/", "file by file"),
    ],
)
def test_a_grant_that_grants_nothing(pattern: str, words: str) -> None:
    """A planner who writes it means something."""
    config = {"gate": {"protected": ["secrets/"]}}
    (notice,) = report(task_file(ONE, paths=["src/", pattern]), config=config).notices
    assert pattern in notice.message and words in notice.message


@pytest.mark.parametrize("pattern", ["src/", "**/*.md", ".github/workflows/ci.yml", ".agents-of-ours/", "docs/", "s*/"])
def test_a_grant_that_grants_something(pattern: str) -> None:
    config = {"gate": {"protected": ["secrets/"]}}
    assert report(task_file(ONE, paths=[pattern]), config=config).notices == ()


@pytest.mark.parametrize(
    ("gate", "words"),
    [({"hotfix": True}, "nobody is an operator"), ({"signatures": "required"}, "fails every implementation")],
)
def test_a_setting_that_is_hardly_meant(gate: dict[str, object], words: str) -> None:
    (notice,) = report(task_file(ONE), config={"gate": gate}).notices
    assert words in notice.message
    meant = {"hotfix": True, "operators": ["octo"], "signatures": "off"}
    assert report(task_file(ONE), config={"gate": meant}).notices == ()


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("src", "only 'src/' covers"),
        ("src/sub", "only 'src/sub/' covers"),
        ("src/a.py/", "'src/a.py' covers it"),
        ("src/a.py/**", "'src/a.py' covers it"),
        ("SRC/a.py", "here it is 'src'"),
        ("src/A.py", "here it is 'a.py'"),
        ("src/{a,b}.py", "braces stand for themselves"),
        ("src/", None),
        ("src/sub/**", None),
        ("src/a.py", None),
        ("src/*", None),
        ("src/new.py", None),
        ("new/folder/", None),
        ("src/{a}.py", None),
        ("lib", None),
    ],
)
def test_a_pattern_that_was_meant_to_be_another(pattern: str, words: str | None) -> None:
    """`lib` is a submodule here, as a working tree has it: a folder with a file `.git`."""
    there = {"src/a.py": "a", "src/sub/b.py": "b", "lib/.git": "gitdir: x", "lib/x": "x"}
    found = report(task_file(ONE, paths=[pattern]), more=there)
    assert [words is not None and words in one.message for one in found.notices] == ([True] if words else [])
    # What is protected is so in any case.
    in_any_case = None if words is not None and "here it is" in words else words
    settings: list[tuple[dict[str, object], str | None]] = [
        ({"exempt": [{"login": "one", "paths": [pattern]}]}, words),
        ({"protected": [pattern]}, in_any_case),
    ]
    for setting, told in settings:
        notices = report(config={"gate": setting}, more=there).notices
        assert [told is not None and told in one.message for one in notices] == ([True] if told else [])


def test_a_folder_that_cannot_be_listed_is_no_doubt() -> None:
    class Closed(Files):
        def list(self, folder: str) -> tuple[Entry, ...] | None:
            if folder == "src":
                raise Undecided("unexpected", "src: Permission denied")
            return super().list(folder)

    files = {**board_files([task_file(ONE, paths=["src/a", "src/b/"])]), "src/a/x": "x", "src/b": "b"}
    assert check(Closed(files)).notices == ()
    assert len(check(Files(files)).notices) == 2


@pytest.mark.parametrize(
    ("gate", "words"),
    [
        ({"exempt": [{"login": "Dependabot", "paths": ["a"]}]}, "the app's is Dependabot[bot]"),
        ({"exempt": [{"login": "dependabot[bot]", "paths": ["a"]}]}, None),
        ({"exempt": [{"login": "one", "paths": ["a"]}, {"login": "One", "paths": ["b"]}]}, "only the first entry"),
        ({"exempt": [{"login": "one", "paths": [".github/"]}]}, "grants nothing"),
        ({"operators": ["one", {"login": "ONE", "id": 3}]}, "ONE is among `operators` again"),
        ({"operators": ["one", "two"]}, None),
    ],
)
def test_accounts_that_are_hardly_meant(gate: dict[str, object], words: str | None) -> None:
    found = [one.message for one in report(config={"gate": gate}).notices]
    assert [words is not None and words in one for one in found] == ([True] if words else [])


@pytest.mark.parametrize(
    ("tasks", "stone", "words"),
    [
        ([ONE], {"status": "integrating"}, "has no integration task"),
        ([ONE, THREE], {"status": "integrating", "integration": TWO}, f"nobody can claim {ONE}, which"),
        ([THREE], {"status": "integrating", "integration": TWO}, None),
        ([ONE, THREE], {"status": "active", "integration": TWO}, None),
        ([], {"status": "active", "integration": TWO}, "waits for nothing"),
        ([], {"status": "planned", "integration": TWO}, None),
    ],
)
def test_a_milestone_that_ends_too_soon_or_never(tasks: list[str], stone: dict[str, str], words: str | None) -> None:
    files = [task_file(ONE), task_file(TWO, kind="integration"), task_file(THREE, status="done")]
    found = report(*files, plan=1, manifest=[milestone("m1", tasks, **stone)])
    assert faults(found) == []
    of_manifest = [one.message for one in found.notices if one.path == MANIFEST]
    assert [words is not None and words in one for one in of_manifest] == ([True] if words else [])
