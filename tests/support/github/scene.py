"""A repository on GitHub: a git server on loopback, the fake of its API, and a clone whose work goes there."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from claims.names import Branch, ObjectId
from gate.github.api import Api, open_api
from gate.github.event import MergeGroupEvent, PullRequestEvent
from gate.github.judging import judge_event
from gate.verdict import Verdict
from tests.support.board import board_files, moved, task_file, task_id, yaml
from tests.support.github.fake import Fake
from tests.support.github.state import OPERATOR, REPOSITORY, STRANGER
from tests.support.http_origin import HttpOrigin
from tests.support.repo import Repo, clone
from tests.support.swarm import swarm

ONE, TWO = task_id(1), task_id(2)
CONFIG = {"gate": {"operators": [{"login": OPERATOR["login"], "id": OPERATOR["id"]}], "history": "squash"}}


@dataclass
class Scene:
    """The repository as a git server and the fake have it, and a clone to work in."""

    fake: Fake
    hub: Repo
    work: Repo
    environ: Mapping[str, str]

    @property
    def api(self) -> Api:
        return open_api(self.environ)

    def task(self, number: int, task: str, *, claim: bool = True, outside: bool = False, base: str = "main") -> str:
        """A finished task on a branch of its own, pushed as a pull request; its head."""
        branch = f"agent/{task}"
        self.work.git("switch", "-q", "-c", branch, f"origin/{base}")
        if claim:
            swarm(self.work, "claim", task, "--agent", f"agent-{number}", ok=True)
        text = self.work.git("show", f"origin/main:.agents/tasks/queued/{task}.md") + "\n"
        path = "docs/x.md" if outside else f"src/{number}.py"
        self.work.commit({path: f"print({number})\n", **moved(text, "done")}, f"Finish {task}")
        return self.open(number, branch)

    def open(self, number: int, branch: str, author: Mapping[str, Any] = STRANGER) -> str:
        """Push the branch that is checked out as a pull request."""
        head = self.work.git("rev-parse", "HEAD")
        self.work.git("push", "-q", "--force", "origin", f"HEAD:refs/heads/{branch}", f"HEAD:refs/pull/{number}/head")
        self.fake.state.pull(number, branch, head, author=author)
        return head

    def judged(self, number: int) -> Verdict:
        (verdict,) = judge_event(self.api, PullRequestEvent(number), self.environ, datetime.now(timezone.utc))
        return verdict

    def queue(self, number: int, below: str, how: str = "squash") -> str:
        """Add a pull request to the merge queue as GitHub would; the new head of the group."""
        self.work.git("switch", "-q", "--detach", below)
        head = self.fake.state.pulls[number]["head"]["sha"]
        if how == "squash":
            self.work.git("merge", "-q", "--squash", head)
            self.work.git("commit", "-q", "-m", f"Pull request {number}")
        elif how == "merge":
            self.work.git("merge", "-q", "--no-ff", "-m", f"Pull request {number}", head)
        else:
            self.work.git("cherry-pick", f"{self.work.git('merge-base', below, head)}..{head}")
        return self.enqueue(number, below)

    def enqueue(self, number: int, below: str, base: str = "main") -> str:
        """Push what is checked out as an entry of the queue."""
        tip = self.work.git("rev-parse", "HEAD")
        ref = f"refs/heads/gh-readonly-queue/{base}/pr-{number}-{self.work.git('rev-parse', below)}"
        self.work.git("push", "-q", "--force", "origin", f"HEAD:{ref}")
        return tip

    def group(self, number: int, below: str, tip: str) -> list[Verdict]:
        branch = Branch(f"gh-readonly-queue/main/pr-{number}-{self.work.git('rev-parse', below)}")
        event = MergeGroupEvent(Branch("main"), branch, ObjectId(tip))
        return judge_event(self.api, event, self.environ, datetime.now(timezone.utc))

    def claimed_by_hand(self, number: int, task: str) -> str:
        """A pull request for a task that cannot be claimed yet, because it needs another: its record is written."""
        branch = f"agent/{task}"
        self.work.git("switch", "-q", "-c", branch, "origin/main")
        text = self.work.git("show", f"origin/main:.agents/tasks/queued/{task}.md") + "\n"
        record = json.loads(self.hub.git("cat-file", "blob", f"refs/swarm/task-claims/{ONE}"))
        record |= {"task": task, "branch": branch}
        del record["taskDigest"]
        self.hub.git("update-ref", f"refs/swarm/task-claims/{task}", self.hub.blob(json.dumps(record)))
        self.work.commit({f"src/{number}.py": f"print({number})\n", **moved(text, "done")}, f"Finish {task}")
        return self.open(number, branch)


@contextmanager
def on_github(folder: Path) -> Iterator[Scene]:
    """A repository with two tasks, the second of which needs the first; served by git and by the fake."""
    with Fake() as fake, HttpOrigin(folder / "served") as server:
        tasks = [task_file(ONE, paths=["src/"]), task_file(TWO, paths=["src/"], depends_on=[ONE])]
        files = {**board_files(tasks), ".agents/swarm.yaml": yaml(CONFIG), "src/old.py": "old\n"}
        hub = server.create(REPOSITORY, files)
        for setting in ("allowFilter", "allowAnySHA1InWant"):
            hub.git("config", f"uploadpack.{setting}", "true")
        url = server.url(REPOSITORY)
        place = url.removesuffix(f"/{REPOSITORY}.git")
        yield Scene(
            fake, hub, clone(url, folder / "work"), {**os.environ, **fake.environ(), "GITHUB_SERVER_URL": place}
        )
