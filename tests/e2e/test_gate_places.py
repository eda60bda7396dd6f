"""The same pull request has the same verdict wherever it is judged, in either object format."""

from __future__ import annotations

import os
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from claims.names import Branch, RefName
from gate.evidence import Facts
from gate.fetched import Source, judge_fetched
from tests.support.board import board_files, moved, task_file, task_id
from tests.support.repo import Repo, clone, origin
from tests.support.swarm import swarm, swarm_gate

TASK = task_id(1)
BRANCH = "agent/one"


def stage(folder: Path, honest: bool) -> tuple[Repo, Repo]:
    """A base that moved on, a clone with a finished branch, and that branch pushed."""
    hub = origin(folder / "origin.git", {**board_files([task_file(TASK, paths=["src/"])]), "src/a.py": "a\n" * 9})
    hub.git("config", "uploadpack.allowFilter", "true")
    hub.git("config", "uploadpack.allowAnySHA1InWant", "true")
    work = clone(hub, folder / "work")
    work.branch(BRANCH)
    swarm(work, "claim", TASK, "--agent", "one", ok=True)
    work.commit({"src/a.py": "b\n" + "a\n" * 9, **({} if honest else {"docs/x.md": "outside\n"})}, "Work")
    work.commit(moved(task_file(TASK, paths=["src/"]), "done"), "Finish")
    hub.commit({"src/a.py": "a\n" * 9 + "c\n"}, "Base moves on")
    work.git("push", "-q", "origin", f"{BRANCH}:{BRANCH}", f"{BRANCH}:refs/pull/1/head")
    work.git("fetch", "-q", "origin")
    return hub, work


def told(repo: Repo, base: str, head: str, *args: str) -> dict[str, Any]:
    result = swarm_gate(repo, "pr", "--base", base, "--head", head, "--head-branch", BRANCH, "--json", *args)
    assert result.out, result
    value = result.json
    assert isinstance(value, dict), result
    return value


@pytest.mark.parametrize("honest", [True, False])
@pytest.mark.parametrize("form", ["sha1", "sha256"])
def test_everywhere(form: str, honest: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DEFAULT_HASH", form)
    hub, work = stage(tmp_path, honest)
    there = work.worktree("there", "elsewhere")
    mirror = clone(hub, tmp_path / "mirror.git", "--mirror")
    shared = clone(hub, tmp_path / "shared", "--shared")
    partial = clone(hub.url, tmp_path / "partial", "--filter=blob:none", "--no-checkout")
    partial.git("rev-list", "--objects", "--all", "--missing=allow-any")
    everywhere = {
        "clone": told(work, "origin/main", BRANCH),
        "worktree": told(there, "origin/main", BRANCH),
        "shared clone": told(shared, "origin/main", f"origin/{BRANCH}"),
        "the origin itself": told(hub, "main", BRANCH, "--claims", "local"),
        "bare mirror": told(mirror, "main", BRANCH, "--claims", "local"),
    }
    source = Source(hub.url, RefName("refs/heads/main"), RefName("refs/pull/1/head"), None, form)
    facts = Facts(Branch("main"), datetime.now(timezone.utc), Branch(BRANCH))
    everywhere["fetched"] = judge_fetched(source, facts, os.environ).to_json()
    for where, verdict in everywhere.items():
        assert verdict == everywhere["clone"], where
    assert everywhere["clone"]["verdict"] == ("pass" if honest else "fail")
    assert len(everywhere["clone"]["head"]["commit"]) == (40 if form == "sha1" else 64)
    # A clone without files either has what it takes or says what is missing: it never says pass for want of a file.
    result = swarm_gate(
        partial, "pr", "--base", "origin/main", "--head", f"origin/{BRANCH}", "--head-branch", BRANCH, "--json"
    )
    assert result.code == 3 and result.error["code"] == "evidence-incomplete", result
    assert "git fetch" in result.error["hint"]


@pytest.mark.parametrize("honest", [True, False])
def test_a_shallow_clone_has_to_be_told_more(tmp_path: Path, honest: bool) -> None:
    hub, _ = stage(tmp_path, honest)
    shallow = clone(f"file://{hub.path}", tmp_path / "shallow", "--depth", "1", "--no-single-branch")
    result = swarm_gate(
        shallow, "pr", "--base", "origin/main", "--head", f"origin/{BRANCH}", "--head-branch", BRANCH, "--json"
    )
    assert result.code != 0
    if result.code == 3:
        assert result.error["code"] == "evidence-incomplete"
        shallow.git("fetch", "-q", "--unshallow")
    assert told(shallow, "origin/main", f"origin/{BRANCH}")["verdict"] == ("pass" if honest else "fail")
