"""How commands behave among others: options anywhere, pipes that close, signals, colour, the shapes of their JSON."""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.scene import CLAIM, LOCK, T1, T2, T3, Scene, alone, stage
from tests.support.board import task_path
from tests.support.git_wrapper import GitWrapper
from tests.support.swarm import SWARM, environment, start, swarm

INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
#: What every command that acts on one claim tells of it.
CLAIM_MEMBERS = {
    "task",
    "agent",
    "branch",
    "baseCommit",
    "branchCommit",
    "claimedAt",
    "expiresAt",
    "locks",
    "planRevision",
    "state",
    "remaining",
    "ref",
    "published",
    "warnings",
}


def test_no_command_prints_the_help_and_exits_64(tmp_path: Path) -> None:
    said = swarm(tmp_path)
    assert (said.code, said.err) == (64, "")
    assert said.out == swarm(tmp_path, "--help", ok=True).out


@pytest.mark.parametrize("words", [["-h"], ["--version"], ["claim", "-h"], ["claim", "--help"]])
def test_help_needs_no_repository_and_no_git(words: list[str], tmp_path: Path) -> None:
    assert swarm(tmp_path, *words, env={"PATH": str(tmp_path)}, ok=True).out


@pytest.mark.parametrize(
    "line",
    [
        "-C here --base main --json claim 00000001",
        "claim -C here --base main --json 00000001",
        "claim 00000001 --json --base=main -Chere",
        "--json -C nowhere --base nowhere claim --base main 00000001 -C here",
        "--json claim 00000001 --remote nowhere -C here --remote origin",
    ],
)
def test_options_stand_before_or_after_the_command(line: str, tmp_path: Path) -> None:
    """Where one stands twice, the later counts."""
    scene = stage(tmp_path)
    told = swarm(tmp_path, *line.split(), env=scene.env, ok=True)
    assert (told.json["agent"], told.json["task"]) == ("a1", T1)


def test_a_directory_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for name in ("nowhere", "file"):
        told = swarm(tmp_path, "-C", name, "status", "--json")
        assert (told.code, told.error_code) == (3, "not-a-repository")


def test_quiet_prints_nothing_where_it_worked(tmp_path: Path) -> None:
    scene = stage(tmp_path)
    scene.forge(T3)
    scene.arbiter.git("update-ref", "-d", CLAIM + T3)
    scene.here.commit({"src/a.py": "before the claim\n"})
    for line in (f"claim {T1}", "check", "status", "renew", "release", "reap"):
        said = scene.run(f"--quiet {line}", ok=True)
        assert (said.out, said.err) == ("", ""), line
    assert scene.run(f"claim --quiet {T1}0").err.startswith("error[usage]: ")
    assert scene.run("check --quiet").error_code == "claim-not-found"
    assert json.loads(scene.run("status --quiet --json", ok=True).out)["agent"] == "a1"


def piped(scene: Scene, line: str, **files: Any) -> subprocess.CompletedProcess[bytes]:
    """Run a command with descriptors of one's own."""
    argv: Sequence[str] = [str(SWARM), *shlex.split(line)]
    return subprocess.run(argv, cwd=scene.here.path, env=environment(scene.env), timeout=60, check=False, **files)


@pytest.mark.parametrize("line", [f"claim {T1}", f"claim {T1} --json", "status", "--help", "status --json"])
def test_a_pipe_that_nobody_reads_is_quiet(line: str, tmp_path: Path) -> None:
    scene = stage(tmp_path)
    reader, writer = os.pipe()
    os.close(reader)
    done = piped(scene, line, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (CLAIM + T1 in scene.arbiter.refs()) == line.startswith("claim")


@pytest.mark.parametrize("line", ["claim nope", "claim nope --json", f"claim {T1}"])
def test_errors_into_a_pipe_that_nobody_reads(line: str, tmp_path: Path) -> None:
    """They cannot be told; the exit status still is."""
    scene = stage(tmp_path)
    scene.forge(T1)
    reader, writer = os.pipe()
    os.close(reader)
    done = piped(scene, line, stdout=subprocess.PIPE, stderr=writer)
    os.close(writer)
    assert (done.returncode, done.stdout) == (64 if "nope" in line else 2, b"")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_descriptors_that_are_closed(closed: str, tmp_path: Path) -> None:
    scene = stage(tmp_path)
    for line in (f"claim {T1}", "status --json", "release"):
        script = f"exec {shlex.quote(str(SWARM))} {line} {closed}"
        done = subprocess.run(
            ["sh", "-c", script], cwd=scene.here.path, env=environment(scene.env), capture_output=True, timeout=60
        )
        assert (done.returncode, done.stderr) == (0, b""), line
        assert bool(done.stdout) == (">&-" not in closed.replace("2>&-", ""))


def test_a_full_disk_under_the_output(tmp_path: Path) -> None:
    """What was claimed stays claimed; that it could not be told is an error."""
    scene = stage(tmp_path)
    with open("/dev/full", "wb") as full:
        done = piped(scene, f"claim {T1} --json", stdout=full, stderr=subprocess.PIPE)
    error = json.loads(done.stderr)["error"]
    assert (done.returncode, error["code"], error["hint"].split("   #")[0]) == (3, "output-failed", "swarm status")
    assert "did what it was to do" in error["message"] and "No space left" in error["message"]
    assert scene.claims(f"claim {T1}")["already"]


@pytest.mark.parametrize("line", [f"claim {T1}", "status"])
def test_a_full_disk_is_told_to_people(line: str, tmp_path: Path) -> None:
    scene = stage(tmp_path)
    with open("/dev/full", "wb") as full:
        done = piped(scene, line, stdout=full, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr.startswith(b"error[output-failed]: ")) == (3, True), done.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_an_output_that_cannot_say_everything(encoding: str, tmp_path: Path) -> None:
    scene = stage(tmp_path)
    scene.here.git("branch", "-m", "größe-大小")
    for line in (f"claim {T1}", "status", "--help", f"claim {T2}"):
        said = scene.run(line, env={"PYTHONIOENCODING": encoding}, installed=True)
        assert said.code == (2 if T2 in line else 0), said


@pytest.mark.parametrize("word", ["fetch", "push"])
def test_an_interrupt_ends_with_130(word: str, tmp_path: Path) -> None:
    """At once, without a word; what was sent may have landed, and claiming again settles it."""
    scene = stage(tmp_path)
    wrapper = GitWrapper(tmp_path / "wrapper")
    pause = wrapper.pause("before", word)
    with start(scene.here, "claim", T1, env={**scene.env, **wrapper.env}) as running:
        pause.wait()
        running.signal(signal.SIGINT)
        ended = running.wait()
    assert (ended.code, ended.out, ended.err.strip()) == (130, "", "")
    assert scene.arbiter.refs() == {}
    scene.run(f"claim {T1}", ok=True)
    scene.run("check", ok=True)


COLOR = re.compile(r"\x1b\[")


@pytest.mark.parametrize(
    ("variables", "colored"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False), ({"NO_COLOR": ""}, True)],
)
def test_colour_is_for_terminals(variables: dict[str, str], colored: bool, tmp_path: Path) -> None:
    scene = stage(tmp_path)
    scene.forge(T1)
    scene.env.update({"TERM": "xterm", **variables})
    terminal, theirs = pty.openpty()
    done = piped(scene, f"claim {T1}", stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    said = os.read(terminal, 10_000).decode()
    os.close(terminal)
    assert (done.returncode, bool(COLOR.search(said))) == (2, colored)
    assert "claim-held" in said
    assert not COLOR.search(scene.run(f"claim {T1}").err)


def test_the_shape_of_one_claim(tmp_path: Path) -> None:
    scene = stage(tmp_path)
    claimed = scene.claims(f"claim {T1} --minutes 10 --repository 1296269")
    assert set(claimed) == {*CLAIM_MEMBERS, "repository"}
    assert (claimed["task"], claimed["agent"], claimed["branch"]) == (T1, "a1", "work")
    assert (claimed["locks"], claimed["planRevision"], claimed["repository"]) == ([LOCK], 0, 1296269)
    assert (claimed["state"], claimed["published"], claimed["ref"]) == ("active", True, CLAIM + T1)
    assert claimed["baseCommit"] == claimed["branchCommit"] == scene.arbiter.oid("main")
    assert INSTANT.fullmatch(claimed["claimedAt"]) and INSTANT.fullmatch(claimed["expiresAt"])
    assert 590 < claimed["remaining"] <= 600
    again = scene.claims(f"claim {T1}")
    assert again.pop("already") is True
    assert {**again, "remaining": 0} == {**claimed, "remaining": 0}
    for line, state in (("renew", "active"), ("check", "active"), ("renew --minutes 0", "expired")):
        told = scene.claims(line)
        assert (told["state"], {*told} - {"next", "repository"}) == (state, CLAIM_MEMBERS), line
    assert told["remaining"] <= 0
    assert scene.claims(f"steal {T1}")["state"] == "active"
    finished = scene.claims("release --done")
    assert finished["state"] == "finished"
    assert set(finished["closed"]) == {"at", "by", "outcome", "reason", "commit"}
    assert finished["next"][0].startswith("git mv ")
    assert scene.claims(f"reopen {T1} --reason why")["closed"]["reason"] == "why"


def test_nothing_secret_is_told(tmp_path: Path) -> None:
    scene = stage(tmp_path)
    for line in (f"claim {T1}", "renew", "check", "status", f"show {T1}", "tasks", "release", f"show {T1}"):
        token = scene.here.git_path(f"swarm/token-{T1}")
        secret = token.read_text().strip() if token.exists() else "no token"
        told = scene.run(f"{line} --json", ok=True)
        said = scene.run("status", ok=True)
        assert "tokenHash" not in told.out
        assert secret not in told.out + said.out


def test_the_shape_of_status(tmp_path: Path) -> None:
    scene = stage(tmp_path)
    scene.run(f"claim {T1}", ok=True)
    scene.forge(T2, minutes=-1)
    scene.forge(T3, locks=[])
    status = scene.claims("status")
    assert list(status) == [
        *("agent", "branch", "claim", "ahead", "behind", "base"),
        *("plan", "claims", "finished", "overlaps", "counts", "warnings"),
    ]
    assert [(claim["task"], claim["state"]) for claim in status["claims"]] == [
        (T1, "active"),
        (T2, "expired"),
        (T3, "active"),
    ]
    assert (status["claim"]["task"], status["ahead"], status["behind"], status["plan"]) == (T1, 0, 0, None)
    assert status["base"] == {"branch": "main", "commit": scene.arbiter.oid("main"), "remote": "origin"}
    assert [(it["task"], it["other"], it["paths"]) for it in status["overlaps"]] == [(T1, T3, ["src/b.py"])]
    assert status["counts"] == {"done": 0, "queued": 3, "blocked": 0, "failed": 0, "cancelled": 0, "backlog": 0}
    said = scene.run("status", ok=True).out
    assert f"{T2}  b1  other" in said and "EXPIRED" in said


def test_status_writes_nothing_but_the_mirror(tmp_path: Path) -> None:
    scene = stage(tmp_path)
    scene.run(f"claim {T1}", ok=True)
    before = scene.snapshots()
    until = scene.blob(T1)["expiresAt"]
    for _ in range(2):
        scene.run("status", ok=True)
    assert scene.blob(T1)["expiresAt"] == until
    assert scene.snapshots() == before


def test_claiming_again_changes_nothing(tmp_path: Path) -> None:
    scene = stage(tmp_path)
    scene.run(f"claim {T1}", ok=True)
    before = scene.snapshots()
    said = scene.run(f"claim {T1} --minutes 600", ok=True)
    assert said.out.startswith("you hold ")
    assert said.err.startswith("warning[minutes-ignored]: --minutes 600 was ignored: ")
    assert f"swarm renew {T1} --minutes 600" in said.err
    assert scene.run(f"claim {T1}", ok=True).err == ""
    assert scene.snapshots() == before


GATE = "swarm-gate pr --base origin/main --head HEAD"


def pasted(scene: Scene, line: str, folder: str = ".") -> int:
    """Paste what a command says is left into a shell in `folder`; with what its last line ends."""
    told = scene.run(line, at=scene.here.path / folder, ok=True).out
    steps = told.partition("what is left:\n")[2]
    assert steps
    env = environment({**scene.env, "PATH": f"{SWARM.parent}{os.pathsep}{os.environ['PATH']}"})
    done = subprocess.run(
        ["bash"],
        cwd=scene.here.path / folder,
        env=env,
        input=steps.encode(),
        capture_output=True,
        timeout=60,
        check=False,
    )
    return done.returncode


@pytest.mark.parametrize("folder", [".", "src"])
def test_what_is_left_to_do_is_told_and_works(folder: str, tmp_path: Path) -> None:
    """The commands that check hints make a commit in which the task is done, with status and folder agreeing."""
    scene = stage(tmp_path)
    scene.run(f"claim {T1}", ok=True)
    there = scene.here.path / folder
    finish, hand_in = scene.run("check --json", at=there, ok=True).json["next"]
    assert (folder == ".") is finish.startswith("git mv ")
    assert hand_in.endswith(f"{GATE} && swarm release {T1} --done && git push origin work")
    assert pasted(scene, "check", folder) == 0
    done = scene.here.cat(f"work:.agents/tasks/done/{T1}.md").decode()
    assert "\nstatus: done\n" in done
    assert scene.here.oid(f"work:.agents/tasks/queued/{T1}.md") is None
    assert scene.claims("status")["finished"][0]["task"] == T1
    assert scene.here.oid("refs/remotes/origin/work") == scene.here.oid("refs/heads/work")


@pytest.mark.parametrize("folder", [".", "src"])
def test_what_is_left_stops_where_something_fails(folder: str, tmp_path: Path) -> None:
    """Pasted as lines, or each by itself: nothing is handed in that the gate does not pass."""
    scene = stage(tmp_path)
    scene.run(f"claim {T1}", ok=True)
    steps = scene.run("check --json", at=scene.here.path / folder, ok=True).json["next"]
    queued = scene.here.path / task_path(T1)
    queued.rename(tmp_path / "mislaid")
    assert pasted(scene, "check", folder) != 0
    for step in steps:
        with pytest.raises(AssertionError):
            scene.shell(step)
    assert scene.claims("status")["claim"]["task"] == T1
    assert scene.here.oid("refs/remotes/origin/work") is None
    (tmp_path / "mislaid").rename(queued)
    assert pasted(scene, "check", folder) == 0


def test_what_is_left_leads_to_the_branch_that_was_named(tmp_path: Path) -> None:
    scene = stage(tmp_path)
    scene.run(f"claim {T1}", ok=True)
    scene.here.git("switch", "-q", "-c", "another")
    there = shlex.quote(str(scene.here.path / "src"))
    told = scene.run(f"-C {there} check --branch work --json", at=tmp_path, ok=True).json["next"]
    lead = f'cd "$(git -C {there} rev-parse --show-toplevel)" && git switch work && '
    assert all(step.startswith(lead) for step in told)
    for step in told:
        scene.shell(f"cd / && {step}")
    assert scene.here.oid("refs/remotes/origin/work") == scene.here.oid("refs/heads/work")


def test_finishing_what_was_not_moved_warns(tmp_path: Path) -> None:
    scene = stage(tmp_path)
    scene.run(f"claim {T1}", ok=True)
    finished = scene.claims("release --done")
    (warning,) = finished["warnings"]
    assert (warning["code"], warning["details"]["path"]) == ("task-not-done", f".agents/tasks/done/{T1}.md")
    scene.run(f"reopen {T1} --reason 'too early'", ok=True)
    scene.run(f"claim {T1}", ok=True)
    scene.shell(finished["next"][0])
    assert scene.claims("release --done")["warnings"] == []


def test_what_was_moved_and_not_committed_is_left_to_commit(tmp_path: Path) -> None:
    scene = stage(tmp_path)
    scene.run(f"claim {T1}", ok=True)
    scene.here.git("mv", task_path(T1), f".agents/tasks/done/{T1}.md")
    assert pasted(scene, "check") == 0
    assert scene.claims("status")["finished"][0]["task"] == T1


@pytest.mark.parametrize(
    ("program", "line", "offered"),
    [
        ("swarm", "swarm rel", ["release"]),
        ("swarm", "swarm release --", ["--reason", "--done"]),
        ("swarm-gate", "swarm-gate ru", ["rules"]),
    ],
)
def test_bash_completes_as_documented(program: str, line: str, offered: list[str], tmp_path: Path) -> None:
    documented = (Path(__file__).parents[2] / "docs/commands.md").read_text("utf-8")
    (source,) = [text for text in re.findall(r"^eval .*$", documented, re.MULTILINE) if text.endswith(f' {program})"')]
    function = f"_{program.replace('-', '_')}_completion"
    words = line.split(" ")
    script = f"{source}\nCOMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; {function} {program}; echo ${{COMPREPLY[@]}}"
    env = environment({"PATH": f"{SWARM.parent}{os.pathsep}{os.environ['PATH']}"})
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=env, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert set(offered) <= set(done.stdout.decode().split()), done.stdout


def test_debugging_shows_the_traceback(tmp_path: Path) -> None:
    scene = alone(tmp_path)
    scene.here.git_path("swarm").write_text("")
    said = swarm(scene.here, "claim", T1, env={**scene.env, "SWARM_DEBUG": "1"})
    assert "Traceback" in said.err
    assert said.code != 0
