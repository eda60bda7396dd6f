from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.support import script, torn
from tests.support.git_wrapper import GitWrapper
from tests.support.repo import Repo, init
from tests.support.swarm import Result, start
from tests.support.wrapped_git import parse_transaction

#: Runs git for each line of its arguments, with stdin for the last; exits as the first that fails, saying how many ran.
CALLER = f"""{script.head()}import subprocess, sys
data = sys.stdin.buffer.read()
for number, line in enumerate(sys.argv[1:], 1):
    last = number == len(sys.argv) - 1
    done = subprocess.run(["git", *line.split()], input=data if last else b"")
    print("ran", number, done.returncode, flush=True)
    if done.returncode:
        sys.exit(done.returncode)
"""


@pytest.fixture
def wrapper(tmp_path: Path) -> GitWrapper:
    return GitWrapper(tmp_path / "wrapper")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return init(tmp_path / "repo", {})


@pytest.fixture
def caller(tmp_path: Path) -> Path:
    path = tmp_path / "caller"
    path.write_text(CALLER)
    path.chmod(0o755)
    return path


def _call(caller: Path, repo: Repo, wrapper: GitWrapper, *lines: str, input: str | None = None) -> Result:
    with start(repo, *lines, env=wrapper.env, input=input, program=caller) as running:
        return running.wait()


def test_it_is_git_and_writes_down_each_call(wrapper: GitWrapper, repo: Repo) -> None:
    argv = ["-c", "a.b=two\nlines", "config", "--get", "a.b"]
    done = subprocess.run(["git", *argv], cwd=repo.path, env={**os.environ, **wrapper.env}, capture_output=True)
    assert done.stdout == b"two\nlines\n"
    (call,) = wrapper.log
    assert (call.argv, call.ppid) == (argv, os.getpid())


@pytest.mark.parametrize(("when", "landed"), [("before", False), ("after", True)])
def test_killing_the_caller(wrapper: GitWrapper, repo: Repo, caller: Path, when: str, landed: bool) -> None:
    wrapper.kill("after" if when == "after" else "before", "update-ref", nth=2)
    lines = [f"update-ref refs/x/{number} HEAD" for number in (1, 2, 3)]
    result = _call(caller, repo, wrapper, "version", *lines)
    assert (result.code, result.out.count("ran")) == (-signal.SIGKILL, 2)
    assert list(repo.refs("refs/x/")) == ["refs/x/1", *(["refs/x/2"] if landed else [])]
    assert _call(caller, repo, wrapper, *lines).code == 0


@pytest.mark.parametrize("landed", [False, True])
def test_failing(wrapper: GitWrapper, repo: Repo, caller: Path, landed: bool) -> None:
    wrapper.fail(128, "fatal: no\n", nth=2, when="after" if landed else "before")
    result = _call(caller, repo, wrapper, "version", "update-ref refs/x/1 HEAD", "version")
    assert (result.code, result.err) == (128, "fatal: no\n")
    assert len(repo.refs("refs/x/")) == landed


@pytest.mark.parametrize("landed", [False, True])
def test_pausing(wrapper: GitWrapper, repo: Repo, caller: Path, landed: bool) -> None:
    pause = wrapper.pause("after" if landed else "before", "update-ref")
    with start(repo, "version", "update-ref refs/x/1 HEAD", env=wrapper.env, program=caller) as running:
        pause.wait()
        assert (len(repo.refs("refs/x/")), running.ended) == (landed, False)
        pause.resume()
        assert running.wait().code == 0
    assert len(repo.refs("refs/x/")) == 1


def test_a_pause_is_bounded(wrapper: GitWrapper, repo: Repo, caller: Path) -> None:
    pause = wrapper.pause("before", "version", seconds=0)
    assert _call(caller, repo, wrapper, "version").code == 97
    pause.wait(0)


def test_another_version(wrapper: GitWrapper, repo: Repo, caller: Path) -> None:
    wrapper.version("2.30.0")
    result = _call(caller, repo, wrapper, "version", "--version")
    assert result.out.count("git version 2.30.0\n") == 2
    wrapper.clear()
    assert "2.30.0" not in _call(caller, repo, wrapper, "version").out
    assert len(wrapper.log) == 1


def _transaction(repo: Repo, old: str = "") -> str:
    """Creates b and a, moves c, deletes d."""
    head = repo.oid("HEAD")
    assert head is not None
    zero = "0" * len(head)
    edits = (f"create refs/x/b\0{head}\0", f"delete refs/x/d\0{head}\0", f"create refs/x/a\0{head}\0")
    return f"start\0{''.join(edits)}option no-deref\0update refs/x/c\0{head}\0{old or zero}\0prepare\0commit\0"


@pytest.mark.parametrize(
    ("edits", "left"), [(0, "d"), (1, "bd"), (2, "abd"), (3, "abcd"), (4, "abc")]
)  # deletes come last, whatever the order of the script
def test_tearing_a_transaction(wrapper: GitWrapper, repo: Repo, caller: Path, edits: int, left: str) -> None:
    repo.git("update-ref", "refs/x/d", "HEAD")
    wrapper.tear(edits)
    result = _call(caller, repo, wrapper, "update-ref --stdin -z", input=_transaction(repo))
    assert (result.code, "".join(ref[-1] for ref in repo.refs("refs/x/"))) == (-signal.SIGKILL, left)
    assert not repo.locks()


def test_tearing_kills_git_itself_where_asked(wrapper: GitWrapper, repo: Repo, caller: Path) -> None:
    repo.git("update-ref", "refs/x/d", "HEAD")
    wrapper.tear(1, kill="git")
    result = _call(caller, repo, wrapper, "update-ref --stdin -z", input=_transaction(repo))
    assert "ran 1 -9\n" in result.out
    assert len(repo.refs("refs/x/")) == 2


def test_a_refused_transaction_is_refused_not_torn(wrapper: GitWrapper, repo: Repo, caller: Path) -> None:
    repo.git("update-ref", "refs/x/d", "HEAD")
    before = repo.snapshot()
    wrapper.tear(1)
    script = _transaction(repo, old=repo.blob("another"))
    assert _call(caller, repo, wrapper, "update-ref --stdin -z", input=script).code == 128
    assert repo.snapshot() == before


def test_reading_a_transaction() -> None:
    script = b"start\0verify refs/v\0\0update refs/u\0new\0\0option no-deref\0delete refs/d\0\0commit\0"
    assert parse_transaction(script) == [
        b"verify refs/v\0\0update refs/u\0new\0\0",
        b"option no-deref\0delete refs/d\0\0",
    ]
    for bad in (b"start", b"symref-create refs/s\0refs/t\0"):
        with pytest.raises(ValueError, match=r"transaction|not a command"):
            parse_transaction(bad)


@torn.needs_strace
def test_git_under_another_program(wrapper: GitWrapper, repo: Repo, caller: Path) -> None:
    repo.git("update-ref", "refs/x/d", "HEAD")
    wrapper.under(torn.killed_at(2), "update-ref")
    result = _call(caller, repo, wrapper, "update-ref --stdin -z", input=_transaction(repo))
    assert "ran 1 -9\n" in result.out
    assert list(repo.refs("refs/x/")) == ["refs/x/b", "refs/x/d"]
    assert {path.name for path in repo.locks()} >= {"a.lock", "c.lock", "d.lock"}
