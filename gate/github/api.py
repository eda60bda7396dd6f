"""The one door to GitHub. PyGithub carries requests; what comes back is JSON, which the caller reads strictly.

Every failure is Undecided `github-unavailable` with the call, what GitHub said, and the permission that is missing;
nothing here takes an error for an empty answer, and nothing waits for long.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import github
import requests

from claims.errors import SwarmError, Undecided
from claims.git import printable

#: Seconds for one answer; how often a reading is tried; seconds of all waiting of a command.
_TIMEOUT = 20
_TRIES = 3
_LONGEST_WAIT = 60.0
_PER_PAGE = 100
_API = "https://api.github.com"
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}/[A-Za-z0-9_.-]{1,100}")
#: Verbs that do no harm when they arrive twice.
_AGAIN = frozenset({"GET", "PUT", "DELETE"})


class NotFound(Undecided):
    """404: there is no such thing, or it is not shown to this token."""


class Rejected(Undecided):
    """422: GitHub understood and does not want it."""


class Api:
    """One repository on GitHub, `OWNER/NAME`. Counts its `requests`. Paths are below `/repos/OWNER/NAME`.

    Every method raises Undecided `github-unavailable`, NotFound and Rejected among them.
    """

    def __init__(
        self, repository: str, token: str | None, url: str = _API, pause: Callable[[float], None] = time.sleep
    ) -> None:
        self.repository = repository
        self.requests = 0
        self._pause = pause
        self._waited = 0.0
        self._requester = github.Github(
            auth=github.Auth.Token(token) if token else None,
            base_url=url,
            timeout=_TIMEOUT,
            per_page=_PER_PAGE,
            # What is repeated, and how long is waited, is decided here: PyGithub would wait for an hour.
            retry=None,
            seconds_between_requests=None,
            seconds_between_writes=None,
        ).requester

    def get(self, path: str, **params: str | int) -> Any:
        """What is at a path."""
        return self._ask("GET", self._below(path), params)[1]

    def find(self, path: str, **params: str | int) -> Any | None:
        """What is at a path; None where GitHub says 404 and nothing else."""
        try:
            return self.get(path, **params)
        except NotFound:
            return None

    def pages(self, path: str, most: int, **params: str | int) -> list[Any]:
        """A list, page by page. Raises Undecided `limits-exceeded` for one of more than `most` entries."""
        found: list[Any] = []
        for number in range(1, most // _PER_PAGE + 3):
            headers, page = self._ask("GET", self._below(path), {**params, "per_page": _PER_PAGE, "page": number})
            if not isinstance(page, list):
                raise self._failed("GET", path, "GitHub answered something that is no list")
            found += page
            if len(found) > most:
                break
            if 'rel="next"' not in str(headers.get("link", "")):
                return found
        raise Undecided("limits-exceeded", f"{self.repository}{path}: more than {most} entries, which is what is read")

    def post(self, path: str, body: Mapping[str, Any] | Sequence[Any]) -> Any:
        return self._ask("POST", self._below(path), body=body)[1]

    def patch(self, path: str, body: Mapping[str, Any]) -> Any:
        return self._ask("PATCH", self._below(path), body=body)[1]

    def put(self, path: str, body: Mapping[str, Any]) -> Any:
        return self._ask("PUT", self._below(path), body=body)[1]

    def delete(self, path: str) -> None:
        self._ask("DELETE", self._below(path))

    def absolute(self, path: str) -> Any:
        """What is at a path from the root, as `/user` is."""
        return self._ask("GET", path)[1]

    def _below(self, path: str) -> str:
        return f"/repos/{self.repository}{path}"

    def _ask(
        self, verb: str, url: str, params: Mapping[str, Any] | None = None, body: Any | None = None
    ) -> tuple[Mapping[str, Any], Any]:
        """Ask, and again where that can do no harm and may help."""
        for tries in range(1, _TRIES + 1):
            self.requests += 1
            try:
                return self._requester.requestJsonAndCheck(verb, url, dict(params or {}), input=body)
            except github.GithubException as refused:
                wait = self._wait_for(verb, refused, tries)
                if wait is None:
                    raise self._refused(verb, url, refused) from None
            except (requests.RequestException, OSError) as lost:
                if tries == _TRIES or verb not in _AGAIN:
                    raise self._failed(verb, url, _words(lost)) from None
                wait = float(tries)
            except (ValueError, RuntimeError, RecursionError, AssertionError) as odd:
                raise self._failed(verb, url, f"GitHub's answer cannot be used: {_words(odd)}") from None
            self._waited += wait
            self._pause(wait)
        raise self._failed(verb, url, "GitHub did not answer")

    def _wait_for(self, verb: str, refused: github.GithubException, tries: int) -> float | None:
        """Seconds to wait before another try; None where there is none."""
        if tries == _TRIES:
            return None
        limited = _limited_for(refused)
        if limited is not None:
            return limited if self._waited + limited <= _LONGEST_WAIT else None
        return float(tries) if refused.status >= 500 and verb in _AGAIN else None

    def _refused(self, verb: str, url: str, refused: github.GithubException) -> SwarmError:
        said = refused.data.get("message") if isinstance(refused.data, dict) else None
        words = f"{refused.status} {printable(str(said or 'without a word'), 300)}"
        limited = _limited_for(refused)
        if limited is not None:
            again = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + limited))
            return self._failed(verb, url, f"{words}: the rate limit lasts until {again}", "try again then")
        if refused.status == 404:
            message, hint = self._message(verb, url, words), "it is not there, or this token may not see it"
            return NotFound("github-unavailable", message, hint)
        if refused.status == 422:
            return Rejected("github-unavailable", self._message(verb, url, f"{words}{_errors(refused.data)}"))
        needed = _header(refused, "x-accepted-github-permissions")
        if refused.status in (401, 403):
            hint = f"a token with {printable(needed, 200)}" if needed else "look at the permissions of GITHUB_TOKEN"
            return self._failed(verb, url, words, hint)
        return self._failed(verb, url, words)

    def _failed(self, verb: str, url: str, words: str, hint: str | None = None) -> SwarmError:
        return Undecided("github-unavailable", self._message(verb, url, words), hint)

    def _message(self, verb: str, url: str, words: str) -> str:
        return printable(f"{verb} {url}: {words}", 1_000)


def open_api(environ: Mapping[str, str], repository: str | None = None) -> Api:
    """The repository that is named, else that of the job, with the token of the environment.

    Raises Undecided `evidence-incomplete` where neither names one.
    """
    named = repository or environ.get("GITHUB_REPOSITORY", "")
    if _NAME.fullmatch(named) is None or ".." in named:
        message = f"{printable(named)!r} is no OWNER/NAME of a repository on GitHub"
        raise Undecided("evidence-incomplete", message, "set GITHUB_REPOSITORY")
    token = environ.get("GITHUB_TOKEN") or environ.get("GH_TOKEN") or None
    url = (environ.get("GITHUB_API_URL") or _API).rstrip("/")
    try:
        return Api(named, token, url)
    except (AssertionError, ValueError):
        message = "GITHUB_API_URL or the token is nothing that GitHub can be asked with"
        raise Undecided("github-unavailable", message) from None


def _limited_for(refused: github.GithubException) -> float | None:
    """Seconds until GitHub takes requests again, where a rate limit is why it refused; None where it is not."""
    if refused.status not in (403, 429):
        return None
    after = _header(refused, "retry-after")
    if after.isdigit():
        return float(min(int(after), 100_000))
    if _header(refused, "x-ratelimit-remaining") == "0" and _header(refused, "x-ratelimit-reset").isdigit():
        return max(1.0, int(_header(refused, "x-ratelimit-reset")) - time.time())
    said = str(refused.data.get("message", "")).lower() if isinstance(refused.data, dict) else ""
    return _LONGEST_WAIT if refused.status == 429 or "rate limit" in said else None


def _header(refused: github.GithubException, name: str) -> str:
    headers = {str(key).lower(): str(value) for key, value in (refused.headers or {}).items()}
    return headers.get(name, "")


def _errors(data: Any) -> str:
    """What GitHub says is wrong with each member."""
    listed = data.get("errors") if isinstance(data, dict) else None
    if not isinstance(listed, list):
        return ""
    said = [str(one.get("message") or one.get("code") or one) if isinstance(one, dict) else str(one) for one in listed]
    return f": {printable('; '.join(said), 300)}"


def _words(fault: BaseException) -> str:
    """What went wrong, without the URL and whatever else a library puts around it."""
    return f"{type(fault).__name__}: {printable(str(fault), 200)}"
