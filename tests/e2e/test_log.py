"""`swarm log`: what ended, newest first, from the log and from the archive, and no trace of having looked."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest

from tests.e2e.logs import ARCHIVE, LOG, Ended, archive_path, log_refs, write_blobs, write_log
from tests.e2e.scene import T1, T2, T3, Scene, alone, stage
from tests.support.board import board_files, task_file, task_id
from tests.support.http_origin import HttpOrigin
from tests.support.remotes import gone
from tests.support.repo import Repo, clone, origin
from tests.support.swarm import swarm

T9 = task_id(9)


@pytest.fixture(params=["local", "remote"])
def scene(request: pytest.FixtureRequest, tmp_path: Path) -> Scene:
    return alone(tmp_path) if request.param == "local" else stage(tmp_path)


def everything_in(folder: Path) -> dict[str, bytes]:
    """Every file of a repository, git's own too."""
    found = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def archive_of(where: Repo, records: dict[str, bytes]) -> str:
    """An archive as prune writes it, made by hand: path to record."""
    env = {**os.environ, "GIT_INDEX_FILE": str((where.path / "archive-index").absolute())}
    lines = "".join(f"100644 {where.blob(data)}\t{path}\n" for path, data in records.items())
    where.git("update-index", "--add", "--index-info", input=lines, env=env)
    commit = where.git("commit-tree", "-m", "archive", where.git("write-tree", env=env))
    (where.path / "archive-index").unlink()
    where.git("update-ref", ARCHIVE, commit)
    return commit


def archive(where: Repo, refs: list[str]) -> None:
    """Move log entries into an archive."""
    archive_of(where, {archive_path(ref): where.cat(ref) for ref in refs})
    where.git("update-ref", "--stdin", input="".join(f"delete {ref}\n" for ref in refs))


def test_the_ends_of_claims_newest_first(scene: Scene) -> None:
    scene.run(f"claim {T1}", ok=True)
    scene.run("release --reason 'no luck'", ok=True)
    scene.run(f"claim {T1}", ok=True)
    scene.run("renew --minutes 0", ok=True)
    scene.run("reap --agent sweeper", ok=True)
    scene.run(f"claim {T2}", ok=True)
    scene.run("release --done", ok=True)
    value = scene.claims("log")
    assert value["warnings"] == []
    entries = value["entries"]
    told = [(entry["task"], entry["closed"]["outcome"], entry["closed"]["by"]) for entry in entries]
    assert told == [(T2, "done", "a1"), (T1, "expired", "sweeper"), (T1, "released", "a1")]
    assert entries[2]["closed"]["reason"] == "no luck"
    assert {entry["ref"] for entry in entries} == log_refs(scene.arbiter)
    first = entries[0]
    assert (first["agent"], first["branch"], first["published"]) == ("a1", "work", scene.origin is not None)
    assert "tokenHash" not in first and "replaced" not in first
    assert [entry["ref"] for entry in scene.claims(f"log {T1}")["entries"]] == [entry["ref"] for entry in entries[1:]]
    assert scene.claims("log 00000002 --limit 1")["entries"] == [entries[0]]
    assert scene.claims(f"log {T3}") == {"entries": [], "warnings": []}


def test_people_read_a_line_each(scene: Scene) -> None:
    write_log(scene.arbiter, [Ended(T1, 1, reason="why not"), Ended(T2, 2, outcome="stolen", by="c2", agent="b1")])
    first, second = scene.run("log", ok=True).out.splitlines()
    assert first.endswith(f"Z  {T1}  released  b1  on other: why not")
    assert second.endswith(f"Z  {T2}  stolen    b1  on other by c2")
    assert scene.run(f"log {T3}", ok=True).out == "no claim has ended yet\n"
    assert scene.run("log --quiet", ok=True).out == ""


def test_what_others_wrote_moves_no_terminal(scene: Scene) -> None:
    write_log(scene.arbiter, [Ended(T1, reason="\x1b[31mred\x07\u202e\nnext")])
    said = scene.run("log", ok=True)
    assert said.out.endswith(": �[31mred���next\n")
    assert "\x1b" not in scene.run("log --json", ok=True).out


def test_archived_entries_are_shown_among_the_others(scene: Scene) -> None:
    refs = write_log(scene.arbiter, [Ended(T1, 1), Ended(T1, 2), Ended(T9, 3), Ended(T2, 4)])
    before = scene.claims("log")["entries"]
    archive(scene.arbiter, refs[1:3])
    after = scene.claims("log")["entries"]
    assert [entry["closed"] for entry in after] == [entry["closed"] for entry in before]
    assert [entry["ref"] for entry in after] == [refs[0], ARCHIVE, ARCHIVE, refs[3]]
    assert after[2]["path"] == archive_path(refs[2])
    assert [entry["ref"] for entry in scene.claims(f"log {T1}")["entries"]] == [refs[0], ARCHIVE]
    assert [entry["task"] for entry in scene.claims("log --limit 3")["entries"]] == [T1, T1, T9]


def test_an_entry_that_is_both_in_the_log_and_in_the_archive_is_shown_once(scene: Scene) -> None:
    """As a prune that was killed leaves it."""
    (ref,) = write_log(scene.arbiter, [Ended(T1, 1)])
    archive_of(scene.arbiter, {archive_path(ref): scene.arbiter.cat(ref)})
    assert [entry["ref"] for entry in scene.claims("log")["entries"]] == [ref]


def test_what_is_no_entry_hides_no_other(scene: Scene) -> None:
    where = scene.arbiter
    (sound,) = write_log(where, [Ended(T1, 1)])
    stamps = [f"2026010{day}T000000.000Z" for day in range(1, 5)]
    write_blobs(
        where,
        {
            f"{LOG}{T1}/{stamps[0]}": b"not json",
            f"{LOG}{T1}/{stamps[1]}": where.cat(sound),
            f"{LOG}{T1}/{stamps[2]}": b"x" * 100_000,
            f"{LOG}{T1}/99990101T000000.000Z": b"{}",
            f"{LOG}nobody/odd": b"odd",
        },
    )
    where.git("update-ref", f"{LOG}{T1}/{stamps[3]}", "main")
    value = scene.claims("log")
    assert [notice["code"] for notice in value["warnings"]] == ["odd-log-ref", "clock-skew"]
    future, first, *others = value["entries"]
    assert (future["state"], first["ref"]) == ("malformed", sound)
    assert [entry["ref"] for entry in others] == [f"{LOG}{T1}/{stamp}" for stamp in reversed(stamps)]
    faults = ["commit, not a blob", "100000 bytes", "not the closed record", "Expecting value"]
    assert [fault for fault, entry in zip(faults, others, strict=True) if fault not in entry["fault"]] == []
    said = scene.run("log", ok=True)
    assert said.out.count("MALFORMED") == 5
    assert "warning[odd-log-ref]" in said.err


def test_a_log_that_is_an_archive_of_something_else(scene: Scene) -> None:
    write_log(scene.arbiter, [Ended(T1)])
    scene.arbiter.git("update-ref", ARCHIVE, scene.arbiter.blob("no archive"))
    error = scene.refused("log")
    assert (error["code"], ARCHIVE in error["message"]) == ("git-failed", True)
    scene.arbiter.git("update-ref", "-d", ARCHIVE)
    assert len(scene.claims("log")["entries"]) == 1


def test_it_leaves_the_clone_as_it_was(tmp_path: Path) -> None:
    """No ref, object, FETCH_HEAD, shallow file, promisor: not a byte differs."""
    scene = stage(tmp_path)
    assert scene.origin is not None
    scene.origin.git("config", "uploadpack.allowFilter", "true")
    refs = write_log(scene.origin, [Ended(T1, day) for day in range(4)])
    archive(scene.origin, refs[2:])
    scene.run("status", ok=True)
    before = everything_in(scene.here.path)
    assert len(scene.claims("log")["entries"]) == 4
    assert len(scene.claims(f"log {T1}")["entries"]) == 4
    assert everything_in(scene.here.path) == before


@pytest.mark.parametrize("linked", [False, True])
def test_it_reaches_the_remote_as_the_clone_does(tmp_path: Path, linked: bool) -> None:
    """A relative URL, which git takes from the root of the working tree; a command in a folder below that."""
    scene = stage(tmp_path)
    write_log(scene.arbiter, [Ended(T1)])
    scene.here.git("remote", "set-url", "origin", "../origin.git")
    where = scene.here.worktree("linked", "another") if linked else scene.here
    assert len(swarm(where.path / "src", "log", "--json", ok=True).json["entries"]) == 1
    assert [path.name for path in where.git_path("swarm").iterdir()] == []


def test_leftovers_of_killed_commands_go_after_an_hour(tmp_path: Path) -> None:
    scene = stage(tmp_path)
    folder = scene.here.git_path("swarm")
    old, young = folder / f"scratch-{int(time.time()) - 3700}-aa", folder / f"scratch-{int(time.time()) - 60}-bb"
    for path in (old / "objects", young / "objects"):
        path.mkdir(parents=True)
    scene.run("log", ok=True)
    assert [path.name for path in folder.iterdir()] == [young.name]


def test_a_bare_repository_and_a_partial_clone_can_be_asked(tmp_path: Path) -> None:
    scene = stage(tmp_path)
    assert scene.origin is not None
    scene.origin.git("config", "uploadpack.allowFilter", "true")
    refs = write_log(scene.origin, [Ended(T1, 1), Ended(T1, 2)])
    archive(scene.origin, refs[1:])
    partial = clone(scene.origin, tmp_path / "partial", "--filter=blob:none", "--no-checkout")
    shallow = clone(scene.origin, tmp_path / "shallow", "--depth=1")
    for where in (scene.origin, partial, shallow):
        assert len(swarm(where, "log", "--json", ok=True).json["entries"]) == 2
        assert len(swarm(where, "log", T1, "--json", ok=True).json["entries"]) == 2


def test_a_remote_that_is_gone(tmp_path: Path) -> None:
    scene = stage(tmp_path)
    scene.here.git("remote", "set-url", "origin", gone(tmp_path))
    for line in ("log", f"log {T1}"):
        assert scene.refused(line)["code"] == "remote-unreachable"
    assert list(scene.here.git_path("swarm").iterdir()) == []
    scene.run("log --no-remote", ok=True)


def test_it_reads_only_what_it_shows(tmp_path: Path) -> None:
    """Over HTTP, in bytes: 300 records that do not compress, half of them archived."""
    noise = random.Random(1)
    ended = [Ended(T1 if n % 30 == 0 else T2, n, reason=f"{noise.getrandbits(3200):0800x}") for n in range(300)]
    with HttpOrigin(tmp_path / "http") as server:
        bare = server.create(files=board_files([task_file(T1), task_file(T2)]))
        bare.git("config", "uploadpack.allowFilter", "true")
        archive(bare, write_log(bare, ended)[1::2])
        here = clone(server.url(), tmp_path / "here")

        def bytes_for(*args: str) -> int:
            before = len(server.requests)
            assert swarm(here, "log", *args, "--json", ok=True).json["entries"]
            return sum(request.bytes_out for request in server.requests[before:] if request.service == "fetch")

        whole = bytes_for("--limit", "300")
        assert whole > 300 * 400
        # What is left are names, a hundred bytes each.
        assert bytes_for("--limit", "3") < whole / 5
        assert bytes_for(T1, "--limit", "50") < whole / 5


def test_a_server_without_filters_gives_the_same(tmp_path: Path) -> None:
    bare = origin(tmp_path / "origin.git", board_files([T1]))
    archive(bare, write_log(bare, [Ended(T1, day) for day in range(6)])[3:])
    here = clone(bare, tmp_path / "here")
    without = swarm(here, "log", "--json", ok=True).json
    bare.git("config", "uploadpack.allowFilter", "true")
    assert swarm(here, "log", "--json", ok=True).json == without
    assert len(without["entries"]) == 6


@pytest.mark.parametrize("limit", ["0", "-1", "x"])
def test_a_limit_is_a_number_from_one(limit: str, tmp_path: Path) -> None:
    scene = alone(tmp_path)
    assert scene.run(f"log --limit {limit}").code == 64
    scene.run("log --limit 1", ok=True)


def test_claims_that_were_made_without_the_remote_are_shown_too(tmp_path: Path) -> None:
    """From before there was one: archived in this clone, ended in it, ended since; and what is in both logs once."""
    scene = alone(tmp_path)
    archive(scene.here, write_log(scene.here, [Ended(T3, 3)]))
    scene.run(f"claim {T1}", ok=True)
    scene.run("release --reason early", ok=True)
    (both,) = write_log(scene.here, [Ended(T2, 2)])
    scene.run(f"claim {T1}", ok=True)
    bare = origin(scene.folder / "origin.git")
    scene.here.git("remote", "add", "origin", bare.url)
    scene.here.git("push", "-q", "origin", "main", both)
    scene.origin = bare
    scene.run("release --reason late", ok=True)
    scene.run(f"claim {T2}", ok=True)
    scene.run("release --reason there", ok=True)
    entries = scene.claims("log")["entries"]
    told = [(entry["task"], entry["closed"]["reason"], entry["published"]) for entry in entries]
    assert told == [
        (T2, "there", True),
        (T1, "late", False),
        (T1, "early", False),
        (T2, None, True),
        (T3, None, True),
    ]
    assert [entry["task"] for entry in scene.claims(f"log {T3}")["entries"]] == [T3]
    lines = scene.run("log", ok=True).out.splitlines()
    assert [" local  on work: " in line for line in lines] == [False, True, True, False, False]
    assert [entry["closed"]["reason"] for entry in scene.claims("log --no-remote")["entries"]][:2] == ["late", "early"]
    assert " local " not in scene.run("log --no-remote", ok=True).out


def test_a_name_is_taken_as_by_other_commands(scene: Scene) -> None:
    write_log(scene.arbiter, [Ended(T1, 1)])
    assert scene.claims("log --agent a2") == scene.claims("log")
