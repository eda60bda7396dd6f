from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.board import board_files, task_id
from tests.support.forked import Forked, ForkServer
from tests.support.git_wrapper import GitWrapper
from tests.support.repo import Repo, init
from tests.support.swarm import swarm

TASK = task_id(1)


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    with ForkServer() as serving:
        yield serving


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    here = init(tmp_path / "repo", board_files([TASK]))
    here.branch("work")
    return here


def test_it_is_the_same_command(server: ForkServer, repo: Repo) -> None:
    for args in (["claim", TASK], ["--json", "claim", TASK, "--agent", "a"], ["--help"], ["--json", "release", "x"]):
        forked, installed = server.run(repo, *args), swarm(repo, *args)
        assert (forked.code, forked.err) == (installed.code, installed.err)
        if args[0] != "--json":
            assert forked.out == installed.out
    assert server.run(repo, "--json", "claim", TASK, "--agent", "a", ok=True).json["already"]


def test_nothing_of_one_command_is_left_in_the_next(server: ForkServer, repo: Repo, tmp_path: Path) -> None:
    clock = tmp_path / "clock"
    clock.write_text("600")
    named = {"SWARM_AGENT": "a"}
    ahead = server.run(repo, "--json", "claim", TASK, env=named, clock=clock).json["claimedAt"]
    server.run(repo, "release", TASK, ok=True, clock=clock)
    assert server.run(repo, "claim", TASK).error_code == "agent-required"
    assert json.loads(swarm(repo, "--json", "log", TASK).out)["entries"][0]["claimedAt"] == ahead


def test_the_clock_is_read_each_time(server: ForkServer, repo: Repo, tmp_path: Path) -> None:
    clock = tmp_path / "clock"
    clock.write_text("0")
    first = server.run(repo, "--json", "claim", TASK, "--agent", "a", clock=clock).json
    clock.write_text("31")
    assert server.run(repo, "check", TASK, clock=clock).error_code == "claim-expired"
    clock.write_text("29")
    server.run(repo, "check", TASK, clock=clock, ok=True)
    assert first["remaining"] > 1700


def test_steps_are_told_and_one_can_be_the_last(server: ForkServer, repo: Repo, tmp_path: Path) -> None:
    events = tmp_path / "events"
    server.run(repo, "claim", TASK, "--agent", "a", events=events, ok=True)
    steps = [line.split(" ") for line in events.read_text().splitlines()]
    assert [step[0] for step in steps if "/swarm" in step[-1]] == ["os.mkdir", "open", "open", "open", "os.rename"]
    assert ["subprocess.Popen", "git", "update-ref"] in steps
    server.run(repo, "release", TASK, ok=True)
    last = next(number for number, step in enumerate(steps) if step[-1] == "update-ref")
    killed = server.run(repo, "claim", TASK, "--agent", "a", events=events, die_at=last)
    assert (killed.code, len(events.read_text().splitlines())) == (-signal.SIGKILL, last)
    assert repo.refs("refs/swarm/task-claims") == {}


def test_all_start_at_once_and_each_ends_as_it_does(server: ForkServer, repo: Repo) -> None:
    results = server.race([Forked(repo, ["claim", TASK, "--agent", "a"]), Forked(repo, ["bad"]), Forked(repo, ["-h"])])
    assert [result.code for result in results] == [0, 64, 0]


def test_it_waits_for_what_a_killed_command_left_running(server: ForkServer, repo: Repo, tmp_path: Path) -> None:
    wrapper = GitWrapper(tmp_path / "wrapper")
    wrapper.kill("before", "cat-file")
    assert server.run(repo, "claim", TASK, "--agent", "a", env=wrapper.env).code == -signal.SIGKILL
    assert not [call for call in wrapper.log if Path(f"/proc/{call.pid}").exists()]


def test_a_command_that_does_not_end_is_killed(server: ForkServer, repo: Repo, tmp_path: Path) -> None:
    wrapper = GitWrapper(tmp_path / "wrapper")
    wrapper.pause("before", "update-ref")
    command = Forked(repo, ["claim", TASK, "--agent", "a"], wrapper.env)
    assert [result.code for result in server.race([command], seconds=1)] == [-signal.SIGKILL]
    assert server.run(repo, "status").code == 0


def test_a_server_that_cannot_start_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "claims").mkdir()
    (tmp_path / "claims" / "__init__.py").write_text("raise RuntimeError('no such luck')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with ForkServer() as server, pytest.raises(AssertionError, match="no such luck"):
        server.run(tmp_path, "status")
