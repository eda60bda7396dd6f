"""What surrounds git: variables of another repository, hooks, the user's settings, stale lock files."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.scene import CLAIM, FILES, LOCK, MIRROR, T1, T2, Act, Scene, act, alone, git, lock_file, lock_ref, stage
from tests.support.repo import Repo, init

CLAIMED = [CLAIM + T1, lock_ref(LOCK)]
LIFE = (f"claim {T1}", "renew", "release")


def live_through(scene: Scene, warnings: bool = False) -> None:
    """Claim, look and release, with the same success as anywhere."""
    for line in LIFE:
        told = scene.claims(line)
        assert warnings or told["warnings"] == [], told
        if line.startswith("claim"):
            assert sorted(scene.arbiter.refs()) == CLAIMED
    assert [ref for ref in scene.arbiter.refs() if "claim-log" not in ref] == []


def of_another(repo: Repo) -> dict[str, str | None]:
    """Every variable that points git at `repo`."""
    git_dir = str(repo.path / ".git")
    return {
        "GIT_DIR": git_dir,
        "GIT_WORK_TREE": str(repo.path),
        "GIT_COMMON_DIR": git_dir,
        "GIT_INDEX_FILE": f"{git_dir}/index",
        "GIT_OBJECT_DIRECTORY": f"{git_dir}/objects",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": f"{git_dir}/objects",
        "GIT_NAMESPACE": "elsewhere",
        "GIT_PREFIX": "docs/",
        "GIT_CEILING_DIRECTORIES": "/",
        "GIT_SHALLOW_FILE": f"{git_dir}/shallow",
        "GIT_GRAFT_FILE": f"{git_dir}/grafts",
        "GIT_REPLACE_REF_BASE": "refs/elsewhere/",
        "GIT_CONFIG": f"{git_dir}/config",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "remote.origin.url",
        "GIT_CONFIG_VALUE_0": "nowhere",
        "GIT_CONFIG_PARAMETERS": "'remote.origin.url=nowhere' 'swarm.base=nowhere'",
        "GIT_DEFAULT_HASH": "sha256",
        "GIT_QUARANTINE_PATH": f"{git_dir}/objects/incoming",
        "GIT_EXEC_PATH": str(repo.path),
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_TRACE": "1",
        "GIT_PAGER": "false",
        "GIT_EDITOR": "false",
        "GIT_EXTERNAL_DIFF": "false",
    }


@pytest.mark.parametrize("build", [stage, alone])
def test_variables_of_another_repository(build: Callable[[Path], Scene], tmp_path: Path) -> None:
    scene = build(tmp_path)
    elsewhere = init(tmp_path / "elsewhere", FILES)
    before = elsewhere.snapshot()
    scene.env.update(of_another(elsewhere))
    live_through(scene)
    assert elsewhere.snapshot() == before
    inherited = {**os.environ, "GIT_DIR": str(scene.env["GIT_DIR"])}
    told = scene.here.git("rev-parse", "--git-common-dir", env=inherited)
    assert Path(told).resolve() == (elsewhere.path / ".git").resolve(), "git itself would have been led astray"


def hooks_that_fail(scene: Scene, folder: Path) -> Path:
    """Every hook of a client; each leaves a trace and fails."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in (
        "pre-push",
        "reference-transaction",
        "post-checkout",
        "pre-auto-gc",
        "post-rewrite",
        "fsmonitor-watchman",
    ):
        hook = folder / name
        hook.write_text(f"#!/bin/sh\ntouch {scene.folder}/ran\nexit 1\n")
        hook.chmod(0o755)
    return folder


@pytest.mark.parametrize("build", [stage, alone])
@pytest.mark.parametrize("where", [".git/hooks", "core.hooksPath", "core.hooksPath of the user"])
def test_hooks_that_fail_are_not_run(where: str, build: Callable[[Path], Scene], tmp_path: Path) -> None:
    scene = build(tmp_path)
    hooks = hooks_that_fail(scene, scene.here.path / where if where.startswith(".") else tmp_path / "hooks")
    if not where.startswith("."):
        scene.here.git("config", *(["--global"] if "user" in where else []), "core.hooksPath", str(hooks))
    if where == "core.hooksPath of the user" and scene.origin is not None:
        scene.origin.git("config", "core.hooksPath", "hooks")
    live_through(scene)
    assert not (tmp_path / "ran").exists()
    assert "hook" in scene.here.git("update-ref", "refs/x", "HEAD", ok=False).lower(), "git itself would have run it"


def tagged(scene: Scene) -> None:
    """A tag here that the origin lacks, one there that is not here, and a branch that is gone there."""
    scene.here.git("tag", "-a", "-m", "m", "v1")
    scene.change({"src/a.py": "newer\n"})
    scene.arbiter.git("tag", "v2", "main")
    scene.here.git("update-ref", "refs/remotes/origin/gone", "HEAD")


def config(key: str, value: str) -> Act:
    return lambda scene: scene.here.git("config", "--add", key, value)


def other_remote(scene: Scene) -> None:
    init(scene.folder / "fork.git")
    scene.here.git("remote", "add", "fork", str(scene.folder / "fork.git"))


#: Settings of the user that meet each other in one clone, and what has to be there for them to bite.
SETTINGS: dict[str, Act] = {
    "of pushes": act(
        tagged,
        other_remote,
        config("push.followTags", "true"),
        config("push.gpgSign", "true"),
        config("push.pushOption", "ci.skip"),
        config("push.default", "nothing"),
        config("push.recurseSubmodules", "only"),
        config("push.negotiate", "true"),
        config("push.useForceIfIncludes", "true"),
        config("remote.pushDefault", "fork"),
        config("branch.work.pushRemote", "fork"),
        config("branch.work.remote", "fork"),
    ),
    "of fetches": act(
        tagged,
        config("fetch.prune", "true"),
        config("fetch.pruneTags", "true"),
        config("fetch.all", "true"),
        config("fetch.recurseSubmodules", "true"),
        config("fetch.writeCommitGraph", "true"),
        config("fetch.output", "compact"),
        config("transfer.fsckObjects", "true"),
        config("submodule.recurse", "true"),
    ),
    "of the remote": act(
        tagged,
        config("remote.origin.prune", "true"),
        config("remote.origin.mirror", "true"),
        config("remote.origin.fetch", "+refs/*:refs/*"),
        config("remote.origin.push", "refs/heads/*:refs/heads/*"),
        config("remote.origin.tagOpt", "--tags"),
    ),
    "of signing, if asked": config("push.gpgSign", "if-asked"),
    "of an older protocol": config("protocol.version", "0"),
    "of everything else": act(
        git("branch origin/main"),
        git("config --global --remove-section user"),
        config("user.useConfigOnly", "true"),
        config("core.warnAmbiguousRefs", "true"),
        config("core.logAllRefUpdates", "always"),
        config("core.abbrev", "4"),
        config("core.autocrlf", "true"),
        config("core.quotePath", "false"),
        config("color.ui", "always"),
        config("log.showSignature", "true"),
        config("gc.auto", "1"),
        config("gc.autoDetach", "false"),
        config("alias.push", "fetch"),
    ),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_of_the_user_change_nothing(name: str, tmp_path: Path) -> None:
    """Nothing more is pushed, and nothing of the user's is moved or pruned."""
    scene = stage(tmp_path)
    SETTINGS[name](scene)
    theirs, mine = scene.arbiter.refs("refs/"), _own_refs(scene)
    live_through(scene)
    assert {ref: value for ref, value in scene.arbiter.refs("refs/").items() if "claim-log" not in ref} == theirs
    assert _own_refs(scene) == mine


def _own_refs(scene: Scene) -> dict[str, str]:
    """Without what is ours: the mirror, and the log, which a push brings along where all refs are tracked."""
    return {
        ref: value for ref, value in scene.here.refs("refs/").items() if not ref.startswith(("refs/swarm/", *MIRROR))
    }


def test_an_object_that_is_replaced_is_read_as_it_was(tmp_path: Path) -> None:
    """`git replace` would let anyone rewrite base in one's own clone."""
    scene = stage(tmp_path)
    scene.forge(T2)
    held = scene.arbiter.oid(CLAIM + T2)
    assert held is not None
    scene.here.git("fetch", "-q", "origin", CLAIM + T2)
    scene.here.git("replace", held, scene.here.blob("{}"))
    assert scene.here.cat(CLAIM + T2 if scene.here.oid(CLAIM + T2) else held) == b"{}"
    (claim,) = scene.claims("status")["claims"]
    assert (claim["task"], claim["state"]) == (T2, "active")


def test_a_lock_file_in_the_clone_hides_nothing(tmp_path: Path) -> None:
    """The mirror is a copy: where it cannot follow, the claim is made all the same, and a warning says so."""
    scene = stage(tmp_path)
    lock = scene.here.git_path(f"{CLAIM}{T1}.lock")
    lock.parent.mkdir(parents=True)
    lock.touch()
    told = scene.claims(f"claim {T1}")
    assert [it["code"] for it in told["warnings"]] == ["mirror-behind"]
    assert f"{CLAIM}{T1}.lock" in told["warnings"][0]["message"]
    assert sorted(scene.arbiter.refs()) == CLAIMED
    assert list(scene.here.refs("refs/swarm-fetch/")) == []
    lock.unlink()
    assert scene.claims("check")["warnings"] == []
    assert sorted(scene.here.refs()) == CLAIMED


def test_a_lock_file_on_packed_refs_in_the_clone_hides_nothing(tmp_path: Path) -> None:
    scene = stage(tmp_path)
    (scene.here.git_path("packed-refs.lock")).touch()
    told = scene.claims(f"claim {T1}")
    assert [it["code"] for it in told["warnings"]] == ["mirror-behind"]
    assert "packed-refs.lock" in told["warnings"][0]["message"]
    scene.here.git_path("packed-refs.lock").unlink()
    assert scene.claims("check")["warnings"] == []
    assert sorted(scene.here.refs()) == CLAIMED


def test_a_lock_file_where_the_clone_decides(tmp_path: Path) -> None:
    """It stops the one task, and the error names the file and the command that removes it."""
    scene = alone(tmp_path)
    lock_file(CLAIM + T1)(scene)
    error = scene.refused(f"claim {T1}")
    path = scene.here.git_path(f"{CLAIM}{T1}.lock")
    assert (error["code"], Path(error["details"]["file"])) == ("busy", path.resolve())
    assert scene.here.refs() == {}
    scene.run(f"claim {T2}", ok=True)
    scene.run("release", ok=True)
    scene.shell(error["hint"])
    scene.run(f"claim {T1}", ok=True)


def test_a_lock_file_on_packed_refs_where_the_clone_decides(tmp_path: Path) -> None:
    """It lets claims through, and stops what deletes."""
    scene = alone(tmp_path)
    lock_file("packed-refs")(scene)
    scene.run(f"claim {T1}", ok=True)
    error = scene.refused("release")
    assert (error["code"], Path(error["details"]["file"]).name) == ("busy", "packed-refs.lock")
    scene.run("check", ok=True)
    scene.shell(error["hint"])
    scene.run("release", ok=True)
    assert [ref for ref in scene.here.refs() if "claim-log" not in ref] == []


def _config(key: str, url: str) -> Act:
    """Add a setting to the clone; `{other}` is the URL of another repository than origin, `{url}` that of origin."""

    def configure(scene: Scene) -> None:
        assert scene.origin is not None
        other = scene.folder / "other.git"
        values = {"url": scene.origin.url, "path": scene.origin.path, "other": other, "folder": scene.folder}
        scene.here.git("config", "--add", key.format_map(values), url.format_map(values))

    return configure


#: Pushes go elsewhere than fetches, or to several repositories; and the nearest to it that is one repository.
SPLIT: dict[str, tuple[Act, Act]] = {
    "a pushurl": (_config("remote.origin.pushurl", "{other}"), _config("remote.origin.pushurl", "{path}")),
    "as a file": (
        _config("remote.origin.pushurl", "file://{other}"),
        _config("remote.origin.pushurl", "file://{path}/"),
    ),
    "two of them": (
        act(_config("remote.origin.pushurl", "{url}"), _config("remote.origin.pushurl", "{other}")),
        act(_config("remote.origin.pushurl", "{url}"), _config("remote.hub.pushurl", "{other}")),
    ),
    "a second url": (
        _config("remote.origin.url", "{other}"),
        act(_config("remote.origin.url", "{other}"), _config("remote.origin.pushurl", "{url}")),
    ),
    "pushInsteadOf": (
        _config("url.{other}.pushInsteadOf", "{url}"),
        _config("url.{path}.pushInsteadOf", "{url}"),
    ),
    "pushInsteadOf for another": (
        _config("url.{other}.pushInsteadOf", "{url}"),
        _config("url.{other}.pushInsteadOf", "{folder}/nothing"),
    ),
}


@pytest.mark.parametrize("name", SPLIT)
def test_pushes_that_go_elsewhere_than_fetches_decide_nothing(name: str, tmp_path: Path) -> None:
    """Who reads one repository and writes to another, or to two, excludes nobody. Reading goes on."""
    scene = stage(tmp_path)
    other = clone_bare(scene, tmp_path / "other.git")
    scene.run(f"claim {T1}", ok=True)
    SPLIT[name][0](scene)
    before = scene.arbiter.snapshot(), other.snapshot()
    private = sorted(path.name for path in (scene.here.path / ".git" / "swarm").iterdir())
    scene.forge(T2, minutes=-1)
    writing = ["renew", "release", "release --done", f"steal {T2}", "reap", f"reopen {T1} --reason why", "prune"]
    for line in (f"claim {T1}", *writing):
        error = scene.refused(line)
        assert (error["code"], error["exit"]) == ("remote-not-atomic", 3), line
        assert error["message"].startswith("origin is read from "), line
    scene.vacate(T2)
    assert (scene.arbiter.snapshot(), other.snapshot()) == before
    assert sorted(path.name for path in (scene.here.path / ".git" / "swarm").iterdir()) == private
    for line in ("status", "check", f"show {T1}", "tasks", "log"):
        scene.run(line, ok=True)
    scene.shell(error["hint"])
    scene.run("renew", ok=True)
    scene.run("release", ok=True)
    assert other.refs() == {}


@pytest.mark.parametrize("name", SPLIT)
def test_pushes_that_go_by_another_way_to_the_same_repository_are_fine(name: str, tmp_path: Path) -> None:
    scene = stage(tmp_path)
    other = clone_bare(scene, tmp_path / "other.git")
    SPLIT[name][1](scene)
    live_through(scene)
    assert other.refs() == {}


def clone_bare(scene: Scene, path: Path) -> Repo:
    """Another repository with what the origin has."""
    scene.arbiter.git("clone", "-q", "--bare", str(scene.arbiter.path), str(path))
    return Repo(path)
