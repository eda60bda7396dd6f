"""The fake of GitHub, and the description that it is held to."""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from claims.errors import Undecided
from gate.github.api import Api
from tests.support.github.digest import DIGEST, digest
from tests.support.github.fake import Fake
from tests.support.github.openapi import NotAsDescribed
from tests.support.github.state import REPOSITORY

#: The package that the digest was made of.
PACKAGE = "@octokit/openapi@23.0.2"


def test_the_digest_is_what_github_describes(tmp_path: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    done = subprocess.run([npm, "pack", "--silent", PACKAGE], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        pytest.skip(f"{PACKAGE} could not be fetched: {done.stderr[-200:]}")
    (packed,) = tmp_path.glob("*.tgz")
    with tarfile.open(packed) as package:
        described = package.extractfile("package/generated/api.github.com.json")
        assert described is not None
        assert digest(json.load(described)) == json.loads(DIGEST.read_text(encoding="utf-8"))


def api_of(fake: Fake) -> Api:
    return Api(REPOSITORY, "token", fake.url, lambda _: None)


@pytest.mark.parametrize(
    ("path", "params"),
    [("/pulls/7", {"colour": "red"}), ("/nothing/there", {}), ("/pulls/7/commits", {"page": "many"})],
)
def test_what_is_not_described_fails_the_test(path: str, params: dict[str, str]) -> None:
    with pytest.raises(NotAsDescribed), Fake() as fake:
        fake.state.pull(7, "topic", "1" * 40)
        with pytest.raises(Undecided):
            api_of(fake).get(path, **params)


def test_an_answer_that_github_would_not_give_fails_the_test() -> None:
    with pytest.raises(NotAsDescribed), Fake() as fake:
        fake.state.pull(7, "topic", "1" * 40)["number"] = "seven"
        api_of(fake).get("/pulls/7")


def test_a_fake_that_breaks_fails_the_test() -> None:
    with pytest.raises(NotAsDescribed, match="KeyError"), Fake() as fake:
        fake.state.pull(7, "topic", "1" * 40)
        fake.state.comments[1] = {"id": 1}
        with pytest.raises(Undecided):
            api_of(fake).pages("/issues/7/comments", 10)


def test_what_is_described_does_not() -> None:
    with Fake() as fake:
        fake.state.pull(7, "topic", "1" * 40)
        assert api_of(fake).get("/pulls/7")["number"] == 7
