"""Claims made before there was a remote: they count in this clone, are reported, and are published by their holder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.scene import CLAIM, LOCK, T1, T2, T3, Scene, alone, lock_ref
from tests.support.repo import Repo, clone, origin

CLAIMED = [CLAIM + T1, lock_ref(LOCK)]


def with_remote(scene: Scene) -> Scene:
    """Give the repository an origin, with base and nothing else."""
    bare = origin(scene.folder / "origin.git")
    scene.here.git("remote", "add", "origin", bare.url)
    scene.here.git("push", "-q", "origin", "main")
    scene.here.git("fetch", "-q")
    scene.origin = bare
    return scene


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """a1 holds T1, claimed alone; then a remote was added."""
    scene = alone(tmp_path)
    scene.run(f"claim {T1}", ok=True)
    return with_remote(scene)


def unpublished(value: dict[str, list[dict[str, dict[str, str]]]]) -> list[str]:
    return [it["details"]["task"] for it in value["warnings"] if str(it["code"]) == "unpublished-claim"]


def live(repo: Repo) -> list[str]:
    return [ref for ref in sorted(repo.refs()) if "claim-log" not in ref]


def test_alone_a_claim_says_so(tmp_path: Path) -> None:
    scene = alone(tmp_path)
    claimed = scene.claims(f"claim {T1}")
    assert (claimed["published"], scene.blob(T1)["local"], claimed["warnings"]) == (False, True, [])
    assert "in this clone only" in scene.run(f"claim {T1}", ok=True).out
    for line in ("renew", "check", "release"):
        assert scene.claims(line)["warnings"] == []


def test_it_is_reported_and_stays_out_of_the_mirrors_way(scene: Scene) -> None:
    assert scene.origin is not None
    for line in ("status", f"claim {T2} --branch b2", "status"):
        assert unpublished(scene.claims(line)) == [T1]
        assert set(CLAIMED) <= set(live(scene.here))
    assert live(scene.origin) == [CLAIM + T2]
    (claim,) = [it for it in scene.claims("status")["claims"] if it["task"] == T1]
    assert (claim["published"], claim["state"]) == (False, "active")
    assert "local" in scene.run("status", ok=True).out


def test_it_still_refuses_within_this_clone(scene: Scene) -> None:
    there = scene.here.worktree("there", "other")
    for task, code in ((T1, "claim-held"), (T3, "lock-held")):
        assert scene.refused(f"claim {task} --agent b1", at=there)["code"] == code
    assert scene.refused(f"claim {T2}")["code"] == "branch-busy"
    scene.run(f"claim {T2} --agent b1", at=there, ok=True)


def test_other_clones_do_not_know_it(scene: Scene) -> None:
    there = scene.second()
    scene.run(f"claim {T1} --agent b1", at=there, ok=True)
    error = scene.refused(f"claim {T1}")
    assert (error["code"], error["details"]["agent"]) == ("claim-held", "b1")
    scene.run(f"check {T1}", at=there, ok=True)


def test_it_is_no_claim_where_a_remote_arbitrates(scene: Scene) -> None:
    """Renew and check say how it gets to be one."""
    error = scene.refused("renew")
    assert (error["code"], error["hint"]) == ("claim-not-found", f"swarm claim {T1} --agent a1")
    assert scene.refused("check")["hint"] == error["hint"]
    scene.shell(error["hint"])
    for line in ("renew", "check"):
        assert scene.claims(line)["published"]


def test_claiming_again_publishes_it(scene: Scene) -> None:
    """With full admission, the same token, and the work that began under it."""
    assert scene.origin is not None
    before = json.loads(scene.here.cat(CLAIM + T1))
    scene.here.commit({"src/a.py": "work\n"})
    published = scene.claims(f"claim {T1}")
    assert (published["published"], live(scene.origin)) == (True, CLAIMED)
    blob = scene.blob(T1)
    assert "local" not in blob
    assert blob["branchCommit"] == before["branchCommit"]
    assert scene.here.refs() == scene.origin.refs()
    status = scene.claims("status")
    assert (unpublished(status), len(status["claims"])) == ([], 1)
    scene.run("release", ok=True)
    assert (live(scene.origin), live(scene.here)) == ([], [])


def test_publishing_is_refused_like_any_claim(scene: Scene) -> None:
    scene.change({".agents/plan.md": "---\nrevision: 1\nstatus: draft\n---\n"})
    assert scene.refused(f"claim {T1}")["code"] == "plan-mismatch"
    assert set(CLAIMED) <= set(live(scene.here))
    scene.change({".agents/plan.md": None})
    scene.run(f"claim {T1}", ok=True)


def test_another_session_does_not_publish_it(scene: Scene) -> None:
    error = scene.refused(f"claim {T1} --agent a2")
    assert error["code"] == "claim-held"
    scene.run(f"claim {T1}", ok=True)


def test_release_ends_it_in_this_clone(scene: Scene) -> None:
    assert scene.origin is not None
    released = scene.claims("release --reason 'no longer'")
    assert (released["published"], released["closed"]["outcome"]) == (False, "released")
    assert (live(scene.here), scene.origin.refs()) == ([], {})
    assert len(scene.here.refs(f"refs/swarm/claim-log/{T1}/")) == 1
    assert unpublished(scene.claims("status")) == []
    scene.run(f"claim {T1}", ok=True)
    assert live(scene.origin) == CLAIMED


def test_expired_it_is_reaped_in_this_clone(tmp_path: Path) -> None:
    scene = alone(tmp_path)
    scene.run(f"claim {T1}", ok=True)
    scene.run("renew --minutes 0", ok=True)
    with_remote(scene)
    there = scene.here.worktree("there", "other")
    error = scene.refused(f"steal {T1} --agent b1", at=there)
    assert (error["code"], error["hint"]) == ("claim-held", "swarm reap")
    assert [it["task"] for it in scene.run("reap --json", at=there, ok=True).json["reaped"]] == [T1]
    assert live(scene.here) == []
    scene.run(f"claim {T1} --agent b1", at=there, ok=True)


def test_what_the_remote_lacks_and_is_not_local_is_stale(tmp_path: Path) -> None:
    """Claims of an origin that was replaced are no claims of the new one."""
    scene = with_remote(alone(tmp_path))
    scene.run(f"claim {T1}", ok=True)
    assert scene.origin is not None
    fresh = clone(scene.origin, tmp_path / "fresh.git", "--bare")
    scene.here.git("config", "remote.origin.url", fresh.url)
    status = scene.claims("status")
    assert (status["claims"], unpublished(status)) == ([], [])
    assert live(scene.here) == []
    assert scene.refused("check")["code"] == "claim-lost"


def test_no_remote_looks_at_this_clone_only(scene: Scene) -> None:
    scene.second()
    scene.forge(T2)
    assert [it["task"] for it in scene.claims("--no-remote status")["claims"]] == [T1]
    assert [it["task"] for it in scene.claims("status")["claims"]] == [T1, T2]
    for line in (f"claim {T2}", f"steal {T2}", "renew"):
        assert scene.refused(f"--no-remote {line}")["code"] == "usage"
    scene.run("--no-remote check", ok=True)
    scene.run("--no-remote release", ok=True)
    assert live(scene.here) == [CLAIM + T2]
