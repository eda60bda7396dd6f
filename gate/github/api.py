"""The one door to GitHub. PyGithub carries requests; what comes back is JSON, which the caller reads strictly.

Every failure is Undecided `github-unavailable` with the call, what GitHub said, and the permission that is missing;
nothing here takes an error for an empty answer, and nothing waits for long.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, cast

import github
import requests

from claims.errors import SwarmError, Undecided
from claims.git import printable
from claims.values import dataclass
from gate.github.connection import Plain, Secure, Unusable

#: How often a reading is tried; seconds of all waiting of a command, that for answers which did not come among it.
_TRIES = 3
_LONGEST_WAIT = 60.0
_PER_PAGE = 100
_API = "https://api.github.com"
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}/[A-Za-z0-9_.-]{1,100}")
#: Verbs that do no harm when they arrive twice.
_AGAIN = frozenset({"GET", "PUT", "DELETE"})
_SECONDS = re.compile(r"[0-9]{1,10}")
#: What the library calls it, and what it is.
_FAULTS = {
    "ConnectionError": "no connection, or it was lost",
    "ConnectTimeout": "no connection in time",
    "ReadTimeout": "no answer in time",
    "Timeout": "no answer in time",
    "SSLError": "the certificate is not to be trusted",
    "ProxyError": "the proxy does not let it through",
}
#: A token as GitHub makes them. With anything else in it, a header's error would print it.
_TOKEN = re.compile(r"[!-~]{1,1000}")


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
        self._requester = _requester(token, url)

    def get(self, path: str, **params: str | int) -> Any:
        """What is at a path."""
        return self._read(self._below(path), params)[1]

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
            headers, page = self._read(self._below(path), {**params, "per_page": _PER_PAGE, "page": number})
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
        """Delete what is there. NotFound says that it was gone before: not where an earlier try may have done it."""
        self._ask("DELETE", self._below(path))

    def absolute(self, path: str) -> Any:
        """What is at a path from the root, as `/user` is."""
        return self._read(path)[1]

    def _below(self, path: str) -> str:
        return f"/repos/{self.repository}{path}"

    def _read(self, url: str, params: Mapping[str, Any] | None = None) -> tuple[Mapping[str, Any], Any]:
        """An answer with something in it: an empty one is no "there is none"."""
        headers, found = self._ask("GET", url, params)
        if found is None:
            raise self._failed("GET", url, "GitHub's answer is empty")
        return headers, found

    def _ask(
        self, verb: str, url: str, params: Mapping[str, Any] | None = None, body: Any | None = None
    ) -> tuple[Mapping[str, Any], Any]:
        """Ask, and again where that can do no harm and may help."""
        unclear = False
        for tries in range(1, _TRIES + 1):
            self.requests += 1
            began = time.monotonic()
            try:
                answer = self._answer(verb, url, params, body)
            except (requests.RequestException, OSError) as lost:
                wait: float | None = float(tries) if verb in _AGAIN else None
                failed = self._failed(verb, url, _words(lost))
                unclear = True
            except (Unusable, ValueError, RuntimeError, RecursionError, AssertionError) as odd:
                raise self._failed(verb, url, f"GitHub's answer cannot be used: {_words(odd)}") from None
            else:
                if 200 <= answer.status < 300:
                    return answer.headers, answer.data
                wait = answer.limited_for()
                if wait is None and answer.status >= 500:
                    wait, unclear = (float(tries) if verb in _AGAIN else None), True
                failed = self._refused(verb, url, answer, unclear=unclear)
            self._waited += time.monotonic() - began
            if wait is None or tries == _TRIES or self._waited + wait > _LONGEST_WAIT:
                raise failed
            self._waited += wait
            self._pause(wait)
        raise AssertionError("the last try returns or raises")

    def _answer(self, verb: str, url: str, params: Mapping[str, Any] | None, body: Any | None) -> _Answer:
        status, headers, text = self._requester.requestJson(verb, url, dict(params or {}), None, body)
        lower = {str(name).lower(): str(value) for name, value in headers.items()}
        try:
            return _Answer(status, lower, json.loads(text, parse_constant=_no_number) if text else None)
        except ValueError:
            if 200 <= status < 300:
                raise Unusable("it is no JSON") from None
            return _Answer(status, lower, None)

    def _refused(self, verb: str, url: str, answer: _Answer, *, unclear: bool) -> SwarmError:
        """What to raise for a refusal. `unclear`: an earlier try may have been carried out."""
        words = f"{answer.status} {printable(answer.message() or 'without a word', 300)}"
        limited = answer.limited_for()
        if limited is not None:
            again = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + limited))
            return self._failed(verb, url, f"{words}: the rate limit lasts until {again}", "try again then")
        if answer.status == 404 and verb == "DELETE" and unclear:
            return self._failed(verb, url, f"{words}, now: whether it was this call that removed it cannot be told")
        if answer.status == 404:
            message, hint = self._message(verb, url, words), "it is not there, or this token may not see it"
            return NotFound("github-unavailable", message, hint)
        if answer.status == 422:
            return Rejected("github-unavailable", self._message(verb, url, f"{words}{answer.errors()}"))
        if answer.status in (401, 403):
            needed = answer.headers.get("x-accepted-github-permissions")
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
    token = (environ.get("GITHUB_TOKEN") or environ.get("GH_TOKEN") or "").strip()
    if token and _TOKEN.fullmatch(token) is None:
        message = "GITHUB_TOKEN or GH_TOKEN is no token: it has blanks or other signs in it that none has"
        raise Undecided("github-unavailable", message, "set it to the token alone")
    url = (environ.get("GITHUB_API_URL") or _API).rstrip("/")
    try:
        return Api(named, token or None, url)
    except (AssertionError, ValueError):
        message = "GITHUB_API_URL is nothing that GitHub can be asked at"
        raise Undecided("github-unavailable", message, "set it to the https address of GitHub's API") from None


@dataclass(frozen=True, slots=True)
class _Answer:
    """What came back. `headers` by their names in lower case; `data` is JSON, None where there is none."""

    status: int
    headers: Mapping[str, str]
    data: Any

    def message(self) -> str:
        said = self.data.get("message") if isinstance(self.data, dict) else None
        return said if isinstance(said, str) else ""

    def errors(self) -> str:
        """What GitHub says is wrong with each member."""
        listed = self.data.get("errors") if isinstance(self.data, dict) else None
        if not isinstance(listed, list):
            return ""
        said = [str(one.get("message") or one.get("code")) if isinstance(one, dict) else str(one) for one in listed]
        return f": {printable('; '.join(said), 300)}"

    def limited_for(self) -> float | None:
        """Seconds until GitHub takes requests again, where a rate limit is why it refused; None where it is not."""
        if self.status not in (403, 429):
            return None
        after, reset = self.headers.get("retry-after", ""), self.headers.get("x-ratelimit-reset", "")
        if _SECONDS.fullmatch(after):
            return float(after)
        if self.headers.get("x-ratelimit-remaining") == "0" and _SECONDS.fullmatch(reset):
            return min(max(1.0, int(reset) - time.time()), 1e6)
        return _LONGEST_WAIT if self.status == 429 or "rate limit" in self.message().lower() else None


def _requester(token: str | None, url: str) -> Any:
    """PyGithub's requester, over our own connection."""
    kind = github.Requester.Requester
    kind.injectConnectionClasses(cast(Any, Plain), cast(Any, Secure))
    try:
        return github.Github(
            auth=github.Auth.Token(token) if token else None,
            base_url=url,
            # What is repeated, and how long is waited, is decided here: PyGithub would wait for an hour.
            retry=None,
            seconds_between_requests=None,
            seconds_between_writes=None,
        ).requester
    finally:
        # A requester keeps the classes that it began with; with injected ones it would open a connection a request.
        kind.resetConnectionClasses()


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _words(fault: BaseException) -> str:
    """What went wrong, in words that cannot hold what was sent: those of a library are left out."""
    if isinstance(fault, Unusable):
        return str(fault)
    return _FAULTS.get(type(fault).__name__, type(fault).__name__)
