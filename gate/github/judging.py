"""Judging in Actions: what the event names is read anew from GitHub, its objects are fetched from the repository."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from claims.errors import Conflict, SwarmError, Undecided
from claims.names import ObjectId, RefName, branch_ref
from gate.evidence import Facts
from gate.fetched import Source, judge_fetched
from gate.github.event import MergeGroupEvent, PullRequestEvent
from gate.github.merge_queue import judge_group
from gate.github.pull import Answers, Pull, read_pull, verified_as_author
from gate.verdict import Verdict


def judge_event(
    api: Answers, event: PullRequestEvent | MergeGroupEvent, environ: Mapping[str, str], now: datetime
) -> list[Verdict]:
    """The verdict on a pull request, or those on the units of a merge group, the lowest first.

    Raises Conflict `moved`, Undecided `github-unavailable` and whatever judging raises.
    """
    if isinstance(event, PullRequestEvent):
        return [_judge_pull(api, event.number, environ, now)]
    source = Source(
        url=clone_url(api, environ),
        base=branch_ref(event.base),
        head=branch_ref(event.branch),
        object_format=_format_of(event.head),
        config=credentials(environ),
        commit=event.head,
    )

    def facts_of(number: int) -> tuple[Pull, Facts, Callable[[Sequence[ObjectId]], bool]]:
        pull = read_pull(api, number)
        return pull, facts_about(pull, now), verification(api, pull)

    group = Facts(base_branch=event.base, now=now, head_branch=event.branch)
    return judge_group(source, group, facts_of, environ)


def _judge_pull(api: Answers, number: int, environ: Mapping[str, str], now: datetime) -> Verdict:
    pull = read_pull(api, number)
    if not pull.is_open:
        raise Undecided("evidence-incomplete", f"pull request {number} is closed: nothing of it can land")
    source = Source(
        url=clone_url(api, environ),
        base=branch_ref(pull.base_branch),
        head=RefName(f"refs/pull/{number}/head"),
        merge=RefName(f"refs/pull/{number}/merge"),
        object_format=_format_of(pull.head_commit),
        config=credentials(environ),
        commit=pull.head_commit,
    )
    verdict = judge_fetched(source, facts_about(pull, now), environ, verification(api, pull))
    if read_pull(api, number) != pull:
        raise _moved(number)
    return verdict


def facts_about(pull: Pull, now: datetime) -> Facts:
    """What is known of a pull request besides its commits. Whether those are verified is asked where it matters."""
    return Facts(
        base_branch=pull.base_branch,
        now=now,
        head_branch=pull.head_branch,
        head_repository=pull.head_repository,
        head_repository_id=pull.head_repository_id,
        fork=pull.fork,
        author=pull.author,
        author_id=pull.author_id,
    )


def verification(api: Answers, pull: Pull) -> Callable[[Sequence[ObjectId]], bool]:
    """Asks GitHub whether commits are verified as the author's."""
    return lambda commits: verified_as_author(api, pull, frozenset(commits))


def clone_url(api: Answers, environ: Mapping[str, str]) -> str:
    """Where the repository's objects are fetched."""
    return f"{_server(environ)}/{api.repository}.git"


def credentials(environ: Mapping[str, str]) -> Mapping[str, str] | None:
    """git's configuration for the token of the job, for the server of the repository and no other."""
    token = environ.get("GITHUB_TOKEN") or environ.get("GH_TOKEN")
    if not token:
        return None
    basic = base64.b64encode(f"x-access-token:{token}".encode()).decode("ascii")
    return {f"http.{_server(environ)}/.extraHeader": f"AUTHORIZATION: basic {basic}"}


def _server(environ: Mapping[str, str]) -> str:
    return (environ.get("GITHUB_SERVER_URL") or "https://github.com").rstrip("/")


def _format_of(commit: ObjectId) -> str:
    return "sha256" if len(commit) == 64 else "sha1"


def _moved(number: int) -> SwarmError:
    message = f"pull request {number} was changed while it was judged: its head, its base branch or its state"
    return Conflict("moved", message, "the run that the change started judges it")
