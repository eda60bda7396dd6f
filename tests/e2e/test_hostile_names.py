"""Names from outside: agents, branches, reasons, remotes, folders and files, as odd as git or a shell lets them be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.e2e.scene import T1, T2, Scene, alone, stage
from tests.support.board import task_file
from tests.support.repo import Repo, clone
from tests.support.swarm import Result


def typed(scene: Scene, *args: str | bytes, repo: Repo | None = None) -> Result:
    """Run a command with arguments that no shell would split."""
    return scene.run([os.fsdecode(word) for word in args], at=repo)


NO_AGENTS = [
    *(("option", name) for name in ("a\nb", "-x", "--", "agënt", "a" * 101, "a" * 300, "a b", "a\t", "\x1b", b"\xff")),
    *((how, name) for how in ("variable", "config") for name in ("a\nb", "-x", b"\xff")),
]


@pytest.mark.parametrize(("how", "name"), NO_AGENTS)
def test_an_agent_whose_name_is_none(how: str, name: str | bytes, tmp_path: Path) -> None:
    scene = alone(tmp_path)
    scene.env["SWARM_AGENT"] = None
    args: list[str | bytes] = ["claim", T1, "--json"]
    if how == "option":
        args += ["--agent", name]
    elif how == "variable":
        scene.env["SWARM_AGENT"] = os.fsdecode(name)
    else:
        scene.here.git("config", "swarm.agent", os.fsdecode(name))
    told = typed(scene, *args)
    assert (told.code, told.error_code) == (64, "usage")
    assert scene.here.refs() == {}


@pytest.mark.parametrize("name", ["a" * 100, "codex:auth", "a@b/c+d.e_f-g", "0", "_", "+x", "@"])
def test_an_agent_whose_name_is_one(name: str, tmp_path: Path) -> None:
    scene = alone(tmp_path)
    assert scene.claims(f"claim {T1} --agent {name}")["agent"] == name


#: Branches that git lets one be on. None: a claim cannot hold the name.
BRANCHES: list[tuple[str | bytes, bool]] = [
    ("zweig/für-ä", True),
    ("b" * 240, True),
    ("/".join(["b" * 120] * 5), True),
    ("#1;$(id)`id`'b\"c", True),
    ("x/HEAD", True),
    ("-dash", False),
    ("HEAD", False),
    (b"caf\xe9", False),
    ("right-to-left-\u202e", False),
    ("zero-width-\u200b", False),
    ("c1-\x85", False),
]


@pytest.mark.parametrize(("name", "sound"), BRANCHES, ids=[ascii(name)[:40] for name, _ in BRANCHES])
def test_a_branch(name: str | bytes, sound: bool, tmp_path: Path) -> None:
    """Where a claim cannot hold the name, the claim is refused: written, it could never be read again."""
    scene = stage(tmp_path)
    branch = os.fsdecode(name)
    scene.here.git("update-ref", f"refs/heads/{branch}", "main")
    scene.here.git("symbolic-ref", "HEAD", f"refs/heads/{branch}")
    said = typed(scene, "claim", T1, "--json")
    if sound:
        assert (said.code, said.json["branch"]) == (0, branch)
        assert [it["state"] for it in scene.claims("status")["claims"]] == ["active"]
        scene.run("check", ok=True)
    else:
        assert (said.code, said.error_code) == (1, "detached-head"), said
        assert scene.arbiter.refs() == {}
        scene.run("status", ok=True)


@pytest.mark.parametrize("name", ["a\nb", "-x", "a..b", "HEAD", "x.lock", "b" * 300, "a\x7f", b"\xff"])
def test_a_branch_that_is_typed(name: str | bytes, tmp_path: Path) -> None:
    scene = alone(tmp_path)
    told = typed(scene, "claim", T1, "--json", "--branch", name)
    assert (told.code, told.error_code) == (64, "usage")
    assert typed(scene, "claim", T1, "--branch", "ab").code == 0


def test_a_reason_is_one_line_of_text(tmp_path: Path) -> None:
    scene = alone(tmp_path)
    scene.run(f"claim {T1}", ok=True)
    for reason in ("a\x1bb", "a\x07b", "x" * 1001, "\n \t", "\u202e", b"\xff"):
        assert typed(scene, "release", "--reason", reason).code == 64
    released = typed(scene, "release", "--json", "--reason", "needs  a\nGrößen-Entscheidung \U0001f600")
    assert released.json["closed"]["reason"] == "needs a Größen-Entscheidung \U0001f600"
    said = scene.run(f"claim {T1}", ok=True)
    assert "needs a Größen-Entscheidung \U0001f600" in said.err


@pytest.mark.parametrize("name", ["two words", "-dash", "größe", "a'b\"c", "$(id)", "n" * 250, b"caf\xe9"])
def test_a_folder(name: str | bytes, tmp_path: Path) -> None:
    scene = stage(tmp_path)
    repo = clone(scene.arbiter, tmp_path / os.fsdecode(name))
    repo.branch("there")
    for args in (["claim", T1], ["-C", str(repo.path), "check"], ["release"]):
        assert typed(scene, *args, repo=repo).code == 0


def test_a_folder_with_a_line_end_is_refused(tmp_path: Path) -> None:
    scene = stage(tmp_path)
    told = typed(scene, "claim", T1, "--json", repo=clone(scene.arbiter, tmp_path / "two\nlines"))
    assert (told.code, told.error_code) == (3, "git-failed")
    assert scene.arbiter.refs() == {}


@pytest.mark.parametrize("name", ["-x", "../here", "a b", "https://host.invalid/x", "\n", "origin\n"])
def test_a_remote_is_one_that_is_set_up(name: str, tmp_path: Path) -> None:
    scene = stage(tmp_path)
    told = typed(scene, "claim", T1, "--json", "--remote", name)
    assert (told.code, told.error_code) == (3, "remote-unreachable")
    assert scene.arbiter.refs() == {}


def test_files_of_any_name_in_an_overlap(tmp_path: Path) -> None:
    """Paths are bytes; those that two claims share are named without what would break the line."""
    scene = stage(tmp_path)
    names = ["src/two\nlines", "src/größe", "src/-dash", "src/\x1b[2J", os.fsdecode(b"src/caf\xe9")]
    here = scene.here
    here.commit(dict.fromkeys(names, "x\n"))
    here.git("push", "-q", "origin", "work:main")
    scene.put(task_file(T1, paths=["src/"]), task_file(T2, paths=["src/"]))
    scene.forge(T2)
    told = scene.claims(f"claim {T1}")
    (warning,) = [it for it in told["warnings"] if it["code"] == "overlap"]
    assert len(warning["details"]["paths"]) == 2 + len(names)
    assert all(path.isprintable() for path in warning["details"]["paths"])
    said = scene.run("status", ok=True)
    assert said.out.replace("\n", "").isprintable()


def test_a_token_of_any_bytes(tmp_path: Path) -> None:
    scene = alone(tmp_path)
    scene.run(f"claim {T1}", ok=True)
    for token in ("", "-x", "a\nb", b"\xff\xfe", "t" * 100_000):
        told = typed(scene, "renew", "--json", "--token", token)
        assert told.code == 0 if token == "" else told.error_code == "stale-token", token
