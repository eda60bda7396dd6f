"""What could not be decided (exit 3): each code, and its positive twin."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.scene import (
    CLAIM,
    T1,
    Act,
    Scenario,
    Scene,
    alone,
    change,
    edited,
    env,
    follow_hint,
    git,
    prove,
    put,
    stage,
)
from tests.support import remotes
from tests.support.board import manifest_file, plan_file, task_file
from tests.support.git_wrapper import GitWrapper
from tests.support.repo import Repo, clone

CLAIM_T1 = f"claim {T1}"
PLAN, MANIFEST, CONFIG = ".agents/plan.md", ".agents/manifest.yaml", ".agents/swarm.yaml"


def wrapped(tell: Callable[[GitWrapper], object]) -> Act:
    """Commands meet a git of our own, which does as it is told."""

    def wrap(scene: Scene) -> None:
        wrapper = GitWrapper(scene.folder / "wrapper")
        tell(wrapper)
        scene.env.update(wrapper.env)

    return wrap


def older(version: str, *words: str) -> Callable[[GitWrapper], None]:
    """A git of that version, which does not know an option that is among its arguments."""

    def tell(wrapper: GitWrapper) -> None:
        wrapper.version(version)
        wrapper.fail(129, "error: unknown option\nusage: git …\n", *words, nth=0)

    return tell


_GIT_2_30 = """\
#!/bin/sh
case " $* " in
*" version "*) echo git version 2.30.2; exit ;;
*" rev-parse "*) echo --path-format=absolute ;;
esac
exec {git} "$@"
"""


def git_2_30(scene: Scene) -> None:
    """It prints the options of rev-parse that it does not know, and goes on."""
    program = scene.folder / "old" / "git"
    program.parent.mkdir()
    program.write_text(_GIT_2_30.format(git=shutil.which("git")))
    program.chmod(0o755)
    scene.env["PATH"] = f"{program.parent}:{os.environ['PATH']}"


real_git = env(PATH=None)


def no_program(scene: Scene) -> None:
    (scene.folder / "empty").mkdir()
    scene.env["PATH"] = str(scene.folder / "empty")


def with_origin(break_it: Callable[[Repo], object]) -> Act:
    def act(scene: Scene) -> None:
        assert scene.origin is not None
        break_it(scene.origin)

    return act


def moved_away(scene: Scene) -> None:
    scene.here.git("config", "remote.origin.url", remotes.gone(scene.folder))


def back(scene: Scene) -> None:
    assert scene.origin is not None
    scene.here.git("config", "remote.origin.url", scene.origin.url)


def without_hook(scene: Scene) -> None:
    assert scene.origin is not None
    (scene.origin.path / "hooks" / "pre-receive").unlink()


def partial_clone_of_another_name(scene: Scene) -> None:
    """Nothing arbitrates here, since no remote is called origin; and the files of the board are not here."""
    assert scene.origin is not None
    scene.origin.git("config", "uploadpack.allowFilter", "true")
    scene.here = clone(
        scene.origin, scene.folder / "partial", "--origin=upstream", "--filter=blob:none", "--no-checkout"
    )
    scene.here.git("update-ref", "refs/heads/work", "main")
    scene.here.git("symbolic-ref", "HEAD", "refs/heads/work")


def in_the_way(scene: Scene) -> None:
    """A file where the folder of the tokens belongs."""
    scene.here.git_path("swarm").write_text("")


def out_of_the_way(scene: Scene) -> None:
    scene.here.git_path("swarm").unlink()


def elsewhere(scene: Scene) -> None:
    (scene.folder / "elsewhere").mkdir()


def linked_elsewhere(scene: Scene) -> None:
    (scene.folder / "elsewhere").rmdir()
    (scene.folder / "elsewhere").symlink_to(scene.here.path)


def stalled(scene: Scene) -> None:
    """The branch that base is to be is not there, and the remote does not get to say which are."""
    scene.env.update(SWARM_BASE="trunk", SWARM_TIMEOUT="1")
    wrapped(lambda wrapper: [wrapper.pause("before", "ls-remote", nth=nth) for nth in (1, 2)])(scene)


UNDECIDED = [
    Scenario("nowhere", "not-a-repository", elsewhere, "-C ../elsewhere status", "git init", linked_elsewhere),
    Scenario("no git", "git-missing", no_program, CLAIM_T1, "install git 2.38", real_git),
    Scenario(
        "git 2.37", "git-too-old", wrapped(older("2.37.9", "cat-file", "-z")), CLAIM_T1, "git --version", real_git
    ),
    Scenario("git 2.30", "git-too-old", git_2_30, CLAIM_T1, "git --version", real_git),
    Scenario(
        "git fails",
        "git-failed",
        wrapped(lambda wrapper: wrapper.fail(128, "fatal: the disk is full\n", "hash-object", nth=0)),
        CLAIM_T1,
        None,
        real_git,
    ),
    Scenario("no such base", "base-not-found", env(SWARM_BASE="trunk"), CLAIM_T1, "--base main", env(SWARM_BASE=None)),
    Scenario(
        "no such base, as configured",
        "base-not-found",
        git("config swarm.base trunk"),
        CLAIM_T1,
        "git config swarm.base main",
        lambda scene: scene.here.git(*scene.hint.partition(", or: git ")[2].split()),
    ),
    Scenario("a remote that is gone", "remote-unreachable", moved_away, CLAIM_T1, "git ls-remote origin", back),
    Scenario(
        "a remote that nobody set up",
        "remote-unreachable",
        env(SWARM_REMOTE="hub"),
        CLAIM_T1,
        "git remote -v",
        env(SWARM_REMOTE=None),
    ),
    Scenario(
        "a remote with a hook",
        "remote-rejected",
        with_origin(remotes.refuse_namespace),
        CLAIM_T1,
        "git push --no-verify origin :refs/swarm/probe",
        without_hook,
    ),
    Scenario(
        "a remote that hides the refs",
        "remote-rejected",
        with_origin(remotes.hide_namespace),
        CLAIM_T1,
        "git push --no-verify origin :refs/swarm/probe",
        with_origin(lambda origin: origin.git("config", "--unset", "receive.hideRefs")),
    ),
    Scenario(
        "a remote that is read only",
        "remote-rejected",
        with_origin(remotes.read_only),
        CLAIM_T1,
        "git push --no-verify origin :refs/swarm/probe",
        without_hook,
    ),
    Scenario(
        "a remote without atomic",
        "remote-not-atomic",
        with_origin(remotes.no_atomic),
        CLAIM_T1,
        "git config receive.advertiseAtomic true",
        with_origin(lambda origin: origin.git("config", "receive.advertiseAtomic", "true")),
    ),
    Scenario(
        "a task that does not read",
        "malformed-task",
        change(edited(T1, "title: ", "tittle: ")),
        CLAIM_T1,
        "did you mean `title`?",
        put(task_file(T1)),
    ),
    Scenario(
        "a task in two folders",
        "malformed-task",
        change({f".agents/tasks/blocked/{T1}.md": task_file(T1, status="blocked")}),
        CLAIM_T1,
        "swarm-gate board",
        change({f".agents/tasks/blocked/{T1}.md": None}),
    ),
    Scenario(
        "a plan that does not read",
        "malformed-plan",
        change({PLAN: "no front matter\n", MANIFEST: manifest_file()}),
        CLAIM_T1,
        None,
        change({PLAN: None, MANIFEST: None}),
    ),
    Scenario(
        "a manifest that does not read",
        "malformed-manifest",
        change({PLAN: plan_file(), MANIFEST: "milestones: []\n"}),
        CLAIM_T1,
        "add a line `plan_revision: …`",
        change({PLAN: None, MANIFEST: None}),
    ),
    Scenario(
        "a configuration that does not read",
        "malformed-config",
        change({CONFIG: "lease_minutes: 0\n"}),
        CLAIM_T1,
        None,
        change({CONFIG: "lease_minutes: 1\n"}),
    ),
    Scenario(
        "a claim that does not read",
        "malformed-claim",
        lambda scene: scene.forge_blob(T1, "{}"),
        CLAIM_T1,
        f"--force-with-lease={CLAIM}{T1}:",
        follow_hint,
    ),
    Scenario(
        "a task of 300 KiB",
        "limits-exceeded",
        put(task_file(T1, body="x" * 300 * 1024)),
        CLAIM_T1,
        None,
        put(task_file(T1, body="x" * 200 * 1024)),
    ),
    Scenario(
        "locks for more than a claim holds",
        "limits-exceeded",
        put(task_file(T1, locks=[f"{n:0120}" for n in range(60)])),
        CLAIM_T1,
        "fewer or shorter lock keys",
        put(task_file(T1, locks=[f"{n:0120}" for n in range(30)])),
    ),
    Scenario(
        "a partial clone with nobody to ask",
        "evidence-incomplete",
        partial_clone_of_another_name,
        CLAIM_T1,
        "",
        git("config swarm.remote upstream"),
    ),
    Scenario(
        "a list of branches that does not come",
        "timed-out",
        stalled,
        CLAIM_T1,
        None,
        env(SWARM_BASE=None),
    ),
    Scenario("what nobody thought of", "unexpected", in_the_way, CLAIM_T1, "SWARM_DEBUG=1", out_of_the_way),
]

#: The same without a remote, where the shared git directory decides.
ALONE = [
    Scenario(
        "no such base",
        "base-not-found",
        git("config swarm.base trunk"),
        CLAIM_T1,
        "--base main",
        git("config swarm.base main"),
    ),
    Scenario(
        "a base without a commit",
        "base-not-found",
        git("update-ref -d refs/heads/main"),
        CLAIM_T1,
        "--base work",
        git("branch main work"),
    ),
    Scenario(
        "a claim that does not read",
        "malformed-claim",
        lambda scene: scene.forge_blob(T1, "{}"),
        CLAIM_T1,
        f"git update-ref -d {CLAIM}{T1} ",
        follow_hint,
    ),
]


@pytest.mark.parametrize("scenario", UNDECIDED, ids=lambda scenario: scenario.name)
def test_undecided_and_then_done(scenario: Scenario, tmp_path: Path) -> None:
    prove(scenario, stage(tmp_path), exit=3)


@pytest.mark.parametrize("scenario", ALONE, ids=lambda scenario: scenario.name)
def test_undecided_alone_and_then_done(scenario: Scenario, tmp_path: Path) -> None:
    prove(scenario, alone(tmp_path), exit=3)
