from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import seal


def test_nothing_is_inherited_that_changes_git_or_us(tmp_path: Path) -> None:
    inherited = dict.fromkeys(("GIT_DIR", "GITHUB_TOKEN", "GH_TOKEN", "SWARM_AGENT", "https_proxy", "LC_TIME"), "x")
    sealed = seal.environment({**inherited, "PATH": "/bin"}, tmp_path, "sha1", None)
    assert not inherited.keys() & sealed.keys()
    assert sealed["PATH"] == "/bin"


def test_a_locale_reaches_child_processes(tmp_path: Path) -> None:
    sealed = seal.environment({"LANG": "en_GB.UTF-8"}, tmp_path, "sha1", "de_DE.UTF-8")
    assert (sealed["LC_ALL"], sealed["LANGUAGE"]) == ("de_DE.UTF-8", "de_DE")


def test_the_seal_is_around_this_test(request: pytest.FixtureRequest) -> None:
    home = Path(os.environ["HOME"])
    assert Path.cwd() == home
    assert [path.name for path in home.iterdir()] == ["gitconfig"]
    shown = subprocess.run(["git", "config", "--list", "--show-origin"], capture_output=True, text=True, check=True)
    assert {line.split("\t")[0] for line in shown.stdout.splitlines()} == {f"file:{home}/gitconfig"}
    assert os.environ["GIT_DEFAULT_HASH"] == request.config.getoption("--object-format")


@pytest.mark.parametrize("host", ["192.0.2.1", "2001:db8::1", "example.invalid", "127.0.0.1.example.invalid"])
def test_no_way_out(host: str) -> None:
    guard = seal.LoopbackOnly()
    with pytest.MonkeyPatch.context() as patch:
        guard.install(patch)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with socket.socket(family) as sock, pytest.raises(pytest.fail.Exception, match="only loopback"):
            sock.connect((host, 9))
        with pytest.raises(pytest.fail.Exception, match="only loopback"):
            socket.create_connection((host, 9), timeout=1)
    assert guard.attempts == [repr(host)] * 2


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_loopback_is_open(host: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection((host, server.getsockname()[1]), timeout=5).close()


def test_rounds(rounds: Callable[[int], int], request: pytest.FixtureRequest) -> None:
    full = bool(request.config.getoption("--full"))
    assert [rounds(n) for n in (1, 20, 60)] == ([1, 20, 60] if full else [1, 2, 6])
    assert request.node.get_closest_marker("full")
