"""Judging in Actions: events, pull requests as GitHub has them now, and the merge queue unit by unit."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from claims.errors import SwarmError
from claims.names import Branch, ObjectId
from gate.github.event import MergeGroupEvent, PullRequestEvent, read_event
from gate.github.judging import judge_event
from gate.verdict import Verdict
from tests.support.board import task_file, task_id
from tests.support.github.scene import ONE, TWO, Scene, on_github
from tests.support.github.state import OPERATOR, STRANGER, WEB_FLOW, repository, signed


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with on_github(tmp_path) as made:
        yield made


def rules(verdict: Verdict) -> set[str]:
    return {finding.rule for finding in verdict.findings}


def refused(ask: Callable[[], object]) -> SwarmError:
    with pytest.raises(SwarmError) as caught:
        ask()
    return caught.value


def test_an_honest_pull_request_passes(scene: Scene) -> None:
    head = scene.task(7, ONE)
    verdict = scene.judged(7)
    assert (verdict.word, verdict.kind, verdict.task) == ("pass", "implementation", ONE)
    assert verdict.head.commit == head
    assert scene.fake.calls() == ["GET /pulls/7", "GET /pulls/7"]


def test_one_without_a_claim_fails(scene: Scene) -> None:
    scene.task(7, ONE, claim=False)
    assert rules(scene.judged(7)) == {"claim-recorded"}


def test_a_branch_of_that_name_in_a_fork_is_another(scene: Scene) -> None:
    scene.task(7, ONE)
    scene.fake.state.pulls[7]["head"]["repo"] = repository("someone/widgets", 99)
    verdict = scene.judged(7)
    assert rules(verdict) >= {"claim-recorded"} and verdict.head.repository == "someone/widgets"


def test_a_fork_that_is_gone_claims_nothing(scene: Scene) -> None:
    scene.task(7, ONE)
    scene.fake.state.pulls[7]["head"]["repo"] = None
    assert "claim-recorded" in rules(scene.judged(7))


def test_a_closed_one_is_not_judged(scene: Scene) -> None:
    scene.task(7, ONE)
    scene.fake.state.pulls[7]["state"] = "closed"
    assert refused(lambda: scene.judged(7)).code == "evidence-incomplete"


CHANGES: Mapping[str, tuple[str | None, dict[str, Any]]] = {
    "head": ("head", {"sha": "2" * 40}),
    "base": ("base", {"ref": "next"}),
    "state": (None, {"state": "closed"}),
}


@pytest.mark.parametrize("what", list(CHANGES))
def test_what_changes_while_it_is_judged_is_told(scene: Scene, what: str) -> None:
    scene.task(7, ONE)
    scene.hub.git("update-ref", "refs/heads/next", "refs/heads/main")
    real = scene.api
    pull = scene.fake.state.pulls[7]

    class Changing:
        repository = real.repository
        asked = 0

        def get(self, path: str, **params: str | int) -> Any:
            self.asked += 1
            if self.asked == 2:
                part, change = CHANGES[what]
                (pull[part] if part is not None else pull).update(change)
            return real.get(path, **params)

        def pages(self, path: str, most: int, **params: str | int) -> list[Any]:
            return real.pages(path, most, **params)

    api = Changing()
    fault = refused(lambda: judge_event(api, PullRequestEvent(7), scene.environ, datetime.now(timezone.utc)))
    assert (fault.code, fault.exit, api.asked) == ("moved", 2, 2)


def test_a_head_that_the_server_has_not_is_moved(scene: Scene) -> None:
    scene.task(7, ONE)
    scene.fake.state.pulls[7]["head"]["sha"] = "2" * 40
    assert refused(lambda: scene.judged(7)).code == "moved"


UNSIGNED = {**signed("", OPERATOR), "commit": {"verification": {"verified": False, "reason": "unsigned"}}}


@pytest.mark.parametrize(
    ("by", "kind"),
    [
        ((OPERATOR, OPERATOR), "planning"),
        ((OPERATOR, WEB_FLOW), "planning"),
        ((OPERATOR, STRANGER), "implementation"),
        ((STRANGER, STRANGER), "implementation"),
        (None, "implementation"),
    ],
    ids=["signed", "in-the-browser", "signed-by-another", "by-another", "unsigned"],
)
def test_an_operators_rights_are_for_commits_that_are_verified(scene: Scene, by: Any, kind: str) -> None:
    scene.work.git("switch", "-q", "-c", "plan", "origin/main")
    scene.work.commit({f".agents/tasks/queued/{task_id(3)}.md": task_file(task_id(3), paths=["lib/"])}, "Plan")
    head = scene.open(8, "plan", OPERATOR)
    commit = signed(head, *by) if by is not None else UNSIGNED | {"sha": head}
    scene.fake.state.commits[8] = [commit]
    verdict = scene.judged(8)
    assert (verdict.kind, verdict.word) == (kind, "pass" if kind == "planning" else "fail")


def test_one_commit_that_is_not_verified_takes_them(scene: Scene) -> None:
    scene.work.git("switch", "-q", "-c", "plan", "origin/main")
    first = scene.work.commit({f".agents/tasks/queued/{task_id(3)}.md": task_file(task_id(3))}, "Plan")
    scene.work.commit({f".agents/tasks/queued/{task_id(4)}.md": task_file(task_id(4))}, "Plan more")
    head = scene.open(8, "plan", OPERATOR)
    scene.fake.state.commits[8] = [signed(str(first), OPERATOR)]
    assert scene.judged(8).kind == "implementation"
    scene.fake.state.commits[8].append(signed(head, OPERATOR))
    assert scene.judged(8).kind == "planning"


def test_whose_commits_they_are_is_not_asked_where_it_does_not_matter(scene: Scene) -> None:
    scene.task(7, ONE)
    scene.judged(7)
    assert not any(call.endswith("/commits") for call in scene.fake.calls())


class TestMergeQueue:
    @pytest.mark.parametrize("how", ["squash", "merge", "rebase"])
    def test_a_group_of_two_passes_unit_by_unit(self, scene: Scene, how: str) -> None:
        """The second task depends on the first, which is done in the unit below."""
        scene.task(7, ONE)
        first = scene.queue(7, "origin/main", how)
        scene.claimed_by_hand(8, TWO)
        tip = scene.queue(8, first, how)
        assert [(one.word, one.task) for one in scene.group(8, first, tip)] == [("pass", ONE), ("pass", TWO)]

    def test_the_lower_entry_is_judged_too(self, scene: Scene) -> None:
        """With the grouping HEADGREEN the check of the last entry alone lets both land."""
        scene.task(7, ONE, outside=True)
        first = scene.queue(7, "origin/main")
        scene.claimed_by_hand(8, TWO)
        tip = scene.queue(8, first)
        lower, upper = scene.group(8, first, tip)
        assert (lower.word, rules(lower), upper.word) == ("fail", {"paths-inside"}, "pass")

    def test_a_unit_that_is_not_what_its_pull_request_gives(self, scene: Scene) -> None:
        scene.task(7, ONE)
        scene.queue(7, "origin/main")
        scene.work.commit({"src/more.py": "print('slipped in')\n"}, "More")
        scene.work.git("reset", "-q", "--soft", "HEAD~2")
        scene.work.git("commit", "-q", "-m", "Pull request 7")
        tip = scene.enqueue(7, "origin/main")
        (verdict,) = scene.group(7, "origin/main", tip)
        assert rules(verdict) == {"landing-mismatch"}

    def test_a_commit_that_no_entry_explains(self, scene: Scene) -> None:
        scene.task(7, ONE)
        first = scene.queue(7, "origin/main")
        scene.work.commit({"src/more.py": "x\n"}, "More")
        tip = scene.work.git("rev-parse", "HEAD")
        scene.work.git("push", "-q", "origin", f"HEAD:refs/heads/gh-readonly-queue/main/odd-{first}")
        event = MergeGroupEvent(Branch("main"), Branch(f"gh-readonly-queue/main/odd-{first}"), ObjectId(tip))
        (verdict,) = judge_event(scene.api, event, scene.environ, datetime.now(timezone.utc))
        assert (verdict.word, rules(verdict)) == ("fail", {"group-incomplete"})

    def test_one_that_does_not_lead_to_base(self, scene: Scene) -> None:
        scene.task(7, ONE)
        tip = scene.queue(7, "origin/main")
        scene.hub.commit({"docs/later.md": "later\n"}, "Base moves on")
        (verdict,) = scene.group(7, "origin/main", tip)
        assert rules(verdict) == {"group-incomplete"}

    def test_an_entry_whose_pull_request_moved(self, scene: Scene) -> None:
        scene.task(7, ONE)
        tip = scene.queue(7, "origin/main")
        scene.fake.state.pulls[7]["head"]["sha"] = "2" * 40
        assert refused(lambda: scene.group(7, "origin/main", tip)).code == "moved"

    def test_one_for_another_base(self, scene: Scene) -> None:
        scene.task(7, ONE)
        tip = scene.queue(7, "origin/main")
        scene.fake.state.pulls[7]["base"]["ref"] = "next"
        assert refused(lambda: scene.group(7, "origin/main", tip)).code == "moved"

    def test_a_group_that_is_at_another_commit(self, scene: Scene) -> None:
        scene.task(7, ONE)
        scene.queue(7, "origin/main")
        assert refused(lambda: scene.group(7, "origin/main", "2" * 40)).code == "moved"


class TestEvent:
    @staticmethod
    def read(tmp_path: Path, name: str, payload: object) -> PullRequestEvent | MergeGroupEvent:
        path = tmp_path / "event.json"
        path.write_bytes(payload if isinstance(payload, bytes) else json.dumps(payload).encode())
        return read_event({"GITHUB_EVENT_NAME": name, "GITHUB_EVENT_PATH": str(path)})

    GROUP: Mapping[str, str] = {
        "base_ref": "refs/heads/main",
        "head_ref": f"refs/heads/gh-readonly-queue/main/pr-7-{'1' * 40}",
        "head_sha": "2" * 40,
    }

    def test_a_pull_request_is_its_number(self, tmp_path: Path) -> None:
        payload = {"pull_request": {"number": 7, "head": {"sha": "nothing that is trusted"}}}
        assert self.read(tmp_path, "pull_request_target", payload) == PullRequestEvent(7)

    def test_a_group_is_a_branch_of_the_queue(self, tmp_path: Path) -> None:
        found = self.read(tmp_path, "merge_group", {"merge_group": self.GROUP})
        assert found == MergeGroupEvent(
            Branch("main"), Branch(f"gh-readonly-queue/main/pr-7-{'1' * 40}"), ObjectId("2" * 40)
        )

    @pytest.mark.parametrize("name", ["", "push", "pull_request", "workflow_dispatch", "pull_request_target\n"])
    def test_another_event(self, tmp_path: Path, name: str) -> None:
        fault = refused(lambda: self.read(tmp_path, name, {"pull_request": {"number": 7}}))
        assert (fault.code, fault.exit) == ("evidence-incomplete", 3)

    @pytest.mark.parametrize(
        "payload",
        [
            b"",
            b"[]",
            b"\xff\xfe",
            b"[" * 100_000,
            {},
            *({"pull_request": {"number": number}} for number in (0, -1, True, "7", 7.0, 2**40, None)),
        ],
        ids=repr,
    )
    def test_a_payload_that_is_none(self, tmp_path: Path, payload: object) -> None:
        assert refused(lambda: self.read(tmp_path, "pull_request_target", payload)).exit == 3

    @pytest.mark.parametrize(
        "change",
        [
            {"base_ref": "main"},
            {"base_ref": "refs/heads/../x"},
            {"head_ref": "refs/heads/main"},
            {"head_ref": f"refs/heads/gh-readonly-queue/next/pr-7-{'1' * 40}"},
            {"head_sha": "HEAD"},
            {"head_sha": None},
        ],
    )
    def test_a_group_that_is_none(self, tmp_path: Path, change: dict[str, Any]) -> None:
        assert refused(lambda: self.read(tmp_path, "merge_group", {"merge_group": {**self.GROUP, **change}})).exit == 3

    def test_no_payload_at_all(self, tmp_path: Path) -> None:
        for path in ({}, {"GITHUB_EVENT_PATH": str(tmp_path / "gone")}, {"GITHUB_EVENT_PATH": str(tmp_path)}):
            assert refused(lambda: read_event({"GITHUB_EVENT_NAME": "merge_group", **path})).exit == 3  # noqa: B023
