"""The workflows and the action: what they have to be, and each edit that must not pass unnoticed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from claims.errors import Usage
from gate.github.init import WORKFLOWS, files, installed_action
from gate.github.workflow_check import check_workflow

ROOT = Path(__file__).parents[2]
ACTION = f"octo-org/swarm@{'1' * 40}"
GATE = f"{WORKFLOWS}/provenance-gate.yml"
PINNED = files(["main"], ACTION, labels=False)[GATE]
OURS = (ROOT / GATE).read_text(encoding="utf-8")

STEP = "      - uses: octo-org/swarm/gate@" + "1" * 40
CHECKOUT = "      - uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1\n"
#: An edit of the workflow, and words of what is said of it.
FORBIDDEN = {
    "a checkout of the head": (
        STEP,
        f"{CHECKOUT}        with:\n          ref: ${{{{ github.event.pull_request.head.sha }}}}\n{STEP}",
        "a step that it needs not",
    ),
    "a checkout": (STEP, f"{CHECKOUT}{STEP}", "a step that it needs not"),
    "a cache": (STEP, f"      - uses: actions/cache@{'2' * 40}\n{STEP}", "a step that it needs not"),
    "an install": (STEP, f"      - run: pip install swarm-gate\n{STEP}", "a step that it needs not"),
    "a step after it": (STEP, f"{STEP}\n      - run: echo done", "last step"),
    "a job that is skipped": ("    runs-on:", "    if: github.actor != 'x'\n    runs-on:", "'if'"),
    "a step that is skipped": (STEP, f"{STEP}\n        if: false", "'if'"),
    "a failure that passes": (STEP, f"{STEP}\n        continue-on-error: true", "'continue-on-error'"),
    "a job whose failure passes": ("    runs-on:", "    continue-on-error: true\n    runs-on:", "'continue-on-error'"),
    "a branch in place of a commit": ("1" * 40, "main", "by a full commit id"),
    "a tag in place of a commit": ("1" * 40, "v1", "by a full commit id"),
    "a short id": ("1" * 40, "1" * 39, "by a full commit id"),
    "another permission": ("      contents: read", "      contents: write", "other permissions"),
    "one permission more": ("      contents: read", "      contents: read\n      checks: write", "other permissions"),
    "permissions at the top": ("permissions: {}", "permissions: write-all", "at the top"),
    "no permissions at the top": ("permissions: {}\n", "", "at the top"),
    "a secret": (STEP, f"{STEP}\n        with:\n          token: ${{{{ secrets.PAT }}}}", "another token"),
    "a secret in the environment": ("jobs:", "env:\n  PAT: ${{ secrets.PAT }}\njobs:", "'env'"),
    "secrets for the job": ("    runs-on:", "    env:\n      PAT: ${{ secrets.PAT }}\n    runs-on:", "'env'"),
    "a filter of paths": ('    branches: ["main"]', '    branches: ["main"]\n    paths: ["src/**"]', "'paths'"),
    "paths that are left out": (
        '    branches: ["main"]',
        '    branches: ["main"]\n    paths-ignore: [docs]',
        "'paths-ignore'",
    ),
    "an event that is gone": ("reopened, ", "", "other types"),
    "edited, by which base is changed": ("edited, ", "", "other types"),
    "a type too many": ("opened, synchronize", "opened, labeled, synchronize", "other types"),
    "no merge queue": ("  merge_group:\n    types: [checks_requested]\n", "  x:\n", "merge_group does not start it"),
    "the pull request's own copy": ("pull_request_target:", "pull_request:", "pull_request_target does not start it"),
    "by hand": ("  merge_group:", "  workflow_dispatch:\n  merge_group:", "'workflow_dispatch'"),
    "another branch": ('branches: ["main"]', 'branches: ["next"]', "for main alone"),
    "all branches": ('    branches: ["main"]\n', "", "for main alone"),
    "another name": ("name: provenance-gate (main)", "name: gate", "not called"),
    "a name from the event": (
        "name: provenance-gate (main)",
        "name: provenance-gate (${{ github.base_ref }})",
        "not called",
    ),
    "a runner of one's own": ("runs-on: ubuntu-latest", "runs-on: self-hosted", "runner"),
    "a container": ("    runs-on:", "    container: evil\n    runs-on:", "'container'"),
    "runs that end each other": ("cancel-in-progress: false", "cancel-in-progress: true", "concurrency"),
    "a second job": ("jobs:", "jobs:\n  other:\n    runs-on: ubuntu-latest\n    steps: []", "not one job"),
    "defaults": ("jobs:", "defaults:\n  run:\n    shell: evil {0}\njobs:", "'defaults'"),
    "an anchor": ("permissions: {}", "permissions: &none {}", "does not read"),
}


@pytest.mark.parametrize("base", ["main", "release/1.x"])
def test_what_init_writes_is_sound(base: str) -> None:
    for action in (ACTION, "./gate"):
        (text,) = files([base], action, labels=False).values()
        assert check_workflow(text.encode(), base) == []


@pytest.mark.parametrize("edit", FORBIDDEN)
def test_a_forbidden_edit_is_noticed(edit: str) -> None:
    old, new, words = FORBIDDEN[edit]
    assert old in PINNED, "the edit changes nothing"
    faults = check_workflow(PINNED.replace(old, new).encode(), "main")
    assert any(words in fault for fault in faults), faults


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("${{ github.event.repository.default_branch }}", "${{ github.event.pull_request.head.sha }}"),
        ("          ref: ${{ github.event.repository.default_branch }}\n", ""),
        ("persist-credentials: false", "persist-credentials: true"),
        ("          path: default-branch\n", ""),
        ("actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1", "actions/checkout@v7"),
        ("./default-branch/gate", "./gate"),
    ],
)
def test_in_ours_the_checkout_is_of_the_default_branch(old: str, new: str) -> None:
    assert check_workflow(OURS.encode(), "main") == []
    assert old in OURS
    assert check_workflow(OURS.replace(old, new).encode(), "main") != []


def test_the_comment_needs_one_permission_and_asks_for_it() -> None:
    wide = PINNED.replace("pull-requests: read", "pull-requests: write")
    assert check_workflow(wide.encode(), "main") != []
    asked = wide.replace(STEP, f"{STEP}\n        with:\n          comment: true")
    assert check_workflow(asked.encode(), "main") == []


def test_ours_are_what_init_writes() -> None:
    for path, text in files(["main"], "./gate", labels=True).items():
        assert (ROOT / path).read_text(encoding="utf-8") == text, f"swarm-gate init --action ./gate --labels: {path}"


def test_a_file_for_each_base() -> None:
    found = files(["main", "release/1", "main"], ACTION, labels=True)
    names = [path.rpartition("/")[2] for path in found]
    assert names == ["provenance-gate.yml", "provenance-gate-release-1.yml", "agent-triage.yml", "agent-attempt.yml"]
    assert "name: provenance-gate (release/1)" in found[f"{WORKFLOWS}/provenance-gate-release-1.yml"]


@pytest.mark.parametrize("bases", [["a", "b/c", "b-c"], ["x${{y}}"], ["we+ird"], ["-x"], ["x y"], ["ünder"]])
def test_bases_that_no_workflow_can_name(bases: list[str]) -> None:
    with pytest.raises(Usage):
        files(bases, ACTION, labels=False)


@pytest.mark.parametrize(
    "action", ["octo-org/swarm", "octo-org/swarm@main", "swarm@" + "1" * 40, f"{ACTION}\n", "./x", ""]
)
def test_an_action_is_pinned_by_its_whole_commit(action: str) -> None:
    with pytest.raises(Usage):
        files(["main"], action, labels=False)


def test_the_installed_version_may_know_its_commit() -> None:
    commit = "a" * 40
    vcs = {"vcs": "git", "commit_id": commit}
    recorded = json.dumps({"url": "https://github.com/octo-org/swarm.git", "vcs_info": vcs})
    assert installed_action(recorded) == f"octo-org/swarm@{commit}"
    elsewhere = recorded.replace("github.com", "example.org")
    for other in (None, "", "[]", '{"url": "file:///x", "dir_info": {}}', elsewhere):
        assert installed_action(other) is None


def test_every_package_of_the_action_is_pinned_and_hashed() -> None:
    text = (ROOT / "gate" / "requirements.txt").read_text(encoding="utf-8")
    entries = [one for one in re.sub(r"#.*\n", "", text).replace("\\\n", " ").splitlines() if one.strip()]
    assert all(re.fullmatch(r"[a-z0-9-]+==[0-9][\w.]*(?: +--hash=sha256:[0-9a-f]{64})+ *", one) for one in entries)
    names = {one.partition("==")[0] for one in entries}
    assert {"pygithub", "ruamel-yaml", "click", "requests"} <= names
    assert "://" not in text


def run(program: str, *arguments: str) -> None:
    """Run a linter that may not be installed."""
    found = shutil.which(program, path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if found is None:
        pytest.skip(f"{program} is not installed")
    done = subprocess.run([found, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def workflows() -> Sequence[str]:
    return [str(path) for path in sorted((ROOT / WORKFLOWS).glob("*.yml"))]


def test_zizmor_finds_nothing() -> None:
    run("zizmor", "--offline", "--no-progress", "--quiet", ".github", "gate/action.yml")


def test_actionlint_finds_nothing() -> None:
    run("actionlint", *workflows())


def test_they_are_as_the_schemas_say() -> None:
    run("check-jsonschema", "--builtin-schema", "vendor.github-workflows", *workflows())
    run("check-jsonschema", "--builtin-schema", "vendor.github-actions", "gate/action.yml")


def test_one_thing_is_ignored_and_in_ours_another() -> None:
    assert re.findall(r"zizmor: ignore\[([a-z-]+)\]", PINNED) == ["dangerous-triggers"]
    assert re.findall(r"zizmor: ignore\[([a-z-]+)\]", OURS) == ["dangerous-triggers", "self-repository"]
