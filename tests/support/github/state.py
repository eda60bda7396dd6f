"""What the fake knows: one repository, as plain values that a test sets and looks at."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

REPOSITORY = "octo-org/widgets"
REPOSITORY_ID = 4711
ACTIONS_BOT = {"login": "github-actions[bot]", "id": 41898282, "type": "Bot"}
WEB_FLOW = {"login": "web-flow", "id": 19864447, "type": "User"}


def account(login: str, number: int) -> dict[str, Any]:
    return {"login": login, "id": number, "type": "User"}


OPERATOR = account("octo-operator", 101)
STRANGER = account("passer-by", 202)


def repository(name: str = REPOSITORY, number: int = REPOSITORY_ID) -> dict[str, Any]:
    """A repository as pull requests name it."""
    return {"full_name": name, "name": name.partition("/")[2], "id": number}


@dataclass
class State:
    """The repository. Lists and mappings are GitHub's, by number, name or path."""

    settings: dict[str, Any] = field(default_factory=dict)
    pulls: dict[int, dict[str, Any]] = field(default_factory=dict)
    commits: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    issues: dict[int, dict[str, Any]] = field(default_factory=dict)
    events: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    comments: dict[int, dict[str, Any]] = field(default_factory=dict)
    labels: list[dict[str, Any]] = field(default_factory=list)
    rulesets: dict[int, dict[str, Any]] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    files: dict[tuple[str, str], bytes] = field(default_factory=dict)
    permissions: dict[str, Any] = field(default_factory=lambda: {"enabled": True, "allowed_actions": "all"})
    workflow: dict[str, Any] = field(
        default_factory=lambda: {
            "default_workflow_permissions": "read",
            "can_approve_pull_request_reviews": False,
        }
    )
    selected: dict[str, Any] = field(default_factory=dict)
    #: What accounts may do here, by login: `admin`, `write`, `read`, `none`.
    collaborators: dict[str, str] = field(default_factory=dict)
    #: When what happens next happens.
    now: str = "2026-08-14T09:30:00Z"
    #: Who the token is; what its kind may do, None: everything.
    user: dict[str, Any] = field(default_factory=lambda: dict(OPERATOR))
    lacks: dict[str, str] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def __post_init__(self) -> None:
        merging = {"squash_merge_commit_title": "COMMIT_OR_PR_TITLE", "squash_merge_commit_message": "COMMIT_MESSAGES"}
        allowed = {"allow_squash_merge": True, "allow_merge_commit": True, "allow_rebase_merge": True}
        self.settings = {
            **repository(),
            "default_branch": "main",
            "private": True,
            **merging,
            **allowed,
            **self.settings,
        }

    def pull(
        self, number: int, head: str, commit: str, *, author: Mapping[str, Any] = STRANGER, base: str = "main"
    ) -> dict[str, Any]:
        """Open a pull request from a branch of the repository itself."""
        self.pulls[number] = {
            "number": number,
            "state": "open",
            "title": f"Pull request {number}",
            "user": dict(author),
            "base": {"ref": base, "sha": "0" * 40, "repo": repository()},
            "head": {"ref": head, "sha": commit, "repo": repository()},
        }
        return self.pulls[number]

    def label(self, number: int, name: str, by: Mapping[str, Any] = OPERATOR) -> None:
        """Put a label on an issue."""
        self.issues[number].setdefault("labels", []).append({"name": name})
        known = self.events.setdefault(number, [])
        happened = {"id": len(known) + 1, "event": "labeled", "created_at": self.now}
        known.append({**happened, "actor": dict(by), "label": {"name": name}})


def signed(commit: str, author: Mapping[str, Any], committer: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A commit that GitHub has verified; by default its author has signed it."""
    return {
        "sha": commit,
        "commit": {"verification": {"verified": True, "reason": "valid"}},
        "author": dict(author),
        "committer": dict(committer or author),
    }


Handler = Callable[[State, Mapping[str, str], Mapping[str, str], Any], "tuple[int, Any]"]
