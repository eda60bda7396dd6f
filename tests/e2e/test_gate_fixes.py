"""What findings propose can be pasted: a shell that runs the commands as they stand leaves a branch that passes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.board import board_files, moved, task_file, task_id
from tests.support.repo import Repo, clone, origin
from tests.support.swarm import SWARM, environment, swarm, swarm_gate

TASK = task_id(1)
QUEUED, DONE = f".agents/tasks/queued/{TASK}.md", f".agents/tasks/done/{TASK}.md"
FILE = task_file(TASK, paths=["src/"])
JUDGE = ("pr", "--base", "origin/main", "--head", "HEAD")

#: Names that a shell, a pathspec or an option parser would take for something else.
NAMES = [
    "plain",
    "two words",
    "$(touch owned)",
    "it's",
    "-f",
    "*",
    ":(top)x",
    "back\\slash",
    "new\nline",
    "\x1b[2J",
    "é",
]


@pytest.fixture
def work(tmp_path: Path) -> Repo:
    """A clone on the branch of a claim, with the work in it."""
    files = board_files(tasks=[FILE]) | {"docs/there.md": "there\n", "src/old.py": "old\n"}
    repo = clone(origin(tmp_path / "origin.git", files), tmp_path / "work")
    repo.branch("agent/one", "origin/main")
    swarm(repo, "claim", TASK, "--agent", "one", ok=True)
    repo.commit({"src/work.py": "print('done')\n"}, "Work")
    return repo


def finished(repo: Repo) -> None:
    repo.commit(moved(FILE, "done"), "Finish")


def outside(repo: Repo) -> None:
    finished(repo)
    repo.commit({f"x/{name}": "outside\n" for name in NAMES} | dict.fromkeys(NAMES, "outside\n"), "Add")


def edited_and_removed(repo: Repo) -> None:
    finished(repo)
    repo.commit({"docs/there.md": None, ".agents/tasks/failed/.gitkeep": "x\n"}, "Remove and edit")


def touched_on_the_way(repo: Repo) -> None:
    finished(repo)
    repo.commit({"docs/x.md": "for a moment\n"}, "Touch")
    repo.commit({"docs/x.md": None}, "Restore")


def widened(repo: Repo) -> None:
    repo.commit(moved(FILE.replace("- src/", "- src/\n    - docs/"), "done"), "Widen")


def rewritten(repo: Repo) -> None:
    repo.commit(moved(FILE.replace("A task", "Another task").replace("What is", "Whatever is"), "done"), "Rewrite")


def not_said_to_be_done(repo: Repo) -> None:
    repo.git("mv", QUEUED, DONE)
    repo.commit({}, "Move")


def in_both(repo: Repo) -> None:
    repo.commit({DONE: moved(FILE, "done")[DONE]}, "Copy")


def in_neither(repo: Repo) -> None:
    repo.commit({QUEUED: None}, "Remove")


def executable(repo: Repo) -> None:
    finished(repo)
    (repo.path / DONE).chmod(0o755)
    repo.git("commit", "-q", "-a", "-m", "Make it run")


def a_link(repo: Repo) -> None:
    finished(repo)
    (repo.path / DONE).unlink()
    (repo.path / DONE).symlink_to("../../../src/work.py")
    (repo.path / "src" / "link").symlink_to("/etc/passwd")
    repo.git("add", "--all")
    repo.git("commit", "-q", "-m", "Link")


def on_another_branch(repo: Repo) -> None:
    finished(repo)
    repo.branch("agent/two")


def claimed_after_the_work(repo: Repo) -> None:
    finished(repo)
    swarm(repo, "release", TASK, ok=True)
    repo.branch("agent/two")
    swarm(repo, "claim", TASK, "--agent", "one", ok=True)


def never_claimed(repo: Repo) -> None:
    finished(repo)
    swarm(repo, "release", TASK, ok=True)
    repo.branch("agent/it's$two")


def on_an_older_board(repo: Repo) -> None:
    """Base has changed the task since it was claimed; the branch has merged that."""
    changed = FILE.replace("- src/", "- src/\n    - lib/")
    other = clone(repo.path.parent / "origin.git", repo.path.parent / "other")
    other.commit({QUEUED: changed}, "Change the task")
    other.git("push", "-q", "origin", "main")
    repo.git("fetch", "-q")
    repo.git("merge", "-q", "origin/main")
    repo.commit(moved(changed, "done"), "Finish")


MOVES = [
    *(outside, edited_and_removed, touched_on_the_way, widened, rewritten, not_said_to_be_done, in_both, in_neither),
    *(executable, a_link, on_another_branch, claimed_after_the_work, never_claimed, on_an_older_board),
]


@pytest.mark.parametrize("move", MOVES, ids=lambda move: move.__name__)
def test_the_commands_mend_what_was_found(work: Repo, move: Callable[[Repo], None]) -> None:
    move(work)
    first = swarm_gate(work, *JUDGE, "--json")
    assert (first.code, first.json["verdict"]) == (1, "fail")
    for _ in range(3):
        findings = swarm_gate(work, *JUDGE, "--json").json["findings"]
        for fix in dict.fromkeys(finding["fix"] for finding in findings if "fix" in finding):
            pasted(work, fix)
        work.git("commit", "-q", "--allow-empty", "-m", "Mend")
        last = swarm_gate(work, *JUDGE)
        if last.code == 0:
            break
    assert last.code == 0, last
    assert not (work.path / "owned").exists()


def test_claiming_afresh_needs_no_name_but_that_of_the_claim(work: Repo) -> None:
    claimed_after_the_work(work)
    (finding,) = swarm_gate(work, *JUDGE, "--json").json["findings"]
    pasted(work, finding["fix"], SWARM_AGENT="")
    last = swarm_gate(work, *JUDGE)
    assert last.code == 0, last


def pasted(repo: Repo, command: str, **more: str) -> None:
    """Run a command in bash as an agent would, which has no terminal and no editor."""
    path = f"{SWARM.parent}{os.pathsep}{os.environ['PATH']}"
    env = {"PATH": path, "SWARM_AGENT": "one", "GIT_EDITOR": "false", **more}
    if command.startswith(("git mv -- ", "swarm show ")) and (
        "NEW-NAME" in command or command.startswith("swarm show")
    ):
        return  # for somebody to think about, or to look at
    done = subprocess.run(
        ["bash", "-c", command], cwd=repo.path, env=environment(env), capture_output=True, timeout=60, check=False
    )
    gone = b"did not match any files" in done.stderr  # another finding's command has removed it
    assert done.returncode == 0 or gone, (command, done.stdout, done.stderr)
