"""The gate's workflow as `act` runs it: the action, installed from its own checkout, on events as GitHub sends them.

Against a git server on loopback and the fake of GitHub's API. Skipped where `act` is not installed.
"""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gate.github.init import files
from tests.support.github.scene import ONE, TWO, Scene, on_github
from tests.support.github.state import repository
from tests.support.repo import init

ROOT = Path(__file__).parents[2]
EVENTS = ROOT / "fixtures" / "github" / "events"
ACTION = f"swarm-test/swarm@{'1' * 40}"
ACT = shutil.which("act", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")

pytestmark = pytest.mark.skipif(ACT is None, reason="act is not installed")


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with on_github(tmp_path) as made:
        yield made


@dataclass
class Job:
    """What a run of the workflow left: its result, its annotations, the summary, the outputs, and the whole log."""

    result: str
    annotations: list[tuple[str, Mapping[str, str], str]]
    summary: str
    outputs: Mapping[str, str]
    log: str

    @property
    def verdict(self) -> Any:
        return json.loads(self.outputs["json"])


def act(scene: Scene, tmp_path: Path, event: str, payload: object, trigger: str = "pull_request_target") -> Job:
    """Run the workflow that `init` writes, with another trigger where one is named."""
    written = files(["main"], ACTION, labels=False)
    texts = {name: text.replace("pull_request_target", trigger) for name, text in written.items()}
    place = init(tmp_path / "checkout", texts)
    path = tmp_path / "payload.json"
    path.write_text(json.dumps(payload), encoding="utf-8")
    assert ACT is not None
    told = {name: scene.environ[name] for name in ("GITHUB_API_URL", "GITHUB_SERVER_URL", "GITHUB_REPOSITORY")}
    line = [ACT, event, "-P", "ubuntu-latest=-self-hosted", "--no-cache-server", "--pull=false", "--json"]
    line += ["-e", str(path), "--local-repository", f"{ACTION}={ROOT}", "-s", "GITHUB_TOKEN=ghs_loopback"]
    for name, value in told.items():
        line += ["--env", f"{name}={value}"]
    # The machine's own pip configuration says where packages come from; the seal's home has none.
    env = {**os.environ, "HOME": str(tmp_path / "home"), **pip_configuration()}
    done = subprocess.run(line, cwd=place.path, env=env, capture_output=True, text=True, timeout=120)
    entries = [json.loads(one) for one in done.stdout.splitlines() if one.startswith("{")]
    results = [one["jobResult"] for one in entries if "jobResult" in one]
    assert results, done.stdout[-2000:] + done.stderr[-2000:]
    # Of the step that judges; act tells those of the action, which are the same, more than once.
    told_of = [one for one in entries if one.get("command") == "set-output" and one["stepID"][-1] == "judge"]
    outputs = {one["name"]: one["arg"] for one in told_of}
    shown = [
        (one["command"], one.get("kvPairs") or {}, one["arg"])
        for one in entries
        if one.get("command") in ("error", "notice", "warning")
    ]
    summary = next((one["content"] for one in entries if one.get("command") == "summary"), "")
    return Job(results[-1], shown, summary, outputs, done.stdout)


def pip_configuration() -> Mapping[str, str]:
    """What this machine's user has told pip of where packages are."""
    home = Path(pwd.getpwuid(os.getuid()).pw_dir)
    found = [home / ".config" / "pip" / "pip.conf", home / ".pip" / "pip.conf"]
    there = [str(path) for path in found if path.is_file()]
    return {"PIP_CONFIG_FILE": there[0]} if there else {}


def pull_request(number: int, action: str = "opened") -> Any:
    """The payload, of which the number alone is true."""
    payload = json.loads((EVENTS / "pull_request.json").read_text(encoding="utf-8"))
    payload["action"], payload["number"], payload["pull_request"]["number"] = action, number, number
    return payload


def merge_group(number: int, below: str, tip: str) -> Any:
    payload = json.loads((EVENTS / "merge_group.json").read_text(encoding="utf-8"))
    ref = f"refs/heads/gh-readonly-queue/main/pr-{number}-{below}"
    payload["merge_group"] |= {"head_sha": tip, "head_ref": ref, "base_ref": "refs/heads/main"}
    return payload


def test_a_pull_request_that_passes(scene: Scene, tmp_path: Path) -> None:
    head = scene.task(7, ONE)
    job = act(scene, tmp_path, "pull_request_target", pull_request(7))
    assert (job.result, job.annotations) == ("success", [])
    assert job.outputs["verdict"] == "pass" and job.outputs["task"] == ONE
    assert (job.verdict["head"]["commit"], job.verdict["trust"]) == (head, "recorded")
    assert job.summary.startswith("## ✅ swarm-gate: pass\n")


def test_a_fork_with_hostile_names_fails(scene: Scene, tmp_path: Path) -> None:
    """Nothing that a pull request named is a command to the runner, or ends what the gate says."""
    scene.work.git("switch", "-q", "-c", f"agent/{ONE}", "origin/main")
    names = ["docs/::error::forged", "docs/##[error]forged", "docs/a\n::warning::forged", "docs/|x|`y`<img src=x>"]
    scene.work.commit({f"{name}.md": "x\n" for name in names}, "::error::forged")
    scene.open(7, f"agent/{ONE}", {"login": "passer-by", "id": 202, "type": "User"})
    scene.fake.state.pulls[7]["head"]["repo"] = repository("someone/widgets", 99)
    scene.fake.state.pulls[7]["title"] = "::set-output name=verdict::pass"
    job = act(scene, tmp_path, "pull_request_target", pull_request(7, "edited"))
    assert (job.result, job.outputs["verdict"]) == ("failure", "fail")
    assert job.verdict["head"]["repository"] == "someone/widgets"
    assert len([one for one in job.annotations if one[0] == "error"]) == 10
    assert {one[1]["title"].split(":")[0] for one in job.annotations} == {"swarm-gate"}
    assert "<img" not in job.summary and "\n::" not in job.summary


def test_a_merge_group_whose_lower_entry_is_bad(scene: Scene, tmp_path: Path) -> None:
    scene.task(7, ONE, outside=True)
    first = scene.queue(7, "origin/main")
    scene.claimed_by_hand(8, TWO)
    tip = scene.queue(8, first)
    job = act(scene, tmp_path, "merge_group", merge_group(8, first, tip))
    assert (job.result, job.outputs["verdict"]) == ("failure", "fail")
    assert [unit["verdict"] for unit in job.verdict["units"]] == ["fail", "pass"]
    ((kind, told, words),) = job.annotations
    assert (kind, told["title"], told["file"]) == ("error", "swarm-gate: paths-inside", "docs/x.md")
    assert "### Unit 2" in job.summary and words


def test_another_event_decides_nothing(scene: Scene, tmp_path: Path) -> None:
    """A workflow that somebody wrote with another trigger fails."""
    scene.task(7, ONE)
    job = act(scene, tmp_path, "pull_request", pull_request(7), trigger="pull_request")
    assert (job.result, job.outputs["verdict"]) == ("failure", "error")
    assert job.verdict["error"]["code"] == "evidence-incomplete"
