"""The plan and the manifest, each refusal with its twin."""

from __future__ import annotations

import pytest

from claims.board.plan import (
    MANIFEST_PATH,
    PLAN_PATH,
    MilestoneStatus,
    PlanStatus,
    parse_manifest,
    parse_plan,
)
from claims.errors import Undecided
from claims.names import TaskId

ONE, TWO, LAST = (TaskId(f"T-20260814-abcdef{end}") for end in ("01", "02", "0f"))
PLAN = "revision: 7\nstatus: approved\n"
MANIFEST = f"""\
plan_revision: 7
milestones:
  - id: m1
    title: Opaque sessions
    status: active
    tasks: [{ONE}, {TWO}]
    integration: {LAST}
  - id: m2
    title: Sign-out
    status: planned
"""


def plan(front: str) -> bytes:
    return f"---\n{front}---\nThe plan.\n".encode()


def test_a_plan() -> None:
    read = parse_plan(plan(PLAN + "approved_by: octocat\napproved_at: 2026-08-14\nx-why: y\n"))
    assert (read.revision, read.status, read.body) == (7, PlanStatus.APPROVED, "The plan.\n")
    assert (read.approved_by, read.approved_at) == ("octocat", "2026-08-14")


def test_a_draft() -> None:
    read = parse_plan(plan("revision: 1\nstatus: draft\n"))
    assert (read.status, read.approved_by, read.approved_at) == (PlanStatus.DRAFT, None, None)


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("revision: 7\n", "", 1, "a plan lacks `revision`"),
        ("status: approved\n", "", 1, "a plan lacks `status`"),
        ("7", "0", 2, "`revision`: expected 1 to"),
        ("7", "-1", 2, "`revision`: expected 1 to"),
        ("7", "1.0", 2, "expected a whole number, found the number 1.0"),
        ("7", '"7"', 2, "expected a whole number, found text ('7')"),
        ("7", "true", 2, "expected a whole number, found true"),
        ("7", "99999999999", 2, "expected 1 to"),
        ("approved", "final", 3, "`status`: expected one of draft, approved"),
        ("status: approved\n", "status: approved\nmilestones: []\n", 4, "a plan has no key `milestones`"),
        ("status: approved\n", "status: approved\napproved_by: [x]\n", 4, "expected text, found a list"),
    ],
)
def test_refuses_plans(old: str, new: str, line: int, words: str) -> None:
    assert parse_plan(plan(PLAN)).revision == 7
    with pytest.raises(Undecided) as caught:
        parse_plan(plan(PLAN.replace(old, new)))
    assert caught.value.code == "malformed-plan"
    assert caught.value.message.startswith(f"{PLAN_PATH}:{line}: ")
    assert words in caught.value.message


def test_a_plan_without_front_matter() -> None:
    with pytest.raises(Undecided) as caught:
        parse_plan(b"# The plan\n")
    assert caught.value.code == "malformed-plan"


def test_a_manifest() -> None:
    read = parse_manifest(MANIFEST.encode())
    first, second = read.milestones
    assert read.plan_revision == 7
    assert (first.id, first.title, first.status) == ("m1", "Opaque sessions", MilestoneStatus.ACTIVE)
    assert (first.tasks, first.integration, first.line) == ((ONE, TWO), LAST, 3)
    assert (second.tasks, second.integration, second.line) == ((), None, 8)


def test_whose_milestone() -> None:
    read = parse_manifest(MANIFEST.encode())
    assert read.milestone_of(ONE) is read.milestones[0]
    assert read.milestone_of(LAST) is read.milestones[0]
    assert read.milestone_of(TaskId("T-20260814-ffffffff")) is None


def test_a_manifest_without_milestones() -> None:
    assert parse_manifest(b"plan_revision: 1\nmilestones: []\n").milestones == ()


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        (MANIFEST, "", 1, "a manifest lacks `milestones`"),
        (MANIFEST, "# nothing yet\n", 1, "a manifest lacks `milestones`"),
        ("plan_revision: 7\n", "", 1, "a manifest lacks `plan_revision`"),
        ("plan_revision: 7", "plan_revision: 07.5", 1, "expected a whole number"),
        ("plan_revision: 7", "plan: 7", 1, "a manifest has no key `plan`"),
        ("    title: Sign-out\n", "", 8, "`milestones`: a milestone lacks `title`"),
        ("    status: planned\n", "", 8, "a milestone lacks `status`"),
        ("planned", "released", 10, "expected one of planned, active, integrating, done"),
        ("id: m2", "id: m 2", 8, "'m 2' is not a milestone id"),
        ("id: m2", "id: 2", 8, "expected text, found the number 2"),
        ("id: m2", "id: m1", 8, "the milestone m1 again"),
        ("tasks: [", "tasks: [T-1, ", 6, "'T-1' is not a task id"),
        (f"[{ONE}, {TWO}]", str(ONE), 6, "expected a list"),
        (f"{ONE}, {TWO}", f"{ONE}, {ONE}", 3, f"{ONE} is twice in the milestone m1"),
        (str(LAST), str(ONE), 3, f"{ONE} is twice in the milestone m1"),
        ("status: planned\n", f"status: planned\n    tasks: [{TWO}]\n", 8, f"{TWO} is in m1 already, and in"),
        ("status: planned\n", f"status: planned\n    integration: {LAST}\n", 8, f"{LAST} is in m1 already"),
        ("status: planned\n", f"status: planned\n    tasks: [{LAST}]\n", 8, f"{LAST} is in m1 already"),
        ("status: planned\n", "status: planned\n    task: []\n", 11, "a milestone has no key `task`"),
        ("  - id: m2", "  - m3\n  - id: m2", 8, "expected a mapping, found text ('m3')"),
    ],
)
def test_refuses_manifests(old: str, new: str, line: int, words: str) -> None:
    with pytest.raises(Undecided) as caught:
        parse_manifest(MANIFEST.replace(old, new).encode())
    assert caught.value.code == "malformed-manifest"
    assert caught.value.message.startswith(f"{MANIFEST_PATH}:{line}: ")
    assert words in caught.value.message


def test_a_large_manifest_is_read() -> None:
    ids = "".join(f"      - T-20260814-{number:08x}\n" for number in range(9000))
    text = f"plan_revision: 1\nmilestones:\n  - id: m1\n    title: x\n    status: active\n    tasks:\n{ids}"
    assert len(parse_manifest(text.encode()).milestones[0].tasks) == 9000
