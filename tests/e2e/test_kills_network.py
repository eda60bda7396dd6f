"""Replies that are lost, pushes that are, and pushes that land when nobody waits for them any more."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.e2e.killing import EXPIRED, FILES, TASK, VERBS, Ground, Verb, clones, ground, leave_to_full
from tests.support.forked import ForkServer
from tests.support.http_origin import HttpOrigin, Service
from tests.support.invariants_of_refs import check, live, read
from tests.support.swarm import start
from tests.support.torn import killed_at, needs_strace

each_verb = pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[HttpOrigin]:
    with HttpOrigin(tmp_path / "served") as serving:
        yield serving


@pytest.fixture
def here(server: HttpOrigin, tmp_path: Path, forked: ForkServer) -> Ground:
    source = server.create(files=FILES)
    return Ground(source, clones(source, server.url(), tmp_path), forked, tmp_path)


@each_verb
def test_a_lost_reply(verb: Verb, server: HttpOrigin, here: Ground) -> None:
    """It reads back what it did, and says so; the log has every end once."""
    here.edits(verb)
    server.refuse_next_push_reply()
    assert here.kill(verb).code == 0
    assert here.is_done()
    check(here.arbiter, here.told)


@each_verb
def test_a_lost_push(verb: Verb, server: HttpOrigin, here: Ground) -> None:
    """It is sent again."""
    here.edits(verb)
    server.drop_before_apply()
    assert here.kill(verb).code == 0
    assert here.is_done()
    check(here.arbiter, here.told)


@each_verb
def test_a_push_that_is_lost_again_and_again(verb: Verb, server: HttpOrigin, here: Ground, thorough: bool) -> None:
    """It says that it may still land, and for a claim until when it would hold; nothing is forgotten."""
    leave_to_full(verb, thorough)
    here.begin(verb)
    before = live(here.arbiter)
    server.drop_before_apply(times=_sends(verb))
    result = here.kill(verb)
    assert (result.code, result.error_code, server.armed) == (3, "remote-unreachable", 0), str(result)
    assert "may still" in result.error["message"]
    if verb.name in ("claim", "steal"):
        assert result.error["details"]["expiresAt"] in result.error["message"]
    assert live(here.arbiter) == before
    here.check_clones(here.state())
    here.come_back(verb)


@pytest.mark.parametrize("next_one", ["comes back", "runs out"])
@pytest.mark.parametrize("dies", [True, False], ids=["killed", "unanswered"])
@each_verb
def test_a_push_that_lands_late(
    verb: Verb, dies: bool, next_one: str, server: HttpOrigin, here: Ground, thorough: bool
) -> None:
    """Whoever was told meanwhile that the task is theirs keeps it whole; nothing of what lands is in the way."""
    if not (dies or thorough or verb.name in ("claim", "end-lease", "release", "steal")):
        pytest.skip("with --full")
    here.begin(verb)
    if dies:
        here.wrapper.kill("after", "push")
    server.late(times=1 if dies else _sends(verb))
    assert here.kill(verb).code == (-9 if dies else 3)
    if next_one == "comes back":
        claimed = here.run("a", "claim", TASK)
        assert claimed.code == 0 or claimed.error_code in verb.then, str(claimed)
        _land(server, here)
        if claimed.code == 0:
            here.run("a", "check", TASK, ok=True)
        # Where it was refused, what landed may have made it theirs only now, or have finished it.
        here.come_back(verb)
    else:
        here.turn_clock(verb.ahead + EXPIRED)
        claimed = here.run("b", "claim", TASK)
        if claimed.code != 0:
            here.follow("b", claimed)
        _land(server, here)
        here.run("b", "check", TASK, ok=True)
        assert [claim.members["agent"] for claim in read(here.arbiter).held()] == ["b"]
        here.run("b", "release", TASK, ok=True)
        assert live(here.arbiter) == {}


def test_a_late_push_onto_nothing_is_a_claim_of_its_maker(server: HttpOrigin, here: Ground) -> None:
    server.late(times=2)
    assert here.run("a", "claim", TASK).code == 3
    assert live(here.arbiter) == {}
    _land(server, here)
    (claim,) = read(here.arbiter).held()
    assert claim.members["agent"] == "a"
    assert here.run("b", "claim", TASK).error["details"]["agent"] == "a"
    assert here.run("a", "claim", TASK, ok=True).json["already"]
    here.run("a", "release", TASK, ok=True)
    assert live(here.arbiter) == {}


@pytest.mark.parametrize("service", ["push", "fetch"])
def test_a_stalled_remote(service: Service, server: HttpOrigin, here: Ground) -> None:
    """The command ends at its deadline (SWARM_TIMEOUT, in seconds) and says what may still come of it."""
    server.stall(30, service, times=2 if service == "push" else 1)
    result = here.run("a", "claim", TASK, env={"SWARM_TIMEOUT": "3"})
    assert (result.code, result.error_code) == (3, "remote-unreachable"), str(result)
    assert "after 3 s" in result.error["message"]
    assert live(here.arbiter) == {}
    if service == "fetch":
        assert "may still" not in result.error["message"]
        assert here.state().tokens == ({}, {})
    else:
        assert result.error["details"]["expiresAt"] in result.error["message"]
        assert len(here.state().tokens[0]) == 1
    here.run("a", "claim", TASK, ok=True)
    check(here.arbiter, here.told)


def test_a_stalled_push_is_sent_again(server: HttpOrigin, here: Ground) -> None:
    server.stall(30, "push")
    here.run("a", "claim", TASK, ok=True, env={"SWARM_TIMEOUT": "3"})
    check(here.arbiter, here.told)
    assert len(live(here.arbiter)) == 4


@each_verb
def test_a_server_that_breaks_once(verb: Verb, server: HttpOrigin, here: Ground) -> None:
    here.edits(verb)
    server.fail_with(500)
    assert here.kill(verb).code == 0
    assert here.is_done()
    check(here.arbiter, here.told)


@each_verb
def test_a_server_that_forbids_it(verb: Verb, server: HttpOrigin, here: Ground) -> None:
    """The answer is no, and nothing is changed."""
    here.begin(verb)
    before, tokens = live(here.arbiter), [len(names) for names in here.state().tokens]
    server.fail_with(403, "refs-for-push")
    result = here.kill(verb)
    assert (result.code, result.error_code) == (3, "remote-rejected"), str(result)
    assert live(here.arbiter) == before
    assert [len(names) for names in here.state().tokens] == tokens
    here.check_clones(here.state())


@needs_strace
@each_verb
def test_a_backend_that_is_killed(verb: Verb, server: HttpOrigin, here: Ground, thorough: bool) -> None:
    """receive-pack dies between two renames behind the web server, and the command with it."""
    if not (thorough or verb.name == "claim"):
        pytest.skip("with --full")
    here.edits(verb)
    for k in range(1, 40):
        here.wrapper.clear()
        here.wrapper.kill("after", "push")
        server.run_next_push_under(killed_at(k))
        assert here.kill(verb).code == -9
        if here.is_done():
            break
        here.unlock()
        here.settle(verb)
    assert here.is_done()


@pytest.mark.parametrize("command", ["claim", "release"])
def test_a_command_that_is_killed_while_its_push_is_under_way(command: str, tmp_path: Path, forked: ForkServer) -> None:
    """git goes on without it. `claim` is in time; `release` comes too late for what its agent did meanwhile."""
    here = ground("remote", tmp_path, forked)
    if command == "release":
        here.run("a", "claim", TASK, ok=True)
    pause = here.wrapper.pause("before", "push")
    with start(here.places["a"], command, TASK, "--agent", "a", env=here.wrapper.env) as running:
        pause.wait()
        running.signal(signal.SIGKILL)
        assert running.wait().code == -signal.SIGKILL
        push = here.wrapper.log[-1].pid
        if command == "release":
            here.run("a", "claim", TASK, ok=True)
        before = live(here.arbiter)
        pause.resume()
        _until(lambda: not Path(f"/proc/{push}").exists())
    if command == "release":
        assert live(here.arbiter) == before
    check(here.arbiter, here.told)
    here.run("a", "claim", TASK, ok=True)
    here.run("a", "release", TASK, ok=True)
    assert live(here.arbiter) == {}


@pytest.mark.parametrize("lands", ["in time", "late"])
def test_a_renewal_that_lands_in_a_lease_that_was_ended(lands: str, tmp_path: Path, forked: ForkServer) -> None:
    """Its lease ran out while it was under way, and who reaped it died between the log and the claim ref.

    git says yes to it, for the ref is what it was; but the log has the end, so the next claim would take it away.
    """
    here = ground("local", tmp_path, forked)
    here.run("a", "claim", TASK, ok=True)
    pause = here.wrapper.pause("before", "update-ref")
    with ForkServer() as another, ThreadPoolExecutor() as pool:
        other = Ground(here.arbiter, here.places, another, tmp_path / "other")
        renewing = pool.submit(here.run, "a", "renew", TASK, env=here.wrapper.env)
        pause.wait()
        if lands == "late":
            here.turn_clock(EXPIRED)
            other.turn_clock(EXPIRED)
            other.wrapper.tear(1)
            assert other.run("b", "reap", env=other.wrapper.env).code == -9
        pause.resume()
        renewed = renewing.result()
    if lands == "in time":
        assert renewed.code == 0
        here.run("a", "check", TASK, ok=True)
        return
    assert (renewed.code, renewed.error_code) == (2, "claim-lost"), str(renewed)
    here.run("b", "claim", TASK, ok=True)
    check(here.arbiter, here.told)


def _sends(verb: Verb) -> int:
    """How often a push is sent that is not answered: twice; where each item stands for itself, eight times."""
    return 8 if verb.name == "reap" else 2


def _land(server: HttpOrigin, here: Ground) -> None:
    """Apply the late pushes; what holds then holds of the refs as they are, not only in part."""
    server.land()
    check(here.arbiter, here.told)


def _until(happened: Callable[[], bool]) -> None:
    """Wait for it, at most ten seconds."""
    for _ in range(1000):
        if happened():
            return
        time.sleep(0.01)
    raise AssertionError("it never happened")
