"""What a command may cost: git processes, network operations, modules. Time is measured in `benchmarks/`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.scene import FILES, T1, T2, TASKS, Scene, alone, stage
from tests.support.board import board_files, milestone
from tests.support.git_wrapper import GitWrapper
from tests.support.repo import Files
from tests.support.swarm import start

STONES = [milestone("m1", list(TASKS))]
FULL: Files = {**FILES, **board_files(TASKS.values(), plan=1, manifest=STONES, config={"wip": {"implementation": 3}})}

#: The most git processes, and network operations, that a command without a contender may take.
LOCALLY = {"claim": (6, 0), "status": (5, 0), "check": (6, 0), "renew": (7, 0), "release": (7, 0)}
THROUGH_A_REMOTE = {"claim": (9, 2), "status": (7, 1), "check": (8, 1), "renew": (9, 2), "release": (9, 2)}
ARGUMENTS = {"claim": f"claim {T1}", "release": f"release {T1}"}

# What no claim needs, whatever it may be good for elsewhere.
HEAVY = {"github", "requests", "urllib3", "http", "ssl", "asyncio", "email", "importlib.metadata", "difflib"}
_MODULES = """\
import sys
from claims.cli.main import main
status = main(sys.argv[1:])
print(*sys.modules, file=sys.stderr)
sys.exit(status)
"""


@pytest.mark.parametrize(
    ("build", "files", "budgets"),
    [
        pytest.param(alone, FILES, LOCALLY, id="local"),
        pytest.param(alone, FULL, LOCALLY, id="local, plan and caps"),
        pytest.param(stage, FILES, THROUGH_A_REMOTE, id="remote"),
        pytest.param(stage, FULL, THROUGH_A_REMOTE, id="remote, plan and caps"),
    ],
)
def test_git_processes(
    build: Callable[[Path, Files], Scene], files: Files, budgets: dict[str, tuple[int, int]], tmp_path: Path
) -> None:
    scene = build(tmp_path, files)
    wrapper = GitWrapper(tmp_path / "wrapper")
    for command, (processes, network) in budgets.items():
        wrapper.clear()
        scene.run(ARGUMENTS.get(command, command), env=wrapper.env, ok=True)
        assert 0 < len(wrapper.log) <= processes, f"{command}: {[call.command for call in wrapper.log]}"
        assert len(wrapper.network_operations) <= network, f"{command}: {wrapper.network_operations}"


def test_a_contender_is_counted(tmp_path: Path) -> None:
    """The twin: where base moves under a claim the same count is over the budget."""
    scene = stage(tmp_path)
    wrapper = GitWrapper(tmp_path / "wrapper")
    pause = wrapper.pause("before", "push")
    with start(scene.here, "claim", T1, env={**scene.env, **wrapper.env}) as running:
        pause.wait()
        scene.forge(T2, locks=["spec-lock"])
        pause.resume()
        assert running.wait().code != 0
    assert len(wrapper.network_operations) > THROUGH_A_REMOTE["claim"][1]


@pytest.mark.parametrize("command", ["status", f"claim {T1}", "check", "renew", f"release {T1}", f"show {T1}", "tasks"])
@pytest.mark.parametrize("build", [alone, stage])
def test_modules(build: Callable[[Path, Files], Scene], command: str, tmp_path: Path) -> None:
    scene = build(tmp_path, FULL)
    if command.split()[0] in ("check", "renew", "release"):
        scene.run(f"claim {T1}", ok=True)
    loaded = modules(scene, command)
    assert loaded >= {"click", "claims.git"}
    assert not loaded & (HEAVY | {"ruamel.yaml"})


def test_ruamel_where_a_file_needs_it(tmp_path: Path) -> None:
    """The twin: a manifest that uses more of YAML than the strict reader knows."""
    stone = f"{{id: m1, title: First, status: active, tasks: [{T1}]}}"
    files = {**FULL, ".agents/manifest.yaml": f"plan_revision: 1\nmilestones:\n  - {stone}\n"}
    assert "ruamel.yaml" in modules(alone(tmp_path, files), f"claim {T1}")


def test_hashes_where_a_claim_needs_them(tmp_path: Path) -> None:
    scene = alone(tmp_path)
    assert "hashlib" not in modules(scene, "status")
    assert "hashlib" in modules(scene, f"claim {T1}")


def modules(scene: Scene, command: str) -> set[str]:
    """What is loaded when the command has done its work."""
    arguments = ("-c", _MODULES, *shlex.split(command))
    with start(scene.here, *arguments, env=scene.env, program=Path(sys.executable)) as running:
        result = running.wait()
    assert result.code == 0, result
    return set(result.err.splitlines()[-1].split())
