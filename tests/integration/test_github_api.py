"""The door to GitHub: what comes back, what is tried again, what is refused, and what never shows."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from claims.errors import SwarmError, Undecided
from gate.github import api as door
from gate.github import connection
from gate.github.api import Api, NotFound, Rejected, open_api
from tests.support.github.fake import Fake
from tests.support.github.state import REPOSITORY, State

TOKEN = "ghs_neverShown"


@pytest.fixture
def fake() -> Iterator[Fake]:
    with Fake() as running:
        running.state.pull(7, "topic", "1" * 40)
        yield running


def api_of(fake: Fake, waits: list[float] | None = None) -> Api:
    return Api(REPOSITORY, TOKEN, fake.url, (waits if waits is not None else []).append)


def refused(ask: Any) -> SwarmError:
    with pytest.raises(SwarmError) as caught:
        ask()
    assert caught.value.code in ("github-unavailable", "limits-exceeded")
    assert TOKEN not in f"{caught.value.message} {caught.value.hint} {caught.value.details}"
    return caught.value


def test_what_is_there_and_what_is_not(fake: Fake) -> None:
    api = api_of(fake)
    assert api.get("/pulls/7")["head"]["ref"] == "topic"
    assert api.find("/pulls/8") is None
    assert isinstance(refused(lambda: api.get("/pulls/8")), NotFound)
    assert api.absolute("/user")["login"] == "octo-operator"
    assert api.requests == len(fake.requests) == 4
    assert {request.token for request in fake.requests} == {TOKEN}
    assert len({request.connection for request in fake.requests}) == 1


def test_a_list_comes_page_by_page_and_whole() -> None:
    with Fake(State(labels=[{"id": n, "name": f"l{n}", "color": "ffffff"} for n in range(250)])) as fake:
        api = api_of(fake)
        assert len(api.pages("/labels", 250)) == 250
        assert refused(lambda: api.pages("/labels", 249)).code == "limits-exceeded"


@pytest.mark.parametrize("how", [{"status": 500}, {"status": 502}, {"drop": True}, {"cut": True}])
def test_a_reading_is_tried_again(fake: Fake, how: dict[str, Any]) -> None:
    waits: list[float] = []
    fake.fail("GET", "/pulls/7", **how)
    assert api_of(fake, waits).get("/pulls/7")["number"] == 7
    assert waits == [1.0]


@pytest.mark.parametrize("how", [{"status": 500}, {"drop": True}])
def test_not_for_ever(fake: Fake, how: dict[str, Any]) -> None:
    for _ in range(5):
        fake.fail("GET", "/pulls/7", **how)
    api = api_of(fake)
    assert "GET /repos/octo-org/widgets/pulls/7" in refused(lambda: api.get("/pulls/7")).message
    assert api.requests == 3


@pytest.mark.parametrize("how", [{"status": 500, "after": True}, {"drop": True, "after": True}])
def test_what_may_have_been_done_is_not_done_again(fake: Fake, how: dict[str, Any]) -> None:
    fake.fail("POST", "/comments", **how)
    refused(lambda: api_of(fake).post("/issues/7/comments", {"body": "once"}))
    assert len(fake.state.comments) == 1


@pytest.mark.parametrize("status", [403, 429])
def test_a_short_limit_is_waited_for_and_a_long_one_is_told(fake: Fake, status: int) -> None:
    waits: list[float] = []
    fake.fail(
        "POST", "/comments", status, headers={"Retry-After": "2"}, message="You have exceeded a secondary rate limit"
    )
    api_of(fake, waits).post("/issues/7/comments", {"body": "x"})
    assert (waits, len(fake.state.comments)) == ([2.0], 1)
    fake.fail("GET", "/pulls/7", status, headers={"Retry-After": "3600"})
    fault = refused(lambda: api_of(fake, waits).get("/pulls/7"))
    assert "rate limit lasts until" in fault.message and waits == [2.0]


def test_a_limit_that_is_used_up_says_when_it_is_over(fake: Fake) -> None:
    reset = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(time.time()) + 1800)}
    fake.fail("GET", "/pulls/7", 403, headers=reset, message="API rate limit exceeded")
    assert "until" in refused(lambda: api_of(fake).get("/pulls/7")).message


def test_all_waiting_together_has_an_end(fake: Fake) -> None:
    waits: list[float] = []
    api = api_of(fake, waits)
    for _ in range(9):
        fake.fail("GET", "/pulls/7", 429, headers={"Retry-After": "25"})
    for _ in range(3):
        refused(lambda: api.get("/pulls/7"))
    assert sum(waits) <= 60


def test_a_missing_permission_is_named(fake: Fake) -> None:
    fake.state.lacks["GET /repos/{owner}/{repo}/pulls/{pull_number}"] = "pull_requests=read"
    fault = refused(lambda: api_of(fake).get("/pulls/7"))
    assert "403" in fault.message and "/pulls/7" in fault.message
    assert fault.hint == "a token with pull_requests=read"


def test_a_token_that_is_none(fake: Fake) -> None:
    fake.fail("GET", "/user", 401, message="Bad credentials")
    assert "401 Bad credentials" in refused(lambda: api_of(fake).absolute("/user")).message


@pytest.mark.parametrize("how", [{"stall": True}, {"trickle": True}])
def test_an_answer_that_does_not_come_or_does_not_end(
    fake: Fake, how: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "TIMEOUT", 0.2)
    fake.fail("GET", "/pulls/7", **how)
    assert api_of(fake).get("/pulls/7")["number"] == 7
    for _ in range(3):
        fake.fail("GET", "/pulls/7", **how)
    assert "no answer in time" in refused(lambda: api_of(fake).get("/pulls/7")).message


def test_waiting_for_answers_is_waiting_too(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "TIMEOUT", 0.2)
    monkeypatch.setattr(door, "_LONGEST_WAIT", 1.1)
    fake.fail("GET", "/pulls/7", stall=True)
    api = api_of(fake)
    refused(lambda: api.get("/pulls/7"))
    assert api.requests == 1


def test_an_answer_has_a_greatest_length(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = api_of(fake).get("/pulls/7")
    monkeypatch.setattr(connection, "MOST_BYTES", 100)
    assert "longer than 100 bytes" in refused(lambda: api_of(fake).get("/pulls/7")).message
    assert whole["number"] == 7


@pytest.mark.parametrize("raw", [b"", b"null", b"<html>", b"{", b"[NaN]", b'["\xff"]', b"[" * 100_000])
def test_what_is_no_answer_is_not_there_is_none(fake: Fake, raw: bytes) -> None:
    fake.fail("GET", "/pulls/7", 200, raw=raw)
    api = api_of(fake)
    refused(lambda: api.find("/pulls/7"))
    assert api.requests == 1


@pytest.mark.parametrize("raw", [b"", b"[1]", b"<html>", b'"x"', b'{"message": 7, "errors": "x"}', b'{"errors": [7]}'])
@pytest.mark.parametrize("status", [400, 401, 403, 409, 422, 502])
def test_a_refusal_of_whatever_form(fake: Fake, status: int, raw: bytes) -> None:
    fake.fail("POST", "/comments", status, raw=raw)
    fault = refused(lambda: api_of(fake).post("/issues/7/comments", {"body": "x"}))
    assert f"POST /repos/octo-org/widgets/issues/7/comments: {status}" in fault.message


def test_a_list_that_is_none(fake: Fake) -> None:
    fake.fail("GET", "/labels", 200, raw=b'{"labels": []}')
    assert "no list" in refused(lambda: api_of(fake).pages("/labels", 10)).message


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("verb", ["get", "post", "patch", "delete"])
def test_no_redirect_is_followed_or_taken_for_done(fake: Fake, status: int, verb: str) -> None:
    with Fake() as other:
        ask = partial(getattr(api_of(fake), verb), "/labels", *([{"name": "x"}] if verb in ("post", "patch") else []))
        for host in (fake.url, other.url):
            fake.fail(verb.upper(), "/labels", status, headers={"Location": f"{host}/repositories/1/labels"})
            assert "elsewhere" in refused(ask).message
        assert other.requests == [] and len(fake.requests) == 2


def test_not_ready_is_no_answer(fake: Fake) -> None:
    fake.fail("GET", "/pulls/7", 202)
    assert "202" in refused(lambda: api_of(fake).get("/pulls/7")).message


class TestRemovingALabel:
    """Who removes it may work on the issue: that somebody else did it must not look like that, nor the reverse."""

    @pytest.fixture
    def issue(self, fake: Fake) -> str:
        fake.state.issues[3] = {"number": 3, "title": "Crash"}
        fake.state.label(3, "agent-triage")
        return "/issues/3/labels/agent-triage"

    def test_once(self, fake: Fake, issue: str) -> None:
        listed = api_of(fake).pages("/issues", 10, labels="agent-triage", state="open")
        assert [one["number"] for one in listed] == [3]
        api_of(fake).delete(issue)
        assert isinstance(refused(lambda: api_of(fake).delete(issue)), NotFound)
        happened = api_of(fake).pages("/issues/3/events", 10)
        assert [one["event"] for one in happened] == ["labeled", "unlabeled"]
        assert api_of(fake).pages("/issues", 10, labels="agent-triage", state="open") == []

    def test_a_failure_before_it_is_tried_again(self, fake: Fake, issue: str) -> None:
        fake.fail("DELETE", "/agent-triage", 502)
        api_of(fake).delete(issue)
        assert fake.state.issues[3]["labels"] == []

    @pytest.mark.parametrize("how", [{"drop": True, "after": True}, {"status": 500, "after": True}])
    def test_a_failure_after_it_is_neither_done_nor_gone(self, fake: Fake, issue: str, how: dict[str, Any]) -> None:
        fake.fail("DELETE", "/agent-triage", **how)
        fault = refused(lambda: api_of(fake).delete(issue))
        assert not isinstance(fault, NotFound) and "cannot be told" in fault.message


def test_what_an_account_may_do(fake: Fake) -> None:
    fake.state.collaborators["octo-operator"] = "admin"
    assert api_of(fake).get("/collaborators/octo-operator/permission")["permission"] == "admin"
    assert api_of(fake).find("/collaborators/passer-by/permission") is None


def test_what_github_does_not_want(fake: Fake) -> None:
    long = "x" * 70_000
    fault = refused(lambda: api_of(fake).post("/issues/7/comments", {"body": long}))
    assert isinstance(fault, Rejected) and "too long" in fault.message


def test_a_404_that_is_an_outage_is_no_empty_answer(fake: Fake) -> None:
    """`find` takes 404 for "not there", and nothing else."""
    fake.state.lacks["GET /repos/{owner}/{repo}/actions/variables/{name}"] = "variables=read"
    refused(lambda: api_of(fake).find("/actions/variables/X"))


@pytest.mark.parametrize("name", ["", "octo-org", "a/b/c", "../..", "octo-org/..", "a b/c", "a/b?x", "a/b\n"])
def test_a_repository_is_an_owner_and_a_name(name: str) -> None:
    with pytest.raises(Undecided):
        open_api({"GITHUB_REPOSITORY": name})


def test_nobody_answers() -> None:
    with Fake() as fake:
        url = fake.url
    fault = refused(lambda: Api(REPOSITORY, TOKEN, url, lambda _: None).get(""))
    assert "GET /repos/octo-org/widgets" in fault.message


def test_the_token_is_not_shown(fake: Fake, caplog: pytest.LogCaptureFixture) -> None:
    assert TOKEN not in repr(Api(REPOSITORY, TOKEN))
    with caplog.at_level("DEBUG"):
        api_of(fake).get("/pulls/7")
    assert "/pulls/7" in caplog.text and TOKEN not in caplog.text
    # Not even where a header cannot hold it.
    refused(lambda: Api(REPOSITORY, f"{TOKEN}\n", fake.url, lambda _: None).get("/pulls/7"))


@pytest.mark.parametrize("around", ["{}\n", " {}", "{}\r\n", "{}"])
def test_a_token_may_have_blanks_around_it(fake: Fake, around: str) -> None:
    open_api({**fake.environ(), "GITHUB_TOKEN": around.format(TOKEN)}).get("")
    assert [request.token for request in fake.requests] == [TOKEN]


@pytest.mark.parametrize("within", ["\n", " ", "\u2026", "\0"])
def test_and_none_within(fake: Fake, within: str) -> None:
    refused(lambda: open_api({**fake.environ(), "GITHUB_TOKEN": f"{TOKEN}{within}x"}))
    assert fake.requests == []
