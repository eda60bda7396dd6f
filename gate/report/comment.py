"""The one comment on a pull request, written once and edited in place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from claims.errors import SwarmError, Undecided
from gate.report.summary import summary
from gate.verdict import Verdict

#: Characters of a comment.
MAX_COMMENT = 65_536
#: Comments of a pull request that are looked through for ours.
_MOST = 1_000
_ACTIONS_BOT = "github-actions[bot]"
#: By this ours is known, and by its author: anybody can write these words.
MARKER = "<!-- swarm-gate: verdict -->"


class Answers(Protocol):
    """What is asked of GitHub here."""

    def absolute(self, path: str) -> Any: ...

    def pages(self, path: str, most: int, **params: str | int) -> list[Any]: ...

    def post(self, path: str, body: Mapping[str, Any]) -> Any: ...

    def patch(self, path: str, body: Mapping[str, Any]) -> Any: ...


def body_of(results: Sequence[Verdict | SwarmError]) -> str:
    """The text of the comment."""
    return f"{MARKER}\n{summary(results, MAX_COMMENT - len(MARKER) - 1)}"


def write_comment(api: Answers, number: int, results: Sequence[Verdict | SwarmError]) -> None:
    """Write the comment, or edit ours where there is one. Raises Undecided `github-unavailable`."""
    body, ours = body_of(results), _ours(api, number)
    answer = (
        api.post(f"/issues/{number}/comments", {"body": body})
        if ours is None
        else api.patch(f"/issues/comments/{ours}", {"body": body})
    )
    if not isinstance(answer, dict) or not isinstance(answer.get("id"), int):
        raise Undecided("github-unavailable", "GitHub did not say that it has the comment")


def _ours(api: Answers, number: int) -> int | None:
    """The id of the first comment with our marker that this token's account wrote."""
    listed = [one for one in api.pages(f"/issues/{number}/comments", _MOST) if isinstance(one, dict)]
    marked = [one for one in listed if str(one.get("body", "")).startswith(MARKER) and isinstance(one.get("id"), int)]
    if not marked:
        return None
    me = _me(api)
    return next((int(one["id"]) for one in marked if _login(one.get("user")) == me), None)


def _me(api: Answers) -> str | None:
    """Who the token is. A job's own is nobody's that GitHub would name: what it writes is the bot's of Actions."""
    try:
        return _login(api.absolute("/user"))
    except Undecided:
        return _ACTIONS_BOT


def _login(user: Any) -> str | None:
    login = user.get("login") if isinstance(user, dict) else None
    return login if isinstance(login, str) else None
