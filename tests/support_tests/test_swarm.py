from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from tests.support import script
from tests.support.repo import init
from tests.support.swarm import Command, Running, race, start, swarm

STUB = """\
{head}import json, os, pathlib, subprocess, sys, time
here = pathlib.Path.cwd()
if "LATE" in os.environ:
    time.sleep(0.3)
    (here / "seen").write_text(repr(sorted(path.name for path in here.glob("acted-*"))))
def main():
    name = sys.argv[1]
    if name == "claim":
        hashed = ["git", "hash-object", "-w", "--stdin"]
        blob = subprocess.run(hashed, input=os.environ["WHO"], capture_output=True, text=True).stdout.strip()
        made = ["git", "update-ref", "refs/swarm/x", blob, "0" * len(blob)]
        sys.exit(2 if subprocess.run(made, capture_output=True).returncode else 0)
    if name == "act":
        (here / ("acted-" + sys.argv[2])).touch()
    if name == "say":
        print(json.dumps(dict(os.environ)))
    if name == "refuse":
        print(json.dumps(dict(error=dict(code="claim-held", message="m"))), file=sys.stderr)
        sys.exit(2)
    if name == "shout":
        print("x" * 1_000_000)
    if name == "hang":
        print("hanging", flush=True)
        pathlib.Path("stuck").touch()
        time.sleep(60)
if __name__ == "__main__":
    main()
"""


@pytest.fixture
def stub(tmp_path: Path) -> Path:
    path = tmp_path / "stub"
    path.write_text(STUB.format(head=script.head()))
    path.chmod(0o755)
    (tmp_path / "swarm_stub.py").write_text(path.read_text())
    return path


def test_a_result_holds_what_was_said(tmp_path: Path, stub: Path) -> None:
    said = swarm(tmp_path, "say", env={"WHO": "a1", "TZ": None}, program=stub, ok=True)
    assert said.json["WHO"] == "a1"
    assert "TZ" not in said.json
    assert said.error_code is None
    refused = swarm(tmp_path, "refuse", program=stub, ok=False)
    assert (refused.code, refused.error["message"], refused.error_code) == (2, "m", "claim-held")
    with pytest.raises(AssertionError, match="claim-held"):
        swarm(tmp_path, "refuse", program=stub, ok=True)


@pytest.mark.parametrize("warm", [True, False])
def test_a_race_has_one_winner(tmp_path: Path, stub: Path, warm: bool) -> None:
    repo = init(tmp_path / "repo", {})
    environments = [{"WHO": f"a{number}", "PYTHONPATH": str(tmp_path)} for number in range(6)]
    results = race(
        [Command(repo, ["claim"], env) for env in environments],
        warm=warm,
        program=stub,
        entry="swarm_stub:main",
    )
    assert sorted(result.code for result in results) == [0, 2, 2, 2, 2, 2]
    winner = [result.code for result in results].index(0)
    assert repo.cat("refs/swarm/x").decode() == f"a{winner}"


def test_nobody_acts_before_the_last_is_ready(tmp_path: Path, stub: Path) -> None:
    path = {"PYTHONPATH": str(tmp_path)}
    race([(tmp_path, ["act", "a"], path), (tmp_path, ["act", "b"], path | {"LATE": "1"})], entry="swarm_stub:main")
    assert (tmp_path / "seen").read_text() == "[]"
    assert len(list(tmp_path.glob("acted-*"))) == 2


def test_a_race_reads_any_output_and_says_who_cannot_start(tmp_path: Path, stub: Path) -> None:
    loud = race([(tmp_path, ["shout"], None)] * 2, warm=False, program=stub)
    assert [len(result.out) for result in loud] == [1_000_001] * 2
    with pytest.raises(AssertionError, match=r"No module named .no_such_module"):
        race([(tmp_path, ["shout"], None)] * 2, entry="no_such_module:main")


def test_a_race_ends_at_its_deadline(tmp_path: Path, stub: Path) -> None:
    with pytest.raises(AssertionError, match=r"did not end.*\nhanging"):
        race([(tmp_path, ["shout"], None), (tmp_path, ["hang"], None)], warm=False, program=stub, seconds=1.5)


def test_a_process_in_the_background(tmp_path: Path, stub: Path) -> None:
    with start(tmp_path, "hang", program=stub) as running:
        _until_said(running, "hanging\n")
        assert not running.ended
        running.signal(signal.SIGTERM)
        assert running.wait().code == -signal.SIGTERM
    with start(tmp_path, "hang", program=stub) as running:
        pass
    assert running.ended


def _until_said(running: Running, text: str) -> None:
    for _ in range(1000):
        if running.output() == text:
            return
        time.sleep(0.01)
    raise AssertionError(f"said {running.output()!r}")
