"""Judging without a clone: what is fetched, what is not, and what moves meanwhile."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import TypeAlias

import pytest

from claims.errors import Conflict, SwarmError, Undecided
from claims.names import Branch, ObjectId, RefName
from claims.values import replace
from gate import bounds, fetched
from gate.evidence import Facts
from gate.fetched import FetchedRepository, Source, judge_fetched
from gate.gather import Verify
from gate.landing import Commit
from gate.verdict import Verdict
from tests.support.board import board_files, moved, task_file, task_id
from tests.support.http_origin import HttpOrigin
from tests.support.repo import Repo, clone, origin
from tests.support.swarm import swarm

TASK = task_id(1)
BRANCH = "agent/one"
HEAD = RefName("refs/pull/7/head")
#: A file that nobody needs to read, and that does not compress.
LARGE = os.urandom(400_000).hex()

Place: TypeAlias = "tuple[Repo, Repo, Source]"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[HttpOrigin]:
    with HttpOrigin(tmp_path / "served") as running:
        yield running


def place(tmp_path: Path, server: HttpOrigin | None) -> Place:
    """The base repository, a clone at work on the task, and what the gate would be told to fetch."""
    files = {**board_files(tasks=[task_file(TASK, paths=["src/"])]), "src/large.txt": LARGE, "src/old.txt": "old\n" * 9}
    hub = server.create("origin", files) if server is not None else origin(tmp_path / "origin.git", files)
    url = server.url("origin") if server is not None else hub.url
    hub.git("config", "uploadpack.allowFilter", "true")
    hub.git("config", "uploadpack.allowAnySHA1InWant", "true")
    work = clone(url, tmp_path / "work")
    work.branch(BRANCH)
    swarm(work, "claim", TASK, "--agent", "one", ok=True)
    work.commit({"src/work.py": "print('done')\n"}, "Work")
    work.commit(moved(task_file(TASK, paths=["src/"]), "done"), "Finish")
    form = hub.git("rev-parse", "--show-object-format")
    return hub, work, Source(url, RefName("refs/heads/main"), HEAD, RefName("refs/pull/7/merge"), form)


def push(work: Repo) -> None:
    work.git("push", "-q", "--force", "origin", f"HEAD:{HEAD}")


def facts() -> Facts:
    return Facts(Branch("main"), datetime.now(timezone.utc), Branch(BRANCH))


def judged(source: Source) -> Verdict:
    return judge_fetched(source, facts(), os.environ)


@pytest.mark.parametrize("how", ["file", "http"])
def test_the_honest_branch_passes(tmp_path: Path, how: str, server: HttpOrigin) -> None:
    _, work, source = place(tmp_path, server if how == "http" else None)
    push(work)
    server.clear_requests()
    verdict = judged(source)
    assert verdict.word == "pass", verdict.findings
    assert verdict.claim is not None and verdict.claim.agent == "one"
    if how == "http":
        assert sum(request.bytes_out for request in server.requests) < 60_000, "files were fetched that nobody reads"


@pytest.mark.parametrize("how", ["file", "http"])
def test_where_base_moved_on_only_what_is_merged_is_fetched_besides(
    tmp_path: Path, how: str, server: HttpOrigin
) -> None:
    hub, work, source = place(tmp_path, server if how == "http" else None)
    work.commit({"src/old.txt": "new\n" + "old\n" * 9}, "Edit")
    push(work)
    hub.commit({"src/old.txt": "old\n" * 9 + "base\n"}, "Base edits the same file")
    server.clear_requests()
    verdict = judged(source)
    assert verdict.word == "pass", verdict.findings
    if how == "http":
        assert sum(request.bytes_out for request in server.requests) < 60_000


def test_a_claim_that_was_released_is_found(tmp_path: Path) -> None:
    _, work, source = place(tmp_path, None)
    push(work)
    swarm(work, "release", "--done", ok=True)
    verdict = judged(source)
    assert verdict.word == "pass", verdict.findings
    assert verdict.claim is not None and verdict.claim.outcome == "done"


def test_without_a_claim_it_fails(tmp_path: Path) -> None:
    """Also where a ref of a longer name has one."""
    hub, work, source = place(tmp_path, None)
    push(work)
    ref = f"refs/swarm/task-claims/{TASK}"
    hub.git("update-ref", f"{ref}-more", str(hub.oid(ref)))
    hub.git("update-ref", "-d", ref)
    verdict = judged(source)
    assert verdict.word == "fail"
    assert {finding.rule for finding in verdict.findings} == {"claim-recorded"}


@pytest.mark.parametrize("archived", [True, False], ids=["archived", "gone"])
def test_the_archive_is_looked_into(tmp_path: Path, archived: bool) -> None:
    hub, work, source = place(tmp_path, None)
    push(work)
    swarm(work, "release", TASK, "--reason", "enough", ok=True)
    ((ref, blob),) = hub.refs("refs/swarm/claim-log/").items()
    if archived:
        tree = hub.git("mktree", input=f"100644 blob {blob}\t{ref.rpartition('/')[2]}.json\n")
        for name in (TASK, TASK[2:8]):
            tree = hub.git("mktree", input=f"040000 tree {tree}\t{name}\n")
        hub.git("update-ref", "refs/swarm/claim-log-archive", hub.git("commit-tree", tree, "-m", "Archive"))
    hub.git("update-ref", "-d", ref)
    assert judged(source).word == ("pass" if archived else "fail")


@pytest.mark.parametrize(("tree", "expected"), [("HEAD^{tree}", "pass"), ("HEAD~1^{tree}", "fail")])
def test_the_test_merge_has_to_agree(tmp_path: Path, tree: str, expected: str) -> None:
    _, work, source = place(tmp_path, None)
    base, head = work.git("rev-parse", "origin/main"), work.git("rev-parse", "HEAD")
    work.git("update-ref", "refs/heads/merge", work.git("commit-tree", tree, "-p", base, "-p", head, "-m", "Merge"))
    push(work)
    work.git("push", "-q", "origin", "refs/heads/merge:refs/pull/7/merge")
    verdict = judged(source)
    assert verdict.word == expected
    assert [finding.rule for finding in verdict.findings] == ([] if expected == "pass" else ["landing-mismatch"])


def test_a_head_that_moves_is_not_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, work, source = place(tmp_path, None)
    push(work)

    def move() -> None:
        work.commit({"docs/x.md": "more\n"}, "More")
        push(work)

    moving(monkeypatch, [move])
    with pytest.raises(Conflict) as caught:
        judged(source)
    assert caught.value.code == "moved"


def test_a_base_that_moves_is_judged_again_and_not_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub, work, source = place(tmp_path, None)
    push(work)
    moves = [lambda: hub.commit({"README.md": os.urandom(4).hex()}, "Move", branch="main")] * 2
    moving(monkeypatch, moves)
    verdict = judged(source)
    assert verdict.word == "pass"
    assert verdict.base.commit == hub.oid("refs/heads/main")
    moving(monkeypatch, [*moves, *moves])
    with pytest.raises(Conflict) as caught:
        judged(source)
    assert caught.value.code == "moved"


def moving(monkeypatch: pytest.MonkeyPatch, moves: Sequence[object]) -> None:
    """Before each second look at base and head, the next of the moves is made."""
    real = FetchedRepository.look_again
    left = list(moves)

    def look_again(self: FetchedRepository) -> tuple[ObjectId, ObjectId]:
        if left:
            move = left.pop(0)
            assert callable(move)
            move()
        return real(self)

    monkeypatch.setattr(FetchedRepository, "look_again", look_again)


@pytest.mark.parametrize("at", ["HEAD", "HEAD~1"])
def test_head_has_to_be_at_the_commit_that_the_verdict_is_for(tmp_path: Path, at: str) -> None:
    _, work, source = place(tmp_path, None)
    push(work)
    told = replace(source, commit=ObjectId(work.git("rev-parse", at)))
    if at == "HEAD":
        assert judged(told).word == "pass"
        return
    assert refused(told, Conflict) == "moved"


def refused(source: Source, kind: type[SwarmError] = Undecided) -> str:
    """The code with which judging ends."""
    with pytest.raises(kind) as caught:
        judged(source)
    return caught.value.code


def test_what_is_asked_and_answered_does_not_grow(tmp_path: Path, server: HttpOrigin) -> None:
    """Not with the size of files, nor with the number of other tasks' claims."""
    hub, work, source = place(tmp_path, server)
    push(work)
    requests, size = cost(server, source)
    # Base, head, claims and files: to say hello, to list, to fetch. The second look fetches nothing.
    assert requests <= 4 * 3 + 2
    work.commit({"src/large.txt": os.urandom(1_000_000).hex()}, "Larger")
    push(work)
    blob = hub.blob("x")
    log = (f"create refs/swarm/claim-log/{task_id(9)}/{number} {blob}\n" for number in range(500))
    hub.git("update-ref", "--stdin", input="".join(log))
    more_requests, more_size = cost(server, source)
    assert more_requests == requests
    assert more_size < size + 4_000


def cost(server: HttpOrigin, source: Source) -> tuple[int, int]:
    """The requests of one judgement, and the bytes that answered them."""
    server.clear_requests()
    assert judged(source).word == "pass"
    return len(server.requests), sum(request.bytes_out for request in server.requests)


@pytest.mark.parametrize("bound", ["HISTORY", "FILES", "CLAIMS", "MERGED"])
@pytest.mark.parametrize("size", [20_000_000, 300])
def test_no_more_is_fetched_than_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str, size: int
) -> None:
    hub, work, source = place(tmp_path, None)
    work.commit({"src/old.txt": "new\n" + "old\n" * 9, ".agents/proposals/P-20260814-00000001.md": LARGE}, "Edit")
    push(work)
    hub.commit({"src/old.txt": "old\n" * 9 + "base\n"}, "Base edits the same file")
    monkeypatch.setattr(bounds, bound, size)
    if size > 300:
        assert judged(source).word == "fail", "a proposal that large is none"
    else:
        assert refused(source) == "limits-exceeded"


@pytest.mark.parametrize("count", [1_000, 1_001])
def test_a_thousand_records_are_looked_at(tmp_path: Path, count: int) -> None:
    hub, work, source = place(tmp_path, None)
    push(work)
    blob = hub.blob("no record\n")
    log = (f"create refs/swarm/claim-log/{TASK}/{number} {blob}\n" for number in range(count - 1))
    hub.git("update-ref", "--stdin", input="".join(log))
    if count == 1_000:
        assert judged(source).word == "pass"
    else:
        assert refused(source) == "limits-exceeded"


@pytest.mark.parametrize("where", ["base", "head"])
def test_an_object_that_git_takes_for_unsound(tmp_path: Path, where: str) -> None:
    """In base's history it is nobody's fault who asks to merge now; in the head's it is."""
    hub, work, source = place(tmp_path, None)
    side = hub if where == "base" else work
    blob = bytes.fromhex(side.blob("twin\n"))
    data = b"".join(b"100644 twin\0" + blob for _ in range(2))
    odd = side.git("hash-object", "-w", "--literally", "-t", "tree", "--stdin", input=data)
    if where == "base":
        tree = side.git("rev-parse", "main^{tree}")
        twins = side.git("commit-tree", odd, "-p", "main", "-m", "Twins")
        side.git("update-ref", "refs/heads/main", side.git("commit-tree", tree, "-p", twins, "-m", "Repair"))
        push(work)
        assert judged(source).word == "pass"
        return
    twins = side.git("commit-tree", odd, "-p", "HEAD", "-m", "Twins")
    side.git("reset", "-q", "--soft", side.git("commit-tree", "HEAD^{tree}", "-p", twins, "-m", "Repair"))
    push(work)
    assert refused(source) == "evidence-incomplete"


def test_a_server_that_does_not_answer(tmp_path: Path, server: HttpOrigin, monkeypatch: pytest.MonkeyPatch) -> None:
    _, work, source = place(tmp_path, server)
    push(work)
    monkeypatch.setattr(fetched, "DEADLINE", 0.5)
    server.stall(5, service="fetch")
    assert refused(source) == "timed-out"


def test_nobody_home(tmp_path: Path) -> None:
    _, work, source = place(tmp_path, None)
    push(work)
    gone = Source(str(tmp_path / "nothing.git"), source.base, source.head, source.merge, source.object_format)
    with pytest.raises(Undecided) as caught:
        judged(gone)
    assert caught.value.code == "remote-unreachable"


def test_nothing_but_a_merge_fetches_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that was not asked for is not here, and is not fetched for being looked at."""
    _, work, source = place(tmp_path, None)
    push(work)
    seen: list[object] = []

    def look(
        repository: FetchedRepository,
        facts: Facts,
        base: ObjectId,
        head: ObjectId,
        merge: Commit | None,
        verify: Verify | None,
    ) -> Verdict:
        large = repository.trees.at(repository.tree_of(base), b"src/large.txt")
        assert large is not None
        seen.append(repository.objects.info([large.id])[0])
        seen.append(repository.read_blobs([large.id], 1_000_000)[0])
        return real(repository, facts, base, head, merge, verify)

    real = fetched.judge_once
    monkeypatch.setattr(fetched, "judge_once", look)
    assert judged(source).word == "pass"
    assert seen == [None, LARGE.encode()]
