"""`swarm init` and `swarm add`: what they write reads back, is claimable, and never takes the place of anything."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from claims.board.config import History, parse_config
from claims.board.plan import MilestoneStatus, PlanStatus, parse_manifest, parse_plan
from claims.board.task import Classification, Priority, State, Task, parse_task
from claims.cli.main import COMMANDS
from gate.cli.main import COMMANDS as GATE_COMMANDS
from tests.e2e.scene import T1, T2, T3, Scene, alone, stage
from tests.support.board import STATES, board_files, manifest_file, milestone, plan_file, task_file, task_id, task_path
from tests.support.repo import Repo, clone, init, origin
from tests.support.swarm import Command, Result, race, swarm

MANIFEST = ".agents/manifest.yaml"


@pytest.fixture
def app(tmp_path: Path) -> Repo:
    """A repository without a board."""
    return init(tmp_path / "app", {"README": "mine\n", "src/a.py": "a\n"})


@pytest.fixture
def board(tmp_path: Path) -> Repo:
    """One with a plan, a milestone that is active and one that is not, and three tasks."""
    stones = [milestone("m1", [T1], integration=T3), milestone("m2", [], status="planned")]
    tasks = [task_file(T1), task_file(T2, status="done"), task_file(T3)]
    return init(tmp_path / "app", board_files(tasks, plan=1, manifest=stones))


def add(repo: Repo | Path, *args: str, ok: bool | None = True) -> Result:
    return swarm(repo, "add", *args, "--json", ok=ok)


def added(repo: Repo, *args: str) -> Task:
    """Add a task; it, as the strict reader reads it."""
    value = add(repo, *args).json
    data = (repo.path / value["path"]).read_bytes()
    task = parse_task(data, value["path"])
    assert task.id == value["task"]
    return task


def refused(repo: Repo, *args: str) -> dict[str, Any]:
    """Add what cannot be added; the error. Nothing was written."""
    before = repo.snapshot()
    told = add(repo, *args, ok=False)
    assert repo.snapshot() == before
    assert (told.out, told.code) == ("", told.error["exit"])
    return told.error


# init


def test_the_skeleton_is_what_the_strict_readers_read(app: Repo) -> None:
    value = swarm(app, "init", "--json", ok=True).json
    files = {path: (app.path / path).read_bytes() for path in value["written"]}
    assert set(files) == {name for name in app.snapshot().files if name.startswith(".agents/")}
    config = parse_config(files[".agents/swarm.yaml"])
    assert (config.gate.history, config.retention_days, config.lease_minutes) == (History.SQUASH, 30, 30)
    plan = parse_plan(files[".agents/plan.md"])
    assert (plan.revision, plan.status) == (1, PlanStatus.APPROVED)
    manifest = parse_manifest(files[MANIFEST])
    assert manifest.plan_revision == 1
    (stone,) = manifest.milestones
    assert (stone.id, stone.status, stone.tasks) == ("m1", MilestoneStatus.ACTIVE, ())
    assert {f".agents/tasks/{state}/.gitkeep" for state in STATES} <= set(files)
    (example,) = [path for path in files if path.startswith(".agents/backlog/T-")]
    assert parse_task(files[example], example).state is State.BACKLOG
    assert (value["kept"], value["warnings"]) == ([], [])
    programs = {"git": ["add"], "swarm": [*COMMANDS], "swarm-gate": [*GATE_COMMANDS]}
    said = [step.split()[:2] for step in value["next"]]
    assert [(program, command) for program, command in said if command not in programs[program]] == []
    assert ["swarm", "add"] in said


def test_but_for_one_key_the_configuration_holds_the_defaults(app: Repo) -> None:
    swarm(app, "init", ok=True)
    text = (app.path / ".agents/swarm.yaml").read_text()
    assert text.count("\n  history: squash\n") == 1
    assert parse_config(text.replace("\n  history: squash\n", "\n").encode()) == parse_config(b"")
    uncommented = text.replace("# wip:", "wip:").replace("#   im", "  im").replace("#   in", "  in")
    assert len(parse_config(uncommented.encode()).wip) == 2


def test_people_are_told_what_was_written_and_what_is_next(app: Repo) -> None:
    said = swarm(app, "init", ok=True).out
    assert "wrote  .agents/swarm.yaml\n" in said
    assert "next:\n  git add .agents && git commit" in said
    assert "swarm add TITLE" in said
    assert app.git("status", "--porcelain") == "?? .agents/"


def test_it_never_overwrites(app: Repo) -> None:
    first = swarm(app, "init", "--json", ok=True).json
    (app.path / ".agents/swarm.yaml").write_text("retention_days: 1\n")
    (app.path / ".agents/tasks/done/.gitkeep").unlink()
    before = app.snapshot().files
    again = swarm(app, "init", "--json", ok=True).json
    assert again["written"] == [".agents/tasks/done/.gitkeep"]
    assert set(again["kept"]) == {path for path in first["written"] if "/T-" not in path} - set(again["written"])
    assert {path: data for path, data in app.snapshot().files.items() if path in before} == before


def test_two_at_once_write_it_once(app: Repo) -> None:
    results = race([Command(app, ["init", "--json"])] * 3)
    assert sorted(bool(result.json["written"]) for result in results) == [False, False, True]
    assert swarm(app, "init", "--json", ok=True).json["written"] == []
    assert [name for name in app.snapshot().files if name.endswith(".tmp")] == []


@pytest.mark.parametrize(("there", "text"), [("plan.md", plan_file(7)), ("manifest.yaml", manifest_file([], 7))])
def test_plan_and_manifest_agree_where_one_was_there(there: str, text: str, app: Repo) -> None:
    (app.path / ".agents").mkdir()
    (app.path / ".agents" / there).write_text(text)
    swarm(app, "init", ok=True)
    assert (app.path / ".agents" / there).read_text() == text
    assert parse_plan((app.path / ".agents/plan.md").read_bytes()).revision == 7
    assert parse_manifest((app.path / MANIFEST).read_bytes()).plan_revision == 7


def test_a_board_with_tasks_gets_no_example(board: Repo) -> None:
    value = swarm(board, "init", "--json", ok=True).json
    assert [path for path in value["written"] if "/T-" in path] == []


@pytest.mark.parametrize("what", ["link", "file"])
def test_it_writes_through_no_link_and_into_no_file(what: str, app: Repo, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    folder = app.path / ".agents"
    if what == "link":
        folder.symlink_to(elsewhere)
    else:
        folder.write_text("mine")
    told = swarm(app, "init", "--json", ok=False)
    assert (told.code, told.error_code) == (3, "unexpected")
    assert list(elsewhere.iterdir()) == []
    folder.unlink()
    swarm(app, "init", ok=True)


def test_a_link_that_leads_nowhere_is_there(app: Repo, tmp_path: Path) -> None:
    (app.path / ".agents").mkdir()
    (app.path / ".agents/swarm.yaml").symlink_to(tmp_path / "nowhere")
    assert ".agents/swarm.yaml" in swarm(app, "init", "--json", ok=True).json["kept"]
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_leaves_nothing(app: Repo) -> None:
    app.path.chmod(0o500)
    told = swarm(app, "init", "--json", ok=False)
    app.path.chmod(0o700)
    assert (told.code, told.error_code) == (3, "unexpected")


def test_where_there_is_no_working_tree(tmp_path: Path) -> None:
    bare = origin(tmp_path / "bare.git")
    for where in (tmp_path, bare.path):
        for args in (["init"], ["add", "T", "--path", "a"]):
            told = swarm(where, *args, "--json", ok=False)
            assert (told.code, told.error_code) == (3, "not-a-repository")
    fresh = Repo(tmp_path / "fresh")
    fresh.path.mkdir()
    fresh.git("init", "-q")
    swarm(fresh, "init", ok=True)


def test_it_works_on_the_whole_tree_from_a_folder_below(app: Repo) -> None:
    swarm(app.path / "src", "init", ok=True)
    assert (app.path / ".agents/plan.md").exists()
    swarm(app.path, "-C", "src", "add", "One", "--path", "src/", ok=True)
    assert len(list((app.path / ".agents/tasks/queued").glob("T-*"))) == 1


@pytest.mark.parametrize("kind", ["local", "remote"])
def test_from_nothing_to_a_claim(kind: str, tmp_path: Path) -> None:
    files = {"README": "mine\n"}
    bare = origin(tmp_path / "origin.git", files) if kind == "remote" else None
    here = clone(bare, tmp_path / "here") if bare else init(tmp_path / "here", files)
    swarm(here, "init", ok=True)
    here.git("add", ".agents")
    here.git("commit", "-qm", "Board")
    task = add(here, "Say hello", "--path", "hello.txt", "--milestone", "m1").json["task"]
    here.git("add", ".agents")
    here.git("commit", "-qm", "Task")
    if bare:
        here.git("push", "-q", "origin", "main")
    here.branch("work")
    assert swarm(here, "tasks", "--ready", ok=True).out == f"{task}  p2  Say hello\n"
    assert swarm(here, "claim", task, "--agent", "a1", "--json", ok=True).json["planRevision"] == 1


# add


def test_a_task_with_everything(board: Repo) -> None:
    arguments = ["--path", "src/", "--path", "tests/**/test_*.py", "--lock", "a:b", "--lock", "c", "--depends-on", T2]
    task = added(board, "Fix: it, \"now\" 'no' #1", *arguments, "--class", "bug-fix", "--priority", "p0")
    assert task.title == "Fix: it, \"now\" 'no' #1"
    assert [pattern.text for pattern in task.authority.patterns] == ["src/", "tests/**/test_*.py"]
    assert (task.locks, task.depends_on) == (("a:b", "c"), (T2,))
    assert (task.classification, task.priority) == (Classification.BUG_FIX, Priority.P0)
    assert task.path == f".agents/tasks/queued/{task.id}.md"


def test_what_is_not_said_has_its_default(board: Repo) -> None:
    days = {f"{datetime.now(timezone.utc):%Y%m%d}"}
    task = added(board, "Small", "--path", "a")
    days.add(f"{datetime.now(timezone.utc):%Y%m%d}")
    assert task.id[2:10] in days
    assert (task.classification, task.priority, task.state) == (Classification.FEATURE, Priority.P2, State.QUEUED)
    assert (task.locks, task.depends_on, task.body) == ((), (), "")


def test_people_get_the_path_and_nothing_else_on_stdout(board: Repo) -> None:
    said = swarm(board, "add", "Small", "--path", "a", "--milestone", "m1", ok=True)
    (path,) = [line[3:] for line in board.git("status", "--porcelain").splitlines() if line.startswith("??")]
    assert (said.out, said.err) == (f"{path}\n", "")
    assert board.git("diff", "--cached", "--name-only") == ""


def test_the_backlog(board: Repo) -> None:
    value = add(board, "Later", "--path", "a", "--backlog").json
    assert value["path"] == f".agents/backlog/{value['task']}.md"
    assert value["warnings"] == []
    assert refused(board, "Later", "--path", "a", "--backlog", "--milestone", "m1")["code"] == "usage"


def test_the_milestone_lists_it_and_the_file_keeps_its_comments(board: Repo) -> None:
    text = "# ours\nplan_revision: 1\nmilestones:\n  - id: m1   # the first\n    title: One\n    status: active\n"
    text += f"    tasks:\n      - {T1}   # begun\n"
    path = board.path / MANIFEST
    path.write_text(text)
    path.chmod(0o640)
    value = add(board, "New", "--path", "a", "--milestone", "m1").json
    assert path.read_text() == f"{text}      - {value['task']}\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert value["warnings"] == []


def test_it_says_what_keeps_it_from_being_claimed(board: Repo) -> None:
    board.commit({task_path(task_file(task_id(8), status="failed")): task_file(task_id(8), status="failed")})
    rows: list[tuple[Sequence[str], list[str]]] = [
        ((), ["not-in-milestone"]),
        (("--milestone", "m2"), ["milestone-not-active"]),
        (("--milestone", "m1", "--depends-on", task_id(8)), ["dependency-open"]),
        (("--milestone", "m1", "--path", ".github/"), ["protected"]),
        (("--milestone", "m1", "--path", ".github/workflows/*.yml"), ["protected"]),
        (("--milestone", "m1", "--path", ".github/workflows/ci.yml"), []),
        (("--milestone", "m1"), []),
    ]
    for more, codes in rows:
        warnings = add(board, "New", "--path", "a", *more).json["warnings"]
        assert [warning["code"] for warning in warnings] == codes, more
    said = swarm(board, "add", "New", "--path", "a", ok=True).err
    assert "warning[not-in-milestone]" in said and "--milestone m1" in said


def test_without_a_plan_nothing_is_missing(tmp_path: Path) -> None:
    scene = alone(tmp_path)
    assert add(scene.here, "New", "--path", "a").json["warnings"] == []
    bare = init(tmp_path / "empty", {})
    assert [one["code"] for one in add(bare, "New", "--path", "a").json["warnings"]] == ["board-incomplete"]


def test_a_dependency_may_be_shortened(board: Repo) -> None:
    assert added(board, "New", "--path", "a", "--depends-on", "00000002").depends_on == (T2,)
    assert refused(board, "New", "--path", "a", "--depends-on", "0000")["code"] == "ambiguous-id"


WRONG = [
    (["", "--path", "a"], "usage"),
    ([" ", "--path", "a"], "usage"),
    (["two\nlines", "--path", "a"], "usage"),
    (["bell\x07", "--path", "a"], "usage"),
    (["next\u2028line", "--path", "a"], "usage"),
    (["x" * 20_000, "--path", "a"], "usage"),
    (["T"], "usage"),
    (["--path", "a"], "usage"),
    (["T", "--path", ""], "usage"),
    (["T", "--path", "/abs"], "usage"),
    (["T", "--path", "../up"], "usage"),
    (["T", "--path", "a//b"], "usage"),
    (["T", "--path", "!a"], "usage"),
    (["T", "--path", "a**b"], "usage"),
    (["T", "--path", "*"], "usage"),
    (["T", "--path", "a\\b"], "usage"),
    (["T", "--path", ".agents/tasks/"], "usage"),
    (["T", "--path", ".Agents/*"], "usage"),
    (["T", *[word for n in range(201) for word in ("--path", f"p{n}")]], "usage"),
    (["T", "--path", "a", "--lock", "with blank"], "usage"),
    (["T", "--path", "a", "--lock", "x" * 121], "usage"),
    (["T", "--path", "a", "--class", "chore"], "usage"),
    (["T", "--path", "a", "--priority", "p9"], "usage"),
    (["T", "--path", "a", "--milestone", "m9"], "usage"),
    (["T", "--path", "a", "--depends-on", "nope"], "usage"),
    (["T", "--path", "a", "--depends-on", task_id(99)], "unknown-dependency"),
    (["T", "--path", "a", "--depends-on", "abcdef01"], "unknown-dependency"),
]


@pytest.mark.parametrize(("args", "code"), WRONG, ids=[repr(args)[:50] for args, _ in WRONG])
def test_what_a_task_cannot_be(args: list[str], code: str, board: Repo) -> None:
    assert refused(board, *args)["code"] == code


RIGHT = [
    'a "quoted" title: with # and %',
    "> --- *&!|>{}[],`@",
    "no",
    "12e4",
    "2026-08-14",
    "~",
    "Ünïcödé 文字 🎉",
    " blank at the ends ",
    "$(rm -rf /) `id` ; \\n",
    "\u202eevil",
]


@pytest.mark.parametrize("title", RIGHT)
def test_a_title_comes_back_as_it_was_typed(title: str, board: Repo) -> None:
    task = added(board, title, "--path", "a", "--milestone", "m1")
    assert task.title == title
    board.git("add", ".agents")
    board.git("commit", "-qm", "Task")
    board.branch("work")
    swarm(board, "claim", task.id, "--agent", "a1", ok=True)


def test_a_title_that_is_not_utf_8(board: Repo) -> None:
    assert refused(board, os.fsdecode(b"caf\xe9"), "--path", "a")["code"] == "usage"
    assert refused(board, "T", "--path", os.fsdecode(b"caf\xe9"))["code"] == "usage"


def test_a_cycle_through_a_milestones_integration_task(board: Repo) -> None:
    """The integration task waits for every task of its milestone; so would the new one for itself."""
    error = refused(board, "New", "--path", "a", "--depends-on", T3, "--milestone", "m1")
    assert error["code"] == "dependency-cycle"
    assert T3 in error["details"]["cycle"]
    assert added(board, "New", "--path", "a", "--depends-on", T3).depends_on == (T3,)


def test_a_cycle_over_several_tasks(board: Repo) -> None:
    middle, last = task_id(5), task_id(6)
    board.commit(
        {task_path(middle): task_file(middle, depends_on=[last]), task_path(last): task_file(last, depends_on=[T3])}
    )
    error = refused(board, "New", "--path", "a", "--depends-on", middle, "--milestone", "m1")
    assert error["code"] == "dependency-cycle"
    assert set(error["details"]["cycle"]) > {middle, last, T3}
    assert " waits for " in error["message"]
    add(board, "New", "--path", "a", "--depends-on", middle)


def test_a_cycle_that_is_there_already(board: Repo) -> None:
    one, two = task_id(5), task_id(6)
    board.commit({task_path(one): task_file(one, depends_on=[two]), task_path(two): task_file(two, depends_on=[one])})
    error = refused(board, "New", "--path", "a", "--depends-on", one)
    assert (error["code"], error["details"]["cycle"]) == ("dependency-cycle", [one, two])
    add(board, "New", "--path", "a")


def test_files_that_it_needs_have_to_read(board: Repo) -> None:
    board.commit({task_path(T1): "junk"})
    assert refused(board, "New", "--path", "a", "--depends-on", T1)["code"] == "malformed-task"
    assert added(board, "New", "--path", "a", "--depends-on", T2).depends_on == (T2,)
    board.commit({MANIFEST: "milestones: 1\n"})
    assert refused(board, "New", "--path", "a", "--milestone", "m1")["code"] == "malformed-manifest"


def test_a_manifest_that_is_a_link_is_left_alone(board: Repo, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.yaml"
    (board.path / MANIFEST).rename(elsewhere)
    (board.path / MANIFEST).symlink_to(elsewhere)
    before = elsewhere.read_bytes()
    assert add(board, "New", "--path", "a", "--milestone", "m1", ok=False).error_code == "malformed-manifest"
    assert elsewhere.read_bytes() == before


def test_a_folder_that_is_a_link_is_not_written_through(board: Repo, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (board.path / ".agents/tasks/queued").rename(elsewhere)
    (board.path / ".agents/tasks/queued").symlink_to(elsewhere)
    before = sorted(path.name for path in elsewhere.iterdir())
    told = add(board, "New", "--path", "a", "--milestone", "m1", ok=False)
    assert (told.code, told.error_code) == (3, "unexpected")
    assert sorted(path.name for path in elsewhere.iterdir()) == before


def test_several_at_once_each_have_their_own(board: Repo) -> None:
    line = ["add", "Task", "--path", "a", "--milestone", "m1", "--json"]
    tasks = {result.json["task"] for result in race([Command(board, line)] * 5)}
    assert len(tasks) == 5
    assert {path.stem for path in (board.path / ".agents/tasks/queued").glob("T-*")} == tasks | {T1, T3}
    assert set(parse_manifest((board.path / MANIFEST).read_bytes()).milestones[0].tasks) == tasks | {T1}


def test_it_reads_the_working_tree_and_asks_no_remote(tmp_path: Path) -> None:
    scene: Scene = stage(tmp_path)
    scene.here.git("remote", "set-url", "origin", "file:///nowhere")
    (scene.here.path / task_path(task_id(7))).write_text(task_file(task_id(7)))
    assert added(scene.here, "New", "--path", "a", "--depends-on", task_id(7)).depends_on == (task_id(7),)


@pytest.mark.parametrize("command", ["init", "add", "tasks", "show", "log", "prune"])
def test_the_help_teaches_with_an_example(command: str, tmp_path: Path) -> None:
    assert f"\n    swarm {command}" in swarm(tmp_path, command, "--help", ok=True).out
