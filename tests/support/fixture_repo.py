"""Fixtures of the gate: building the repository that one describes, and judging it in this process.

Trees are written entry by entry and never checked out: git has to hold what no file system would.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from claims.arbiter.local import LocalArbiter
from claims.names import ARCHIVE, Branch
from claims.session import Options, open_session
from gate.evidence import Facts
from gate.local import Request, judge_locally
from gate.verdict import Verdict
from tests.support.board import board_files, milestone, moved, plan_file, task_file, yaml
from tests.support.fixtures import Fixture, FixtureError, Members, path_bytes
from tests.support.repo import Repo, init

#: When fixtures are judged. Claims are dated from here.
NOW = datetime(2026, 8, 14, 12, 0, tzinfo=timezone.utc)
_BASE, _HEAD, MERGE = "refs/heads/main", "refs/heads/head", "refs/heads/merge"
_FILE, _LINK, _SUBMODULE = "100644", "120000", "160000"

#: Path to mode and object id.
Tree = dict[bytes, tuple[str, str]]


@dataclass(eq=False, slots=True)
class _Commit:
    """A commit to make; `before` is the one before it on its line."""

    members: Members
    before: _Commit | None
    title: str = "start"
    made: str | None = None
    tree: Tree = field(default_factory=dict)
    under_way: bool = False


@dataclass(slots=True)
class _Builder:
    fixture: Fixture
    repo: Repo
    named: dict[str, _Commit] = field(default_factory=dict)
    blobs: dict[bytes, str] = field(default_factory=dict)
    trees: dict[bytes, str] = field(default_factory=dict)
    archive: Tree = field(default_factory=dict)

    def build(self) -> None:
        fixture = self.fixture
        tasks = [task_file(**task) for task in fixture.tasks]
        files = {**board_files(tasks, **_board(fixture.board)), **fixture.base}
        start = base = self.named["start"] = _Commit({"write": files}, None)
        for number, members in enumerate(fixture.later_base, 1):
            base = self._add(members, base, f"base {number}")
        self.named["base"] = base
        head = start
        for number, members in enumerate(fixture.head, 1):
            head = self._add(members, head, f"head {number}")
        self.repo.git("update-ref", _BASE, self._made(base))
        self.repo.git("update-ref", _HEAD, self._made(head))
        self.named["head"] = head
        if fixture.test_merge:
            self._test_merge(fixture.test_merge)
        for number, claim in enumerate(fixture.claims):
            self._claim(claim, number)
        if self.archive:
            tree = self._write(self.archive)
            self.repo.git("update-ref", ARCHIVE, self.repo.git("commit-tree", tree, "-m", "Archive"))
        self._distort()

    def _test_merge(self, given: str | Members) -> None:
        members: Members = {"tree": given, "parents": ["base", "head"]} if isinstance(given, str) else given
        parents = (word for name in members["parents"] for word in ("-p", self._made(self._named(name))))
        tree = self.repo.git("rev-parse", f"{self._made(self._named(members['tree']))}^{{tree}}")
        self.repo.git("update-ref", MERGE, self.repo.git("commit-tree", tree, *parents, "-m", "Test merge"))

    def _distort(self) -> None:
        """What this clone has and no other, last: the commands above would go by it, and the gate must not."""
        made = {name: self._made(commit) for name, commit in self.named.items()}
        try:
            grafts = [[made[name], *(made[one] for one in parents)] for name, parents in self.fixture.grafts.items()]
            replaced = {made[old]: made[new] for old, new in self.fixture.replace.items()}
        except KeyError as name:
            raise self._wrong(f"no commit is named {name}") from None
        for file, text in (
            ("info/attributes", self.fixture.attributes),
            ("info/grafts", "".join(" ".join(line) + "\n" for line in grafts)),
        ):
            if text:
                path = self.repo.git_path(file)
                path.parent.mkdir(exist_ok=True)
                path.write_text(text)
        for old, new in replaced.items():
            self.repo.git("update-ref", f"refs/replace/{old}", new)

    def _add(self, members: Members, before: _Commit, title: str) -> _Commit:
        # Without titles the same change on both lines would be one commit: all are of one second.
        commit = _Commit(members, before, title)
        name = members.get("name")
        if name is not None:
            if name in self.named or name == "base":
                raise self._wrong(f"two commits are named {name}")
            self.named[name] = commit
        return commit

    def _named(self, name: str) -> _Commit:
        if name not in self.named:
            raise self._wrong(f"no commit is named {name}")
        return self.named[name]

    def _made(self, commit: _Commit) -> str:
        """The commit's id, made when it is first asked for."""
        if commit.made is None:
            if commit.under_way:
                raise self._wrong("a commit is among its own ancestors")
            commit.under_way = True
            members = commit.members
            before = [commit.before] if commit.before is not None else []
            if "parents" in members:
                before = [self._named(name) for name in members["parents"]]
            if "merge" in members:
                before = [*before, self._named(members["merge"])]
            parents = [self._made(one) for one in before]
            begun = dict(before[0].tree) if len(before) == 1 else self._merged(parents)
            commit.tree = self._edited(begun, members)
            arguments = [word for parent in parents for word in ("-p", parent)]
            commit.made = self.repo.git("commit-tree", self._write(commit.tree), *arguments, "-m", commit.title)
        return commit.made

    def _merged(self, parents: list[str]) -> Tree:
        """The tree that a commit with these parents begins with: their clean merge, one after the other."""
        if not parents:
            return {}
        merged = parents[0]
        for other in parents[1:]:
            tree = self.repo.git("merge-tree", "--write-tree", "--allow-unrelated-histories", merged, other)
            merged = self.repo.git("commit-tree", tree, "-p", merged, "-p", other, "-m", "Merge")
        listed = self.repo.run("ls-tree", "-r", "-z", "--full-tree", merged).stdout
        tree_: Tree = {}
        for line in listed.split(b"\0")[:-1]:
            head, _, path = line.partition(b"\t")
            mode, _, object_id = head.decode().split(" ")
            tree_[path] = (mode, object_id)
        return tree_

    def _edited(self, tree: Tree, members: Members) -> Tree:
        if members.get("finish"):
            self._put(tree, moved(task_file(**self.fixture.tasks[0]), "done"))
        for old, new in members.get("move", {}).items():
            tree[path_bytes(new)] = self._take(tree, old)
        self._put(tree, members.get("write", {}))
        for path, changes in members.get("edit", {}).items():
            text = self.repo.cat(tree[path_bytes(path)][1]).decode()
            for old, new in changes.items():
                if text.count(old) != 1:
                    raise self._wrong(f"{path}: {old!r} is not there once")
                text = text.replace(old, new)
            self._put(tree, {path: text})
        for path, size in members.get("fill", {}).items():
            self._put(tree, {path: "x" * size})
        for path, target in members.get("links", {}).items():
            tree[path_bytes(path)] = (_LINK, self._blob(path_bytes(target)))
        for path, word in members.get("submodules", {}).items():
            digest = hashlib.sha256(word.encode()).hexdigest()
            tree[path_bytes(path)] = (_SUBMODULE, digest[: len(self._blob(b""))])
        for path, mode in members.get("modes", {}).items():
            tree[path_bytes(path)] = (mode, self._take(tree, path)[1])
        for path in members.get("delete", []):
            self._take(tree, path)
        return tree

    def _take(self, tree: Tree, path: str) -> tuple[str, str]:
        if path_bytes(path) not in tree:
            raise self._wrong(f"there is no {path} to take")
        return tree.pop(path_bytes(path))

    def _put(self, tree: Tree, files: Mapping[str, str | None]) -> None:
        for path, text in files.items():
            if text is None:
                self._take(tree, path)
                continue
            mode = tree.get(path_bytes(path), (_FILE, ""))[0]
            tree[path_bytes(path)] = (mode, self._blob(text.encode()))

    def _blob(self, data: bytes) -> str:
        if data not in self.blobs:
            self.blobs[data] = self.repo.blob(data)
        return self.blobs[data]

    def _write(self, tree: Tree) -> str:
        """Write a tree as it is, whatever git itself would make of it; its id."""
        entries: Tree = {}
        below: dict[bytes, Tree] = {}
        for path, entry in tree.items():
            folder, slash, rest = path.partition(b"/")
            if slash:
                below.setdefault(folder, {})[rest] = entry
            else:
                entries[path] = entry
        lines = [(name, mode, object_id) for name, (mode, object_id) in entries.items()]
        lines += [(name + b"/", "40000", self._write(there)) for name, there in below.items()]
        data = b"".join(
            b"%b %b\0%b" % (mode.encode(), name.removesuffix(b"/"), bytes.fromhex(object_id))
            for name, mode, object_id in sorted(lines)
        )
        if data not in self.trees:
            arguments = ("-t", "tree", "-w", "--literally", "--stdin")
            self.trees[data] = self.repo.git("hash-object", *arguments, input=data)
        return self.trees[data]

    def _claim(self, claim: Members, number: int) -> None:
        task = claim.get("task", self.fixture.tasks[0]["id"])
        ref, ended = f"refs/swarm/task-claims/{task}", None
        if "closed" in claim:
            # No two claims end in the same millisecond: records of the log are named after it.
            ended = NOW - timedelta(minutes=claim["closed"].get("ago", 5)) + timedelta(milliseconds=number)
            ref = f"refs/swarm/claim-log/{task}/{_stamp(ended)}"
        raw = claim.get("raw")
        data = json.dumps(self._record(task, claim, ended)).encode() if raw is None else raw.encode()
        if claim.get("archived"):
            assert ended is not None
            folder = f"{task[len('T-') : len('T-YYYYMM')]}/{task}"
            self.archive[f"{folder}/{_stamp(ended)}.json".encode()] = (_FILE, self._blob(data))
            return
        if self.repo.oid(ref) is not None:
            raise self._wrong(f"two claims on {ref}")
        self.repo.git("update-ref", ref, self._blob(data))

    def _record(self, task: str, claim: Members, ended: datetime | None) -> dict[str, Any]:
        fixture = self.fixture
        about = next((one for one in fixture.tasks if one["id"] == task), {})
        agent = claim.get("agent", "one")
        record: dict[str, Any] = {
            "task": task,
            "agent": agent,
            "branch": claim.get("branch", fixture.branch),
            "baseCommit": self._made(self._named(claim.get("base_commit", "start"))),
            "claimedAt": _instant(NOW - timedelta(minutes=claim.get("ago", 60))),
            "expiresAt": _instant(NOW + timedelta(minutes=claim.get("minutes", 30))),
            "locks": sorted(claim.get("locks", about.get("locks", []))),
            "planRevision": claim.get("plan_revision", _plan_revision(fixture.board)),
        }
        for member, name in (("task_digest", "taskDigest"), ("repository", "repository")):
            if member in claim:
                record[name] = claim[member]
        if "branch_commit" in claim:
            record["branchCommit"] = self._made(self._named(claim["branch_commit"]))
        if ended is not None:
            closed = claim["closed"]
            record["closed"] = {
                "at": _instant(ended),
                "by": closed.get("by", agent),
                "outcome": closed.get("outcome", "done"),
                "reason": closed.get("reason"),
                "commit": None,
            }
        return record

    def _wrong(self, message: str) -> FixtureError:
        return FixtureError(f"{self.fixture.path}: {message}")


def build(fixture: Fixture, folder: Path) -> Repo:
    """Build the repository that a fixture describes, without a remote or a work tree, in a new folder."""
    repo = init(folder)
    _Builder(fixture, repo).build()
    return repo


def judge(fixture: Fixture, repo: Repo) -> Verdict:
    """Judge what was built, in this process, with the claims that are in the repository itself."""
    session = open_session(Options(directory=repo.path, base="main"), os.environ, now=lambda: NOW)
    try:
        given = {"head_branch": "agent/one", **fixture.facts}
        facts = Facts(base_branch=Branch("main"), now=NOW, **given)
        return judge_locally(
            session,
            LocalArbiter(session),
            Request(_BASE, _HEAD, MERGE if fixture.test_merge else None),
            facts,
            os.environ,
        )
    finally:
        session.objects.close()


def disagreements(fixture: Fixture, verdict: Verdict) -> list[str]:
    """What a verdict has otherwise than the fixture expects, one line each; none where they agree."""
    expect = fixture.expect
    wrong = [] if verdict.word == expect["verdict"] else [f"verdict: {verdict.word}, not {expect['verdict']}"]
    kind = expect.get("kind", "implementation" if verdict.kind not in ("empty", "unknown") else verdict.kind)
    wrong += [] if verdict.kind == kind else [f"kind: {verdict.kind}, not {kind}"]
    left = [finding.to_json() for finding in verdict.findings]
    for wanted in expect.get("findings", []):
        index = next((number for number, one in enumerate(left) if _meets(one, wanted)), None)
        if index is None:
            wrong.append(f"no finding {wanted}")
        else:
            del left[index]
    wrong += [f"a finding that was not expected: {one}" for one in left]
    notices = sorted(remark.rule for remark in verdict.remarks)
    if notices != sorted(expect.get("notices", [])):
        wrong.append(f"notices: {[remark.to_json() for remark in verdict.remarks]}, not {expect.get('notices', [])}")
    return wrong


def _meets(finding: Mapping[str, Any], wanted: Members) -> bool:
    return (
        finding["rule"] == wanted["rule"]
        and wanted.get("path", finding.get("path")) == finding.get("path")
        and wanted.get("message", "") in finding["message"]
    )


def _board(board: Members) -> dict[str, Any]:
    """The members of a fixture's board as `board_files` takes them."""
    found = dict(board)
    plan, manifest = found.get("plan"), found.get("manifest")
    if isinstance(plan, dict):
        found["plan"] = plan_file(**plan)
    if isinstance(manifest, list):
        manifest = {"plan_revision": _plan_revision(board), "milestones": manifest}
    if isinstance(manifest, dict):
        milestones = [milestone(**one) for one in manifest["milestones"]]
        found["manifest"] = yaml({"plan_revision": manifest["plan_revision"], "milestones": milestones})
    return found


def _plan_revision(board: Members) -> int:
    plan = board.get("plan", 0)
    if isinstance(plan, int):
        return plan
    revision = plan.get("revision", 1) if isinstance(plan, dict) else 1
    assert isinstance(revision, int)
    return revision


def _instant(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _stamp(moment: datetime) -> str:
    return re.sub(r"[-:]", "", _instant(moment))
