"""git dies inside its own transaction, here or at the server, and leaves part of it: nobody is wedged by that."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.e2e.killing import EXPIRED_AGAIN, KINDS, RIVAL, TASK, VERBS, Ground, Verb, ground, leave_to_full
from tests.support.forked import ForkServer
from tests.support.invariants_of_refs import check, live, lock_ref, read
from tests.support.swarm import Result
from tests.support.torn import killed_at, needs_strace, torn_receive_pack

_NAMED = {verb.name: verb for verb in VERBS}
#: Without `--full`: a transaction that moves and creates, one that moves and deletes.
_WAYS = {"rename": "steal", "unlink": "done"}

each_verb = pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)


@each_verb
def test_here_and_the_command_with_it(verb: Verb, tmp_path: Path, forked: ForkServer, thorough: bool) -> None:
    leave_to_full(verb, thorough)
    here = ground("local", tmp_path, forked, thorough)
    edits = here.edits(verb)
    for done in range(edits + 1):
        here.wrapper.clear()
        here.wrapper.tear(done)
        assert here.kill(verb).code == -9
        assert here.is_done() == (done == edits)
        here.settle(verb)


@each_verb
def test_here_and_the_command_goes_on(verb: Verb, tmp_path: Path, forked: ForkServer, thorough: bool) -> None:
    """What it says then is true, and what it could not do is as if it had died too."""
    leave_to_full(verb, thorough)
    here = ground("local", tmp_path, forked, thorough)
    for done in range(here.edits(verb) + 1):
        here.wrapper.clear()
        here.wrapper.tear(done, kill="git")
        result = here.kill(verb)
        assert result.code in (0, 2, 3), str(result)
        here.settle(verb)


@pytest.mark.parametrize("verb", [_NAMED["claim"], _NAMED["steal"]], ids=lambda verb: verb.name)
def test_here_and_another_task_needs_a_lock_of_it(verb: Verb, tmp_path: Path, forked: ForkServer) -> None:
    here = ground("local", tmp_path, forked)
    for done in range(here.edits(verb) + 1):
        here.wrapper.clear()
        here.wrapper.tear(done)
        assert here.kill(verb).code == -9
        _rival(here)


@needs_strace
def test_at_the_server_and_another_task_needs_a_lock_of_it(tmp_path: Path, forked: ForkServer) -> None:
    """A push moves what is there first: the claim ref is the thief's already, the lock still the old holder's."""
    here, verb = ground("remote", tmp_path, forked), _NAMED["steal"]
    here.edits(verb)
    for k in range(1, 40):
        here.wrapper.clear()
        here.wrapper.kill("after", "push")
        with torn_receive_pack(here.places["a"], k):
            assert here.kill(verb).code == -9
        done = here.is_done()
        here.unlock()
        _rival(here)
        if done:
            return
    raise AssertionError("it never came to its end")


def _rival(here: Ground) -> None:
    """A lock that is there, or that a claim lists which is, is taken until the lease has run out, and no longer."""
    refs = read(here.arbiter)
    # Of another task only the refs are read, not the log: a claim that has ended counts until it is cleared away.
    free = lock_ref("y") not in refs.keys and not refs.claims
    here.places["b"].git("switch", "-q", "-C", "other", "work-b")
    rival = here.run("b", "claim", RIVAL)
    assert (rival.code, rival.error_code) == ((0, None) if free else (2, "lock-held")), str(rival)
    if not free:
        here.turn_clock(2 * EXPIRED_AGAIN)
        here.follow("b", rival, RIVAL)
    here.run("b", "check", RIVAL, ok=True)
    assert len(check(here.arbiter, here.told, torn=True).held()) == 1


@pytest.mark.parametrize("first", [_NAMED["claim"], _NAMED["steal"]], ids=lambda verb: verb.name)
def test_here_twice(first: Verb, tmp_path: Path, forked: ForkServer, thorough: bool) -> None:
    """Who repairs what was torn dies at it as well: by the same agent, and by another once the lease has run out."""
    here = ground("local", tmp_path, forked)
    edits = here.edits(first)
    for again in (f"a claim {TASK}", f"b claim {TASK}", f"b steal {TASK}", "b reap"):
        who, *args = again.split(" ")
        for done in range(edits + 1) if thorough else (2,):
            for more in range(8) if thorough else (1, 3):
                here.wrapper.clear()
                here.wrapper.tear(done)
                assert here.kill(first).code == -9
                here.turn_clock(EXPIRED_AGAIN if who == "b" else first.ahead)
                here.wrapper.clear()
                here.wrapper.tear(more)
                here.run(who, *args, env=here.wrapper.env)
                here.settle_any(who)


@each_verb
def test_in_the_mirror(verb: Verb, tmp_path: Path, forked: ForkServer, thorough: bool) -> None:
    """The remote has said yes; the copy of it in this clone is in part old, in part new."""
    leave_to_full(verb, thorough)
    here = ground("remote", tmp_path, forked, thorough)
    for done in range(12) if thorough else (2,):
        here.wrapper.clear()
        here.wrapper.tear(done)
        assert here.kill(verb).code == -9
        here.settle(verb)


@needs_strace
@pytest.mark.parametrize("call", ["rename", "unlink"])
@each_verb
def test_at_the_server(verb: Verb, call: str, tmp_path: Path, forked: ForkServer, thorough: bool) -> None:
    """Its receive-pack is killed at every rename and every unlink, and the command right after."""
    if not thorough and verb.name != _WAYS[call]:
        pytest.skip("with --full")
    here = ground("remote", tmp_path, forked, thorough)
    here.edits(verb)
    for k in range(1, 40):
        here.wrapper.clear()
        here.wrapper.kill("after", "push")
        with torn_receive_pack(here.places["a"], k, call):
            assert here.kill(verb).code == -9
        if here.is_done():
            break
        here.unlock()
        here.settle(verb)
    assert here.is_done()
    assert here.seen, "no kill met it"


@needs_strace
@pytest.mark.parametrize("where", ["here", "at the server"])
def test_the_lock_files_that_a_killed_git_left(where: str, tmp_path: Path, forked: ForkServer) -> None:
    """The claim is refused as busy; the error names the file, and its hint is the command that removes it."""
    here = ground("local" if where == "here" else "remote", tmp_path / "a folder", forked)
    result = _claim_torn(here)
    files = here.locks()
    assert len(files) == 2
    for _ in files:
        left = here.locks()
        assert (result.code, result.error_code) == (2, "busy"), str(result)
        named = result.error["details"]["file"]
        file = Path(named).resolve()
        assert file in left
        assert named in result.error["message"]
        subprocess.run(result.error["hint"], shell=True, check=True, cwd=tmp_path)
        assert here.locks() == [lock for lock in left if lock != file]
        result = here.run("a", "claim", TASK)
    assert result.code == 0, str(result)
    check(here.arbiter, here.told)
    here.run("a", "release", TASK, ok=True)
    assert live(here.arbiter) == {}


@pytest.mark.parametrize("kind", KINDS)
def test_a_lock_file_on_the_packed_refs(kind: str, tmp_path: Path, forked: ForkServer) -> None:
    """It lets creations through and stops deletions: the claim is there, and releasing it is busy."""
    here = ground(kind, tmp_path, forked)
    file = here.arbiter.git_path("packed-refs.lock")
    here.run("a", "claim", TASK, ok=True)
    here.arbiter.git("pack-refs", "--all")
    lock = here.arbiter.path / file
    lock.touch()
    result = here.run("a", "release", TASK)
    assert (result.code, result.error_code) == (2, "busy"), str(result)
    assert Path(result.error["details"]["file"]).samefile(lock)
    here.run("a", "check", TASK, ok=True)
    subprocess.run(result.error["hint"], shell=True, check=True, cwd=tmp_path)
    assert not lock.exists()
    here.run("a", "release", TASK, ok=True)
    check(here.arbiter, here.told)
    assert live(here.arbiter) == {}


def _claim_torn(here: Ground) -> Result:
    """Let a claim's git be killed so that two of its four refs are written, and the lock files of two are left."""
    if here.is_local:
        here.wrapper.under(killed_at(3), "update-ref")
        return here.run("a", "claim", TASK, env=here.wrapper.env)
    for k in range(3, 12):
        # What receive-pack renames before its refs is the quarantine's.
        state = here.state()
        with torn_receive_pack(here.places["a"], k):
            here.wrapper.kill("after", "push")
            here.run("a", "claim", TASK, env=here.wrapper.env)
        here.wrapper.clear()
        if len(live(here.arbiter)) == 2:
            return here.run("a", "claim", TASK)
        here.unlock()
        here.restore(state)
    raise AssertionError("no kill left two refs")
