"""Remotes that are gone, refuse, stall, or lose what was said. Success is told only after the remote has said so."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.scene import CLAIM, FILES, LOCK, T1, T2, Scene, alone, lock_ref, stage
from tests.support import remotes
from tests.support.git_wrapper import GitWrapper
from tests.support.http_origin import HttpOrigin
from tests.support.repo import clone
from tests.support.swarm import start

CLAIMED = [CLAIM + T1, lock_ref(LOCK)]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[HttpOrigin]:
    with HttpOrigin(tmp_path / "served") as server:
        yield server


@pytest.fixture
def scene(tmp_path: Path, server: HttpOrigin) -> Scene:
    """As `stage`, through HTTP; no command waits for long."""
    bare = server.create(files=FILES)
    here = clone(server.url(), tmp_path / "here")
    here.branch("work")
    server.clear_requests()
    return Scene(here, bare, {"SWARM_AGENT": "a1", "SWARM_TIMEOUT": "2"})


def tokens(scene: Scene) -> list[str]:
    folder = scene.here.git_path("swarm")
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


UNREACHABLE: list[tuple[str, Callable[[HttpOrigin], object], str]] = [
    ("dropped", lambda server: server.drop_before_apply(service="refs-for-fetch"), "mpty reply"),
    ("500", lambda server: server.fail_with(500, service="refs-for-fetch"), "500"),
    ("403", lambda server: server.fail_with(403, service="refs-for-fetch"), "403"),
    ("401", lambda server: server.fail_with(401, service="refs-for-fetch"), "could not read Username"),
    ("404", lambda server: server.fail_with(404, service="refs-for-fetch"), "not found"),
    ("dropped midway", lambda server: server.drop_before_apply(service="fetch"), ""),
    ("something else", lambda server: server.fail_with(200, service="refs-for-fetch", words="<html>"), ""),
]


@pytest.mark.parametrize(("name", "fault", "words"), UNREACHABLE, ids=[name for name, _, _ in UNREACHABLE])
def test_a_fetch_that_fails_refuses_the_command(
    name: str, fault: Callable[[HttpOrigin], object], words: str, server: HttpOrigin, scene: Scene
) -> None:
    before = scene.snapshots()
    fault(server)
    error = scene.refused(f"claim {T1}")
    assert (error["code"], error["hint"]) == ("remote-unreachable", "git ls-remote origin")
    assert words in error["message"]
    assert scene.snapshots() == before
    scene.run(f"claim {T1}", ok=True)


def test_a_fetch_that_stalls_is_ended(server: HttpOrigin, scene: Scene) -> None:
    scene.env["SWARM_TIMEOUT"] = "1"
    server.stall(30, service="refs-for-fetch")
    error = scene.refused("status")
    assert (error["code"], "was ended after 1 s" in error["message"]) == ("remote-unreachable", True)
    scene.run("status", ok=True)


@pytest.mark.parametrize("url", ["nobody", "gone", "not allowed"])
def test_a_remote_that_is_not_there(url: str, scene: Scene) -> None:
    urls = {
        "nobody": remotes.nobody_home(),
        "gone": remotes.gone(scene.folder),
        "not allowed": "ext::sh -c id",
    }
    scene.here.git("config", "remote.origin.url", urls[url])
    for line in (f"claim {T1}", "status", "tasks", f"show {T1}"):
        assert scene.refused(line)["code"] == "remote-unreachable"
    scene.run("--no-remote status", ok=True)


def test_a_push_that_was_applied_and_not_answered_is_read_back(server: HttpOrigin, scene: Scene) -> None:
    server.refuse_next_push_reply()
    claimed = scene.claims(f"claim {T1}")
    assert (claimed["published"], sorted(scene.arbiter.refs())) == (True, CLAIMED)
    assert tokens(scene) == [f"token-{T1}"]
    for line, left in (("renew", CLAIMED), ("release --done", CLAIMED[:1]), (f"reopen {T1} --reason why", [])):
        server.refuse_next_push_reply()
        scene.claims(line)
        assert [ref for ref in sorted(scene.arbiter.refs()) if "log" not in ref] == left
    outcomes = [it["closed"]["outcome"] for it in logged(scene)]
    assert outcomes == ["done", "reopened"]


def logged(scene: Scene) -> list[dict[str, dict[str, str]]]:
    log = scene.arbiter.refs(f"refs/swarm/claim-log/{T1}/")
    return [json.loads(scene.arbiter.cat(blob)) for _, blob in sorted(log.items())]


def test_a_push_that_was_lost_is_sent_again(server: HttpOrigin, scene: Scene) -> None:
    server.drop_before_apply()
    assert scene.claims(f"claim {T1}")["published"]
    services = [request.service for request in server.requests if request.method == "POST"]
    assert services.count("push") == 2
    assert sorted(scene.arbiter.refs()) == CLAIMED
    server.drop_before_apply()
    scene.run("release", ok=True)
    assert len(logged(scene)) == 1


def test_a_push_whose_fate_stays_unknown_is_told_so(server: HttpOrigin, scene: Scene) -> None:
    server.late(2)
    error = scene.refused(f"claim {T1}")
    assert (error["code"], error["details"]["agent"]) == ("remote-unreachable", "a1")
    assert "it may still be" in error["message"]
    assert error["details"]["expiresAt"] in error["message"]
    assert error["hint"] == f"swarm claim {T1} --agent a1"
    (token,) = tokens(scene)
    assert token.startswith(f"token-{T1}.")
    server.land()
    until = scene.blob(T1)["expiresAt"]
    assert until == error["details"]["expiresAt"]
    scene.shell(error["hint"])
    assert tokens(scene) == [f"token-{T1}"]
    scene.run("check", ok=True)


def test_a_push_that_lands_after_another_has_the_task(server: HttpOrigin, scene: Scene) -> None:
    server.late(2)
    scene.refused(f"claim {T1}")
    there = scene.second()
    scene.run(f"claim {T1}", at=there, env={"SWARM_AGENT": "b1"}, ok=True)
    server.land()
    assert scene.blob(T1)["agent"] == "b1"
    error = scene.refused(f"claim {T1}")
    assert (error["code"], error["details"]["agent"]) == ("claim-held", "b1")
    scene.run(f"check {T1}", at=there, ok=True)


def test_a_push_that_stalls_is_ended_and_settled(server: HttpOrigin, scene: Scene) -> None:
    """The first is never run; the one that is sent again is."""
    scene.env["SWARM_TIMEOUT"] = "1"
    server.stall(30)
    assert scene.claims(f"claim {T1}")["published"]
    assert sorted(scene.arbiter.refs()) == CLAIMED


def test_a_remote_that_breaks_between_push_and_reading_back(server: HttpOrigin, scene: Scene) -> None:
    server.refuse_next_push_reply()
    wrapper = GitWrapper(scene.folder / "wrapper")
    wrapper.fail(128, "fatal: unable to access\n", "fetch", nth=2)
    error = scene.refused(f"claim {T1}", env=wrapper.env)
    assert (error["code"], error["exit"], "it may still be" in error["message"]) == ("remote-unreachable", 3, True)
    assert scene.claims(f"claim {T1}")["already"]


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (lambda server: server.fail_with(403, service="refs-for-push"), "403"),
        (lambda server: server.fail_with(401, service="refs-for-push"), "Username"),
    ],
)
def test_a_push_that_is_not_allowed_is_rejected(
    fault: Callable[[HttpOrigin], object], words: str, server: HttpOrigin, scene: Scene
) -> None:
    fault(server)
    error = scene.refused(f"claim {T1}")
    assert (error["code"], words in error["message"]) == ("remote-rejected", True), error
    assert (tokens(scene), scene.arbiter.refs()) == ([], {})
    scene.run(f"claim {T1}", ok=True)


REFUSING = [
    (remotes.refuse_namespace, "remote-rejected", "no such refs here"),
    (remotes.hide_namespace, "remote-rejected", "deny updating a hidden ref"),
    (remotes.read_only, "remote-rejected", "403"),
    (remotes.no_atomic, "remote-not-atomic", "does not support atomic"),
]


@pytest.mark.parametrize(("refuse", "code", "words"), REFUSING, ids=[it[0].__name__ for it in REFUSING])
def test_a_remote_that_refuses_says_why_in_its_words(
    refuse: Callable[..., None], code: str, words: str, server: HttpOrigin, scene: Scene
) -> None:
    """Nothing is pushed in pieces instead, and who reads may go on reading."""
    refuse(scene.arbiter)
    server.clear_requests()
    error = scene.refused(f"claim {T1}")
    assert (error["code"], words in error["message"]) == (code, True), error
    assert [request.service for request in server.requests if request.method == "POST"].count("push") <= 1
    assert (scene.arbiter.refs(), tokens(scene)) == ({}, [])
    scene.run("status", ok=True)
    scene.run(f"show {T2}", ok=True)


def test_the_probe_of_the_hint_shows_the_refusal_and_leaves_nothing(tmp_path: Path) -> None:
    scene = stage(tmp_path)
    remotes.refuse_namespace(scene.arbiter)
    hint = scene.refused(f"claim {T1}")["hint"]
    with pytest.raises(AssertionError, match="no such refs here"):
        scene.shell(hint)
    (scene.arbiter.path / "hooks" / "pre-receive").unlink()
    scene.shell(hint)
    assert scene.arbiter.refs("refs/swarm") == {}


def test_a_hook_that_speaks_of_itself_cannot_move_the_terminal(tmp_path: Path) -> None:
    scene = stage(tmp_path)
    remotes.refuse_namespace(scene.arbiter, words="\x1b[2J no\x07 ")
    error = scene.refused(f"claim {T1}")
    assert error["message"].isprintable()


def expired(scene: Scene, *tasks: str) -> None:
    for task in tasks:
        scene.forge(task, minutes=-1)


def test_reap_tells_what_stands_in_its_way(server: HttpOrigin, scene: Scene) -> None:
    """A remote that takes no pushes is not a claim that moved meanwhile."""
    expired(scene, T1, T2)
    before = scene.arbiter.refs()
    remotes.refuse_namespace(scene.arbiter)
    error = scene.refused("reap")
    assert (error["code"], scene.arbiter.refs()) == ("remote-rejected", before)
    (scene.arbiter.path / "hooks" / "pre-receive").unlink()
    assert [entry["task"] for entry in scene.claims("reap")["reaped"]] == [T1, T2]


def test_reap_reads_back_what_was_not_answered(server: HttpOrigin, scene: Scene) -> None:
    expired(scene, T1, T2)
    server.refuse_next_push_reply()
    server.drop_before_apply()
    told = scene.claims("reap")
    assert ([entry["task"] for entry in told["reaped"]], told["skipped"]) == ([T1, T2], [])
    assert [it["closed"]["outcome"] for it in logged(scene)] == ["expired"]
    assert [ref for ref in scene.arbiter.refs() if "claim-log" not in ref] == []


def test_reap_behind_a_lock_file_names_it(tmp_path: Path) -> None:
    scene = alone(tmp_path)
    expired(scene, T1)
    wrapper = GitWrapper(tmp_path / "wrapper")
    words = "fatal: cannot lock ref: Unable to create '/x/packed-refs.lock': File exists.\n"
    wrapper.fail(128, words, "update-ref", nth=0)
    error = scene.refused("reap", env=wrapper.env)
    assert (error["code"], error["details"]) == ("busy", {"file": "/x/packed-refs.lock"})
    assert len(scene.claims("reap")["reaped"]) == 1


def test_reap_skips_what_moved_meanwhile(tmp_path: Path) -> None:
    scene = stage(tmp_path)
    scene.run(f"claim {T1}", ok=True)
    scene.run("renew --minutes 0", ok=True)
    expired(scene, T2)
    wrapper = GitWrapper(tmp_path / "wrapper")
    pause = wrapper.pause("before", "push")
    with start(scene.here, "reap", "--json", env={**scene.env, **wrapper.env}) as running:
        pause.wait()
        scene.run("renew", ok=True)
        pause.resume()
        told = running.wait().json
    assert [[entry["task"] for entry in told[name]] for name in ("reaped", "skipped")] == [[T2], [T1]]
    scene.run("check", ok=True)
