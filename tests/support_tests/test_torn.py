from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.http_origin import HttpOrigin
from tests.support.repo import Repo, clone, init, origin
from tests.support.torn import killed_at, needs_strace, torn_receive_pack

pytestmark = needs_strace

REFS = [f"refs/x/{number}" for number in range(3)]


def _update_ref(repo: Repo, command: str, k: int, call: str) -> int:
    script = "".join(f"{command} {ref}\0{repo.oid('HEAD')}\0" for ref in REFS)
    argv = [*killed_at(k, call), "git", "update-ref", "--stdin", "-z"]
    return subprocess.run(argv, input=script.encode(), cwd=repo.path, check=False).returncode


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_creating(tmp_path: Path, k: int) -> None:
    repo = init(tmp_path / "repo", {})
    code = _update_ref(repo, "create", k, "rename")
    assert (code, list(repo.refs("refs/x/"))) == (-9 if k < 4 else 0, REFS[: k - 1])
    assert len(repo.locks()) == 4 - k


def test_deleting(tmp_path: Path) -> None:
    """Whatever the number of unlinks before the first ref's own, every tear is met on the way to the end."""
    left = set()
    for k in range(1, 20):
        repo = init(tmp_path / str(k), {})
        assert _update_ref(repo, "create", 9, "rename") == 0
        code = _update_ref(repo, "delete", k, "unlink")
        left.add(len(repo.refs("refs/x/")))
        if code == 0:
            break
    assert left == {0, 1, 2, 3}


@pytest.mark.parametrize("k", [1, 2, 4])
def test_a_file_remote(tmp_path: Path, k: int) -> None:
    bare = origin(tmp_path / "origin.git", {})
    here = clone(bare, tmp_path / "here")
    with torn_receive_pack(here, k):
        code = here.run("push", "-q", "--atomic", "origin", *(f"HEAD:{ref}" for ref in REFS)).returncode
    assert (code == 0, list(bare.refs("refs/x/"))) == (k == 4, REFS[: k - 1])
    assert here.run("push", "-q", "origin", "HEAD:refs/x/later").returncode == 0


@pytest.mark.parametrize("k", [1, 2, 4])
def test_an_http_remote(tmp_path: Path, k: int) -> None:
    with HttpOrigin(tmp_path / "served") as server:
        bare = server.create(files={})
        here = clone(server.url(), tmp_path / "here")
        server.run_next_push_under(killed_at(k))
        code = here.run("push", "-q", "--atomic", "origin", *(f"HEAD:{ref}" for ref in REFS)).returncode
        assert (code == 0, list(bare.refs("refs/x/"))) == (k == 4, REFS[: k - 1])
        assert server.requests[-1].status == (200 if k == 4 else None)
