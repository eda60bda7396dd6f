"""`swarm prune`: what is folded and what is kept, that no entry is ever lost, and that it can be killed anywhere."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.logs import ARCHIVE, LOG, Ended, archive_path, archived, log_refs, write_log
from tests.e2e.scene import CLAIM, T1, T2, Scene, alone, lock_ref, stage
from tests.e2e.test_log import everything_in
from tests.support import torn
from tests.support.board import board_files, manifest_file, milestone, moved, plan_file, task_file, task_id
from tests.support.forked import ForkServer
from tests.support.git_wrapper import GitWrapper
from tests.support.remotes import refuse_namespace
from tests.support.repo import Files, Repo, clone
from tests.support.swarm import Command, race, start, swarm

DONE, FAILED, CANCELLED, GONE = map(task_id, range(0x10, 0x14))
FINISHED = {
    task: task_file(task, status=status)
    for task, status in ((DONE, "done"), (FAILED, "failed"), (CANCELLED, "cancelled"))
}
BOARD: Files = board_files([task_file(T1), task_file(T2), *FINISHED.values()])


@pytest.fixture(params=["local", "remote"])
def scene(request: pytest.FixtureRequest, tmp_path: Path) -> Scene:
    return alone(tmp_path, BOARD) if request.param == "local" else stage(tmp_path, BOARD)


def contents(where: Repo) -> dict[str, str]:
    """Every ended claim on record: where the archive has it, or would, to its blob. It is the same blob in both."""
    live = {archive_path(ref): blob for ref, blob in where.refs(LOG).items()}
    kept = archived(where)
    assert {path: blob for path, blob in live.items() if kept.get(path, blob) != blob} == {}
    return {**live, **kept}


def test_old_entries_of_finished_tasks_are_folded(scene: Scene) -> None:
    where = scene.arbiter
    old = write_log(where, [Ended(task, 31, n) for task in (DONE, FAILED, CANCELLED, GONE) for n in range(2)])
    young = write_log(where, [Ended(DONE, 29), Ended(T1, 31)])
    everything = contents(where)
    value = scene.claims("prune")
    assert log_refs(where) == set(young)
    assert set(archived(where)) == set(map(archive_path, old))
    assert contents(where) == everything
    assert {entry["ref"] for entry in value["folded"]} == set(old)
    assert [entry["task"] for entry in value["folded"]] == sorted(entry["task"] for entry in value["folded"])
    assert (value["archive"], value["skipped"], value["dryRun"]) == (where.oid(ARCHIVE), [], False)
    assert len(scene.claims("log")["entries"]) == 10


def test_the_archive_is_a_history_of_its_own(scene: Scene) -> None:
    where = scene.arbiter
    scene.here.git("config", "user.name", "Somebody Else")
    scene.here.git("config", "commit.gpgSign", "true")
    write_log(where, [Ended(DONE, 40)])
    scene.run("prune", ok=True)
    first = where.oid(ARCHIVE)
    (ref,) = write_log(where, [Ended(DONE, 41)])
    scene.run("prune", ok=True)
    lines = where.git("log", "--format=%H %P|%an <%ae>|%cn <%ce>|%G?", ARCHIVE).splitlines()
    identity = "|swarm <swarm@invalid>|swarm <swarm@invalid>|N"
    assert lines == [f"{where.oid(ARCHIVE)} {first}{identity}", f"{first} {identity}"]
    assert len(archived(where)) == 2
    assert f"202608/{DONE}/" in archive_path(ref)
    assert where.git("fsck", "--strict", "--no-dangling") == ""


def test_a_dry_run_says_the_same_and_changes_nothing(scene: Scene) -> None:
    write_log(scene.arbiter, [Ended(DONE, 40), Ended(GONE, 40), Ended(T1, 40)])
    scene.run("status", ok=True)
    before = scene.snapshots()
    dry = scene.claims("prune --dry-run")
    said = scene.run("prune --dry-run", ok=True).out
    assert scene.snapshots() == before
    wet = scene.claims("prune")
    assert (dry["folded"], dry["files"]) == (wet["folded"], wet["files"])
    assert len(wet["folded"]) == 2
    assert f"would be archived: {DONE}, 1 ended claim\n" in said
    assert scene.run("prune", ok=True).out.startswith("nothing to archive of what ended before ")


def test_show_still_tells_how_the_last_claim_ended(scene: Scene) -> None:
    """Of a task that is finished or gone; of one that is neither no archive is fetched to find nothing."""
    write_log(scene.arbiter, [Ended(DONE, 41, reason="first"), Ended(DONE, 40, reason="last"), Ended(GONE, 40)])
    before = {task: scene.claims(f"show {task}") for task in (DONE, GONE)}
    scene.run("prune", ok=True)
    assert log_refs(scene.arbiter) == set()
    settled = scene.snapshots()
    for task in (DONE, GONE):
        shown = scene.claims(f"show {task}")
        assert {**before[task]["last"], **shown["last"]} == shown["last"]
        assert (shown["state"], shown["last"]["ref"]) == (before[task]["state"], ARCHIVE)
    assert ": last\n" in scene.run(f"show {DONE}", ok=True).out
    assert scene.refused(f"show {task_id(0x14)}")["code"] == "task-unknown"
    assert scene.snapshots() == settled
    wrapper = GitWrapper(scene.folder / "wrapper")
    scene.run(f"show {T1}", env=wrapper.env, ok=True)
    assert len(wrapper.network_operations) == (1 if scene.origin else 0)


NAMES: dict[str, Files] = {
    "depends_on of a queued task": board_files([task_file(T2, depends_on=[DONE])]),
    "depends_on of a done task": board_files([task_file(FAILED, status="done", depends_on=[DONE])]),
    "depends_on in the backlog": board_files([task_file(T2, status="backlog", depends_on=[DONE])]),
    "regenerated_from": board_files([task_file(T2, regenerated_from=DONE)]),
    "manifest": {".agents/manifest.yaml": manifest_file([milestone("m1", [DONE])]), ".agents/plan.md": plan_file()},
    "integration task": {
        ".agents/manifest.yaml": manifest_file([milestone("m1", [T1], integration=DONE)]),
        ".agents/plan.md": plan_file(),
    },
    "proposal": {
        ".agents/proposals/P-20260814-00000001.md": f"---\nid: P-20260814-00000001\ntask: {DONE}\n---\nFound.\n"
    },
    "a file that does not read": {".agents/tasks/queued/T-20260814-000000aa.md": f"---\n- {DONE}: [\n"},
}


@pytest.mark.parametrize("name", NAMES)
def test_what_base_still_names_is_kept(name: str, tmp_path: Path) -> None:
    scene = alone(tmp_path, BOARD)
    write_log(scene.arbiter, [Ended(DONE, 40), Ended(GONE, 40)])
    scene.change({path: text for path, text in NAMES[name].items() if text and "/.gitkeep" not in path})
    value = scene.claims("prune")
    assert [entry["task"] for entry in value["folded"]] == [GONE]
    assert DONE not in [file["task"] for file in value["files"]]
    named = [path for path, text in NAMES[name].items() if text and DONE in str(text)]
    scene.change(dict.fromkeys(named))
    assert [entry["task"] for entry in scene.claims("prune")["folded"]] == [DONE]


def test_prose_names_nothing(tmp_path: Path) -> None:
    scene = alone(tmp_path, BOARD)
    write_log(scene.arbiter, [Ended(DONE, 40)])
    scene.put(task_file(T2, body=f"As {DONE} did.\n"))
    assert [entry["task"] for entry in scene.claims("prune")["folded"]] == [DONE]


HOLDS: dict[str, Callable[[Scene], object]] = {
    "a claim": lambda scene: scene.forge(DONE),
    "an expired claim": lambda scene: scene.forge(DONE, minutes=-1),
    "what is no claim": lambda scene: scene.forge_blob(DONE, "junk"),
    "a lock": lambda scene: scene.arbiter.git("update-ref", lock_ref("k"), _moved_away(scene, scene.forge(DONE))),
}


def _moved_away(scene: Scene, blob: str) -> str:
    scene.arbiter.git("update-ref", "-d", CLAIM + DONE)
    return blob


@pytest.mark.parametrize("name", HOLDS)
def test_a_task_with_a_live_ref_is_kept(name: str, tmp_path: Path) -> None:
    scene = alone(tmp_path, BOARD)
    write_log(scene.arbiter, [Ended(DONE, 40)])
    HOLDS[name](scene)
    assert scene.claims("prune")["folded"] == []
    for ref in scene.arbiter.refs():
        if not ref.startswith(LOG):
            scene.arbiter.git("update-ref", "-d", ref)
    assert len(scene.claims("prune")["folded"]) == 1


def test_a_completion_record_is_kept_until_it_is_reaped(scene: Scene) -> None:
    scene.run(f"claim {T1}", ok=True)
    scene.run("release --done", ok=True)
    write_log(scene.arbiter, [Ended(T1, 40)])
    scene.change(moved(task_file(T1), "done"))
    assert scene.claims("prune")["folded"] == []
    scene.run("reap", ok=True)
    assert len(scene.claims("prune")["folded"]) == 1


def test_the_longest_lease_is_kept_whatever_the_configuration_says(tmp_path: Path) -> None:
    scene = alone(tmp_path, {**BOARD, **board_files(config={"retention_days": 0})})
    day = 86_400
    young, old = write_log(scene.arbiter, [Ended(DONE, 1, 240), Ended(DONE, 1, 360)])
    assert [entry["ref"] for entry in scene.claims("prune")["folded"]] == [old]
    assert log_refs(scene.arbiter) == {young}
    scene.change(board_files(config={"retention_days": 90}))
    write_log(scene.arbiter, [Ended(GONE, 0, 89 * day)])
    assert scene.claims("prune")["folded"] == []


def test_task_files_are_listed_once_nothing_needs_them(tmp_path: Path) -> None:
    scene = alone(tmp_path, BOARD)
    write_log(scene.arbiter, [Ended(DONE, 40), Ended(FAILED, 2)])
    new = task_file("T-29990101-00000001", status="done")
    scene.put(new)
    value = scene.claims("prune")
    assert [file["path"] for file in value["files"]] == [
        f".agents/tasks/done/{DONE}.md",
        f".agents/tasks/cancelled/{CANCELLED}.md",
    ]
    assert scene.arbiter.git("cat-file", "-t", f"main:.agents/tasks/done/{DONE}.md") == "blob"
    assert f"  .agents/tasks/done/{DONE}.md\n" in scene.run("prune", ok=True).out


def test_another_record_in_the_same_place_is_not_taken_for_this_one(scene: Scene) -> None:
    where = scene.arbiter
    (ref,) = write_log(where, [Ended(DONE, 40)])
    scene.run("prune", ok=True)
    where.git("update-ref", ref, where.blob("another"))
    before = archived(where)
    value = scene.claims("prune")
    assert [(one["ref"], "another record" in one["reason"]) for one in value["skipped"]] == [(ref, True)]
    assert log_refs(where) == {ref}
    assert archived(where) == before
    assert f"stays: {ref}: the archive has another record" in scene.run("prune", ok=True).out


def test_what_is_no_blob_stays(scene: Scene) -> None:
    where = scene.arbiter
    (ref,) = write_log(where, [Ended(DONE, 40)])
    odd = f"{LOG}{DONE}/20260101T000000.000Z"
    where.git("update-ref", odd, "main")
    value = scene.claims("prune")
    assert ([one["ref"] for one in value["folded"]], [one["ref"] for one in value["skipped"]]) == ([ref], [odd])


def test_a_thousand_entries_in_transactions_of_a_hundred(tmp_path: Path) -> None:
    """The server counts: the archive comes alone and first, then never more than a hundred deletions."""
    scene = stage(tmp_path, BOARD)
    assert scene.origin is not None
    tasks = [task_id(0x1000 + n) for n in range(60)]
    write_log(scene.origin, [Ended(tasks[n % 60], 40, n) for n in range(1050)])
    everything = contents(scene.origin)
    hook = scene.origin.path / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\nsed 's/.* //; s,/T-.*,,' | sort | uniq -c >> pushes\n")
    hook.chmod(0o755)
    value = scene.claims("prune")
    assert len(value["folded"]) == 1050
    assert contents(scene.origin) == everything
    assert log_refs(scene.origin) == set()
    pushes = [line.split() for line in (scene.origin.path / "pushes").read_text().splitlines()]
    assert pushes[0] == ["1", ARCHIVE]
    sizes = [int(count) for count, ref in pushes if ref != ARCHIVE]
    assert (max(sizes), sum(sizes)) == (100, 1050)
    assert len(scene.claims("log --limit 2000")["entries"]) == 1050


@pytest.mark.parametrize("filters", [True, False])
def test_a_task_that_is_archived_in_part_keeps_what_is_there(filters: bool, tmp_path: Path) -> None:
    """Through a remote, without ever fetching the records that are archived already."""
    scene = stage(tmp_path, BOARD)
    assert scene.origin is not None
    scene.origin.git("config", "uploadpack.allowFilter", str(filters).lower())
    everything: dict[str, str] = {}
    for days in (60, 50, 40):
        write_log(scene.origin, [Ended(DONE, days), Ended(GONE, days)])
        everything |= contents(scene.origin)
        assert len(scene.claims("prune")["folded"]) == 2
        assert archived(scene.origin) == everything
    scene.origin.git("fsck", "--connectivity-only", "--no-dangling")


def test_it_leaves_the_clone_as_it_was(tmp_path: Path) -> None:
    scene = stage(tmp_path, BOARD)
    assert scene.origin is not None
    scene.origin.git("config", "uploadpack.allowFilter", "true")
    write_log(scene.origin, [Ended(DONE, 40)])
    scene.run("status", ok=True)
    before = everything_in(scene.here.path)
    assert len(scene.claims("prune")["folded"]) == 1
    after = everything_in(scene.here.path)
    assert after == before


def test_behind_the_remotes_back_nothing_is_pruned(tmp_path: Path) -> None:
    scene = stage(tmp_path, BOARD)
    write_log(scene.here, [Ended(GONE, 40)])
    assert scene.refused("prune --no-remote")["code"] == "usage"
    assert len(scene.claims("prune --no-remote --dry-run")["folded"]) == 1


def test_a_remote_that_takes_no_such_refs(tmp_path: Path) -> None:
    scene = stage(tmp_path, BOARD)
    assert scene.origin is not None
    write_log(scene.origin, [Ended(DONE, 40)])
    everything = contents(scene.origin)
    refuse_namespace(scene.origin, words="not here")
    error = scene.refused("prune")
    assert (error["code"], "not here" in error["message"]) == ("remote-rejected", True)
    assert (contents(scene.origin), archived(scene.origin)) == (everything, {})
    (scene.origin.path / "hooks" / "pre-receive").unlink()
    scene.run("prune", ok=True)
    assert archived(scene.origin) == everything


@pytest.mark.parametrize("kind", ["local", "remote"])
def test_several_at_once(kind: str, tmp_path: Path) -> None:
    scene = alone(tmp_path, BOARD) if kind == "local" else stage(tmp_path, BOARD)
    where = scene.arbiter
    write_log(where, [Ended((DONE, FAILED, GONE)[n % 3], 40, n) for n in range(150)])
    everything = contents(where)
    repos = [scene.here, scene.here.worktree("linked", "linked")]
    repos += [clone(where, tmp_path / "clone")] if kind == "remote" else [scene.here]
    results = race([Command(repo, ["prune", "--json"]) for repo in repos])
    assert [result.code for result in results] == [0, 0, 0], results
    assert (log_refs(where), archived(where)) == (set(), everything)


@pytest.mark.parametrize("kind", ["local", "remote"])
def test_the_archive_and_the_log_move_meanwhile(kind: str, tmp_path: Path) -> None:
    """Another prune gets in between before the archive is written, and before its refs are deleted."""
    scene = alone(tmp_path, BOARD) if kind == "local" else stage(tmp_path, BOARD)
    where = scene.arbiter
    write_log(where, [Ended(DONE, 40, n) for n in range(5)])
    everything = contents(where)
    words = ("update-ref",) if kind == "local" else ("push",)
    for nth, more in ((1, Ended(GONE, 40)), (2, Ended(GONE, 50))):
        wrapper = GitWrapper(tmp_path / f"wrapped{nth}")
        pause = wrapper.pause("before", *words, nth=nth)
        with start(scene.here, "prune", env={**scene.env, **wrapper.env}) as running:
            pause.wait()
            write_log(where, [more])
            everything |= contents(where)
            scene.run("prune", ok=True)
            pause.resume()
            assert running.wait().code == 0
        assert (log_refs(where), archived(where)) == (set(), everything)
        write_log(where, [Ended(FAILED, 60 + nth, n) for n in range(3)])
        everything |= contents(where)


#: Before these, and so after those before them, a kill matters most.
CHANGES = ("push", "update-ref", "hash-object")


@pytest.fixture
def killable(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Scene, Callable[[], None]]]:
    """A scene with entries for two transactions, and a way to have it afresh."""
    folder = tmp_path / "saved"
    scene = (alone if request.param == "local" else stage)(folder, BOARD)
    write_log(scene.arbiter, [Ended((DONE, GONE)[n % 2], 40, n) for n in range(130)])
    scene.run("status", ok=True)
    shutil.copytree(folder, tmp_path / "kept")

    def afresh() -> None:
        shutil.rmtree(folder)
        shutil.copytree(tmp_path / "kept", folder)

    yield scene, afresh


@pytest.mark.parametrize("killable", ["local", "remote"], indirect=True)
def test_killed_at_any_step_it_loses_nothing_and_goes_on(
    killable: tuple[Scene, Callable[[], None]], forked: ForkServer, rounds: Callable[[int], int], tmp_path: Path
) -> None:
    scene, afresh = killable
    where = scene.arbiter
    everything = contents(where)
    events = tmp_path / "events"
    forked.run(scene.here, "prune", env=scene.env, events=events, ok=True)
    steps = list(enumerate(events.read_text().splitlines(), 1))
    assert len(steps) > 5
    everywhere = rounds(10) == 10
    for step in [step for step, what in steps if everywhere or what.split()[-1] in CHANGES]:
        afresh()
        killed = forked.run(scene.here, "prune", env=scene.env, events=events, die_at=step)
        assert killed.code < 0, (step, killed)
        assert contents(where) == everything, step
        done = forked.run(scene.here, "prune", "--json", env=scene.env, ok=True).json
        assert (log_refs(where), archived(where)) == (set(), everything), step
        assert done["skipped"] == []


@torn.needs_strace
@pytest.mark.parametrize(("call", "k"), [("rename", 1), ("unlink", 1), ("unlink", 30)])
def test_a_git_that_is_killed_within_its_transaction(call: str, k: int, tmp_path: Path) -> None:
    """What it leaves are lock files, one of which the error names; without them the next prune goes on."""
    scene = alone(tmp_path, BOARD)
    where = scene.arbiter
    write_log(where, [Ended(GONE, 40, n) for n in range(40)])
    everything = contents(where)
    wrapper = GitWrapper(tmp_path / "wrapped")
    wrapper.under(torn.killed_at(k, call), "update-ref", nth=2)
    torn_one = swarm(scene.here, "prune", "--json", env={**scene.env, **wrapper.env})
    assert contents(where) == everything
    locks = where.locks()
    if locks:
        assert (torn_one.code, torn_one.error_code) == (2, "busy"), torn_one
        assert Path(torn_one.error["details"]["file"]) in locks
    for lock in locks:
        lock.unlink()
    swarm(scene.here, "prune", env=scene.env, ok=True)
    assert (log_refs(where), archived(where)) == (set(), everything)
