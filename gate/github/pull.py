"""A pull request as GitHub has it now, read strictly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from claims.errors import SwarmError, Undecided
from claims.names import Branch, ObjectId, parse_branch, parse_object_id
from claims.values import dataclass

#: Commits of a pull request that GitHub lists.
_MOST_COMMITS = 250
#: GitHub's own account, which commits and signs what is done in the browser, for whoever did it.
_WEB_FLOW = 19864447


class Answers(Protocol):
    """What is asked of GitHub here. Paths are below `/repos/OWNER/NAME`."""

    repository: str

    def get(self, path: str, **params: str | int) -> Any: ...

    def pages(self, path: str, most: int, **params: str | int) -> list[Any]: ...


@dataclass(frozen=True, slots=True)
class Pull:
    """What is judged of a pull request, besides its commits.

    `head_repository` and its id are None where the fork was deleted. Ids are GitHub's numeric ones.
    """

    number: int
    is_open: bool
    author: str
    author_id: int
    base_branch: Branch
    base_repository: str
    base_repository_id: int
    head_branch: Branch
    head_commit: ObjectId
    head_repository: str | None
    head_repository_id: int | None

    @property
    def fork(self) -> bool:
        return self.head_repository_id != self.base_repository_id


def read_pull(api: Answers, number: int) -> Pull:
    """The pull request with this number. Raises Undecided `github-unavailable`."""
    path = f"/pulls/{number}"
    found = _object(api.get(path), path)
    base, head, user = (_object(found.get(name), name) for name in ("base", "head", "user"))
    base_repo = _object(base.get("repo"), "base.repo")
    head_repo = _object(head["repo"], "head.repo") if head.get("repo") is not None else None
    try:
        pull = Pull(
            number=_number(found, "number"),
            is_open=_text(found, "state") == "open",
            author=_text(user, "login"),
            author_id=_number(user, "id"),
            base_branch=parse_branch(_text(base, "ref")),
            base_repository=_text(base_repo, "full_name"),
            base_repository_id=_number(base_repo, "id"),
            head_branch=parse_branch(_text(head, "ref")),
            head_commit=parse_object_id(_text(head, "sha")),
            head_repository=_text(head_repo, "full_name") if head_repo is not None else None,
            head_repository_id=_number(head_repo, "id") if head_repo is not None else None,
        )
    except ValueError as wrong:
        raise Undecided("github-unavailable", f"{path}: {wrong}") from None
    if pull.number != number or pull.base_repository.casefold() != api.repository.casefold():
        raise Undecided("github-unavailable", f"{path}: GitHub answered for another pull request or repository")
    return pull


def verified_as_author(api: Answers, pull: Pull, commits: frozenset[ObjectId]) -> bool:
    """Whether GitHub has verified each of the commits as the author's.

    A signature is the committer's, and anybody can name somebody else as author: so author and committer both have to
    be that account, or the committer GitHub itself, for what is done in the browser. What GitHub does not list, of more
    than 250 commits or of another head, is not verified.
    """
    listed = api.pages(f"/pulls/{pull.number}/commits", _MOST_COMMITS)
    return commits <= {ObjectId(str(one.get("sha"))) for one in listed if isinstance(one, dict) and _is_by(one, pull)}


def _is_by(listed: Mapping[str, Any], pull: Pull) -> bool:
    commit = listed.get("commit")
    verification = commit.get("verification") if isinstance(commit, dict) else None
    if not isinstance(verification, dict) or verification.get("verified") is not True:
        return False
    return _id(listed.get("author")) == pull.author_id and _id(listed.get("committer")) in (pull.author_id, _WEB_FLOW)


def _id(account: Any) -> int | None:
    number = account.get("id") if isinstance(account, dict) else None
    return number if isinstance(number, int) and not isinstance(number, bool) else None


def _object(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise _odd(what)
    return value


def _text(value: Mapping[str, Any], name: str) -> str:
    found = value.get(name)
    if not isinstance(found, str):
        raise _odd(name)
    return found


def _number(value: Mapping[str, Any], name: str) -> int:
    found = value.get(name)
    if not isinstance(found, int) or isinstance(found, bool):
        raise _odd(name)
    return found


def _odd(what: str) -> SwarmError:
    return Undecided("github-unavailable", f"{what}: GitHub answered something else than it describes")
