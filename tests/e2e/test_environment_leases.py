"""Leases: how long they are, and `renew --every`, which keeps one until it is told to stop, or the claim is gone."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.scene import CLAIM, LOCK, T1, Scene, lock_ref, stage
from tests.support import remotes, script
from tests.support.board import milestone
from tests.support.swarm import Running, start

#: A minute of `fast` takes a second.
_FAST = """\
{head}from claims import clock
real, began = clock.now, clock.now()
clock.now = lambda: clock.cut(began + 60 * (real() - began))
from claims.cli import renew_every
wait = renew_every._Stop.wait
renew_every._Stop.wait = lambda self, seconds: wait(self, seconds / 60)
from claims.cli.start import swarm
swarm()
"""


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """a1 holds T1."""
    scene = stage(tmp_path)
    scene.run(f"claim {T1}", ok=True)
    return scene


@pytest.fixture
def fast(tmp_path: Path) -> Path:
    """`swarm` with a clock that runs sixty times as fast, and waits that are as much shorter."""
    path = tmp_path / "fast-swarm"
    path.write_text(_FAST.format(head=script.head()))
    path.chmod(0o755)
    return path


def until(holds: Callable[[], bool], what: str) -> None:
    """Wait, at most half a minute."""
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline, f"never: {what}"
        time.sleep(0.02)


def has_said(running: Running, lines: int) -> Callable[[], bool]:
    return lambda: running.output().count("\n") >= lines


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_well(number: signal.Signals, scene: Scene) -> None:
    before = scene.blob(T1)["expiresAt"]
    with start(scene.here, "renew", "--every", "120", env=scene.env) as running:
        until(has_said(running, 1), "renewed at once")
        running.signal(number)
        ended = running.wait(10)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(f"renewed {T1} for a1 on work until ")
    assert scene.blob(T1)["expiresAt"] > before
    assert 14_000 < scene.claims("check")["remaining"] <= 14_400, "twice 120 minutes"
    assert (scene.here.git_path(f"swarm/token-{T1}")).exists()


def test_it_goes_on_with_a_line_each_time(scene: Scene, fast: Path) -> None:
    """Id and token are read once: neither another branch nor a token file that is gone stops it."""
    with start(scene.here, "renew", "--every", "1", "--json", env=scene.env, program=fast) as running:
        until(has_said(running, 1), "the first renewal")
        scene.here.git("switch", "-q", "-c", "another")
        scene.here.git_path(f"swarm/token-{T1}").unlink()
        until(has_said(running, 3), "three renewals")
        running.signal(signal.SIGTERM)
        ended = running.wait(10)
    assert (ended.code, ended.err) == (0, "")
    told = [json.loads(line) for line in ended.out.splitlines()]
    times = [it["expiresAt"] for it in told]
    assert times == sorted(set(times)) and len(times) >= 3
    assert {(it["task"], it["state"], it["branch"]) for it in told} == {(T1, "active", "work")}
    assert scene.blob(T1)["expiresAt"] == times[-1]


@pytest.mark.parametrize("how", ["release", "release --done"])
def test_released_meanwhile_it_ends_well(how: str, scene: Scene, fast: Path) -> None:
    with start(scene.here, "renew", "--every", "1", env=scene.env, program=fast) as running:
        until(has_said(running, 1), "the first renewal")
        scene.run(how, ok=True)
        assert running.wait(20).code == 0


@pytest.mark.parametrize("how", [f"steal {T1}", "reap"])
def test_lost_it_ends_with_2(how: str, scene: Scene, fast: Path) -> None:
    there = scene.second()
    with start(scene.here, "renew", "--every", "1", "--json", env=scene.env, program=fast) as running:
        until(has_said(running, 1), "the first renewal")
        scene.run(how, at=there, env={"SWARM_AGENT": "b1"}, ahead=600, ok=True)
        ended = running.wait(20)
    assert (ended.code, ended.error_code) == (2, "claim-lost")
    assert ended.error["details"]["outcome"] == ("stolen" if "steal" in how else "expired")


def test_base_that_no_longer_supports_it_ends_it(scene: Scene, fast: Path) -> None:
    with start(scene.here, "renew", "--every", "1", env=scene.env, program=fast) as running:
        until(has_said(running, 1), "the first renewal")
        scene.put(plan=1, manifest=[milestone("m1", [T1])])
        ended = running.wait(20)
    assert (ended.code, ended.error_code) == (1, "plan-moved")


def set_url(scene: Scene, url: str) -> None:
    scene.here.git("config", "remote.origin.url", url)


def test_it_survives_a_failing_network(scene: Scene, fast: Path) -> None:
    assert scene.origin is not None
    with start(scene.here, "renew", "--every", "1", env=scene.env, program=fast) as running:
        until(has_said(running, 1), "the first renewal")
        set_url(scene, remotes.gone(scene.folder))
        time.sleep(1.5)
        set_url(scene, scene.origin.url)
        until(has_said(running, 3), "renewals after the failure")
        running.signal(signal.SIGTERM)
        ended = running.wait(10)
    assert (ended.code, ended.error_code) == (0, "remote-unreachable")


def test_a_network_that_fails_until_the_lease_runs_out_ends_it_with_3(scene: Scene, fast: Path) -> None:
    words = ["renew", "--every", "1", "--minutes", "4", "--json"]
    with start(scene.here, *words, env=scene.env, program=fast) as running:
        until(has_said(running, 1), "the first renewal")
        set_url(scene, remotes.gone(scene.folder))
        ended = running.wait(30)
    assert ended.code == 3
    errors: list[dict[str, Any]] = [json.loads(line)["error"] for line in ended.err.splitlines()]
    assert {it["code"] for it in errors} == {"remote-unreachable"}
    assert len(errors) > 1, "each failure is told"
    expiry = json.loads(ended.out.splitlines()[-1])["expiresAt"]
    assert f"ran out at {expiry} unrenewed" in errors[-1]["message"]
    assert errors[-1]["hint"] == f"swarm renew {T1}"


def test_without_a_claim_it_does_not_begin(tmp_path: Path) -> None:
    scene = stage(tmp_path)
    assert scene.refused("renew --every 1")["code"] == "claim-not-found"
    scene.run(f"claim {T1}", ok=True)
    set_url(scene, remotes.gone(tmp_path))
    assert scene.refused("renew --every 1")["code"] == "remote-unreachable"


@pytest.mark.parametrize(
    ("configured", "options", "minutes"),
    [(1, "--every 3", 6), (30, "--every 3", 30), (1, "--every 3 --minutes 4", 4), (1, "", 1), (1, "--minutes 9", 9)],
)
def test_how_long_a_renewed_lease_is(configured: int, options: str, minutes: int, scene: Scene) -> None:
    scene.put(config={"lease_minutes": configured})
    with start(scene.here, *f"renew {options} --json".split(), env=scene.env) as running:
        until(has_said(running, 1), "renewed")
        if "every" in options:
            running.signal(signal.SIGTERM)
        ended = running.wait(10)
    assert 60 * minutes - 10 < json.loads(ended.out)["remaining"] <= 60 * minutes


@pytest.mark.parametrize(("options", "minutes"), [("", 7), ("--minutes 1", 1), ("--minutes 1440", 1440)])
def test_how_long_a_fresh_lease_is(options: str, minutes: int, tmp_path: Path) -> None:
    scene = stage(tmp_path)
    scene.put(config={"lease_minutes": 7})
    assert 60 * minutes - 10 < scene.claims(f"claim {T1} {options}")["remaining"] <= 60 * minutes


def test_the_life_of_a_lease(scene: Scene) -> None:
    """It may be made shorter, and ended; ended it may be renewed as long as nobody took it, and taken once."""
    there = scene.second()
    b1 = {"SWARM_AGENT": "b1"}
    assert scene.run(f"steal {T1}", at=there, env=b1).error_code == "claim-live"
    scene.run("renew --minutes 1", ok=True)
    assert scene.claims("check")["remaining"] <= 60
    assert scene.run("renew --minutes 0 --json", ok=True).json["state"] == "expired"
    assert scene.run(f"claim {T1}", at=there, env=b1).error_code == "claim-held"
    scene.run("renew", ok=True)
    scene.run("check", ok=True)
    scene.run("renew --minutes 0", ok=True)
    stolen = scene.run(f"steal {T1} --json", at=there, env=b1, ok=True).json
    assert (stolen["agent"], stolen["state"]) == ("b1", "active")
    assert stolen["claimedAt"] >= scene.blob(T1)["replaced"]["closed"]["at"]
    for line in ("renew", f"release {T1}", f"check {T1}"):
        assert scene.refused(line)["code"] == "claim-lost"
    scene.run("check", at=there, env=b1, ok=True)
    assert sorted(ref for ref in scene.arbiter.refs() if "claim-log" not in ref) == [CLAIM + T1, lock_ref(LOCK)]


def test_a_lease_that_ran_out_by_itself(scene: Scene) -> None:
    there = scene.second()
    assert scene.run("check", ahead=29).code == 0
    assert scene.run("check", ahead=31).error_code == "claim-expired"
    assert scene.run(f"claim {T1}", ahead=31).error_code == "claim-expired"
    assert scene.run("renew", ahead=31).code == 0
    assert scene.run("check", ahead=59).code == 0
    assert scene.run(f"steal {T1}", at=there, env={"SWARM_AGENT": "b1"}, ahead=62).code == 0
