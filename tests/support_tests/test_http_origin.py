from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support import remotes
from tests.support.http_origin import HttpOrigin
from tests.support.repo import Repo, clone, origin


@pytest.fixture
def server(tmp_path: Path) -> Iterator[HttpOrigin]:
    with HttpOrigin(tmp_path / "served") as server:
        yield server


@pytest.fixture
def bare(server: HttpOrigin) -> Repo:
    return server.create(files={"a": "1"})


@pytest.fixture
def here(tmp_path: Path, server: HttpOrigin, bare: Repo) -> Repo:
    here = clone(server.url(), tmp_path / "here")
    server.clear_requests()
    return here


def _push(here: Repo, ref: str = "refs/swarm/x", *options: str) -> subprocess.CompletedProcess[bytes]:
    """Create `ref` at a fresh blob."""
    return here.run(*options, "push", "--porcelain", "--atomic", f"--force-with-lease={ref}:", "origin", f"HEAD:{ref}")


def test_cloning_pushing_and_the_log(server: HttpOrigin, bare: Repo, here: Repo) -> None:
    assert _push(here).returncode == 0
    assert bare.refs() == {"refs/swarm/x": here.oid("HEAD")}
    assert [(it.method, it.service, it.status) for it in server.requests] == [
        ("GET", "refs-for-push", 200),
        ("POST", "push", 200),
    ]
    assert server.requests[-1].path == "/origin.git/git-receive-pack"
    assert min(server.requests[-1].bytes_in, server.requests[-1].bytes_out) > 0


def test_protocol_v2_asks_for_what_it_wants(server: HttpOrigin, bare: Repo, here: Repo) -> None:
    bare.git("update-ref", "--stdin", input="".join(f"create refs/x/{n} main\n" for n in range(500)))
    here.git("fetch", "-q", "origin", "refs/heads/main")
    assert sum(it.bytes_out for it in server.requests if it.service in ("fetch", "refs-for-fetch")) < 5000


@pytest.mark.parametrize("post_buffer", ["1048576", "1000"])  # the small one makes git send chunks, after a probe
def test_a_large_push(server: HttpOrigin, bare: Repo, here: Repo, post_buffer: str) -> None:
    here.commit({"big": "".join(f"{number * number}\n" for number in range(20_000))})
    server.refuse_next_push_reply()
    for ref, told in (("refs/heads/one", False), ("refs/heads/two", True)):
        pushed = _push(here, ref, "-c", f"http.postBuffer={post_buffer}")
        assert (pushed.returncode == 0) == told
        assert bare.cat(f"{ref}:big").endswith(b"399960001\n")


def test_a_compressed_request(server: HttpOrigin, bare: Repo, here: Repo) -> None:
    """git compresses its list of wants once that is over 1 KiB."""
    blobs = [bare.blob(str(number)) for number in range(30)]
    bare.git("update-ref", "--stdin", input="".join(f"create refs/x/{blob} {blob}\n" for blob in blobs))
    here.git("fetch", "-q", "origin", "refs/x/*:refs/x/*")
    assert set(here.refs("refs/x/").values()) == set(blobs)


def test_a_lost_reply(server: HttpOrigin, bare: Repo, here: Repo) -> None:
    server.refuse_next_push_reply()
    assert _push(here).returncode != 0
    assert len(bare.refs()) == 1
    assert [it.status for it in server.requests] == [200, None]
    assert _push(here, "refs/swarm/y").returncode == 0


def test_a_lost_push(server: HttpOrigin, bare: Repo, here: Repo) -> None:
    server.drop_before_apply(times=2)
    assert [_push(here).returncode != 0 for _ in range(3)] == [True, True, False]
    server.drop_before_apply(service="fetch")
    assert [here.run("fetch", "-q").returncode != 0 for _ in range(2)] == [True, False]


def test_a_late_push(server: HttpOrigin, bare: Repo, here: Repo) -> None:
    server.late()
    assert _push(here).returncode != 0
    assert bare.refs() == {}
    (answer,) = server.land()
    assert b"ok refs/swarm/x" in answer
    assert len(bare.refs()) == 1
    assert server.land() == []


def test_a_late_push_that_another_overtook(server: HttpOrigin, bare: Repo, here: Repo) -> None:
    server.late()
    _push(here)
    here.commit({}, "Another")
    assert _push(here).returncode == 0
    (answer,) = server.land()
    assert b"ng refs/swarm/x" in answer
    assert bare.refs() == {"refs/swarm/x": here.oid("HEAD")}


def test_a_status(server: HttpOrigin, bare: Repo, here: Repo) -> None:
    server.fail_with(403)
    assert b"403" in _push(here).stderr
    server.fail_with(500, service="refs-for-fetch")
    assert b"500" in here.run("fetch").stderr
    assert (bare.refs(), server.armed) == ({}, 0)


def test_a_stall_holds_one_request_and_ends_with_the_server(tmp_path: Path) -> None:
    with HttpOrigin(tmp_path / "served") as server, ThreadPoolExecutor() as pool:
        bare = server.create(files={})
        here = clone(server.url(), tmp_path / "here")
        other = clone(server.url(), tmp_path / "other")
        server.stall(30)
        slow = pool.submit(_push, here)
        for _ in range(1000):
            if server.armed == 0:
                break
            threading.Event().wait(0.01)
        assert _push(other, "refs/swarm/y").returncode == 0
        assert not slow.done()
        assert list(bare.refs()) == ["refs/swarm/y"]
        server.stop()
        assert slow.result().returncode != 0
    assert list(bare.refs()) == ["refs/swarm/y"]


def test_many_at_once_have_one_winner(server: HttpOrigin, bare: Repo, here: Repo) -> None:
    blobs = [here.blob(str(number)) for number in range(24)]

    def push(blob: str) -> bool:
        pushed = here.run("push", "-q", "--force-with-lease=refs/swarm/x:", "origin", f"{blob}:refs/swarm/x")
        return pushed.returncode == 0

    with ThreadPoolExecutor(len(blobs)) as pool:
        won = [blob for blob, it in zip(blobs, pool.map(push, blobs), strict=True) if it]
    assert len(won) == 1
    assert bare.refs() == {"refs/swarm/x": won[0]}
    assert all(request.status == 200 for request in server.requests)


@pytest.mark.parametrize("refuse", [remotes.refuse_namespace, remotes.hide_namespace, remotes.read_only])
def test_refusing_remotes(server: HttpOrigin, bare: Repo, here: Repo, refuse: object) -> None:
    assert callable(refuse)
    refuse(bare)
    assert _push(here).returncode != 0
    assert here.run("fetch", "-q").returncode == 0
    branch = _push(here, "refs/heads/new").returncode == 0
    assert (bare.refs(), branch) == ({}, refuse is not remotes.read_only)


def test_a_hook_that_refuses_also_refuses_through_a_path(tmp_path: Path) -> None:
    bare = origin(tmp_path / "origin.git", {})
    here = clone(bare, tmp_path / "here")
    remotes.refuse_namespace(bare, words="not in this house")
    # What switches the client's hooks off leaves the server's alone.
    assert b"not in this house" in _push(here, "refs/swarm/x", "-c", "core.hooksPath=/dev/null").stderr
    assert _push(here, "refs/heads/new").returncode == 0


def test_a_remote_without_atomic(server: HttpOrigin, bare: Repo, here: Repo) -> None:
    assert _push(here).returncode == 0
    remotes.no_atomic(bare)
    refused = _push(here, "refs/swarm/y")
    assert refused.returncode != 0, refused.stdout
    assert b"--atomic" in refused.stderr, "whatever the language"
    assert list(bare.refs()) == ["refs/swarm/x"]


def test_remotes_that_are_not_there(tmp_path: Path, server: HttpOrigin, here: Repo) -> None:
    for url in (remotes.nobody_home(), remotes.gone(tmp_path), server.url("missing")):
        assert here.run("ls-remote", url).returncode == 128
    assert here.run("ls-remote", server.url()).returncode == 0
