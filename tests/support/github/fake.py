"""The server: GitHub's REST API on loopback, as far as it is used, with faults on demand.

Every request and every answer is held to GitHub's OpenAPI description; what is not as described, and what is not
known here, is kept in `wrong` and fails the test at its end.
"""

from __future__ import annotations

import copy
import json
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.support.github import openapi
from tests.support.github.routes import ROUTES
from tests.support.github.state import State

#: What is asked without an operation in GitHub's description; it answers as where a token may not see it.
_UNDESCRIBED = ("/actions/policies",)


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens to the next request that it is armed for.

    `status` answers so with `headers`, and with `raw` in place of JSON; `after` lets the request do its work first;
    `cut` sends half of the answer, `drop` closes the connection without one, `stall` leaves it open without one, and
    `trickle` sends the answer byte by byte without an end.
    """

    method: str
    ending: str
    status: int = 500
    message: str = "Server Error"
    headers: Mapping[str, str] = field(default_factory=dict)
    after: bool = False
    cut: bool = False
    drop: bool = False
    stall: bool = False
    trickle: bool = False
    raw: bytes | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came."""

    method: str
    path: str
    query: Mapping[str, str]
    body: Any
    token: str | None
    #: The connection that it came by.
    connection: int = 0


class Fake:
    """GitHub on loopback. Use as a context manager: it stops, and fails for what was not as described."""

    def __init__(self, state: State | None = None) -> None:
        self.state = state or State()
        self.requests: list[Request] = []
        self.wrong: list[str] = []
        self.stopped = threading.Event()
        self._faults: list[Fault] = []
        fake = self

        class Handler(_Handler):
            owner = fake

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Fake:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.stopped.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)
        if kind is None and self.wrong:
            raise openapi.NotAsDescribed("; ".join(self.wrong))

    def environ(self, token: str = "ghs_loopback") -> dict[str, str]:
        """What a job is told of GitHub."""
        return {
            "GITHUB_API_URL": self.url,
            "GITHUB_TOKEN": token,
            "GITHUB_REPOSITORY": self.state.settings["full_name"],
        }

    def fail(self, method: str, ending: str, status: int = 500, **more: Any) -> None:
        """Arm a fault for the next request with this method whose path ends so."""
        self._faults.append(Fault(method, ending, status, **more))

    def calls(self, *methods: str) -> list[str]:
        """The requests so far, as `GET /pulls/7`, below the repository; of these methods only where some are given."""
        below = f"/repos/{self.state.settings['full_name']}"
        return [
            f"{one.method} {one.path.removeprefix(below)}"
            for one in self.requests
            if not methods or one.method in methods
        ]

    def _fault(self, method: str, path: str) -> Fault | None:
        with self.state.lock:
            for fault in self._faults:
                if fault.method == method and path.endswith(fault.ending):
                    self._faults.remove(fault)
                    return fault
        return None

    def _answer(self, request: Request) -> tuple[int, Any, dict[str, str]]:
        asked = openapi.operation(request.method, request.path)
        if asked is None:
            if not request.path.endswith(_UNDESCRIBED):
                self.wrong.append(f"{request.method} {request.path}: nothing that is used")
            return 404, {"message": "Not Found"}, {}
        lacking = self.state.lacks.get(asked.name)
        if lacking is not None:
            message = "Resource not accessible by integration"
            return 403, {"message": message}, {"X-Accepted-GitHub-Permissions": lacking}
        try:
            openapi.check_request(asked, request.query, request.body)
        except openapi.NotAsDescribed as wrong:
            self.wrong.append(str(wrong))
            return 422, {"message": str(wrong)}, {}
        with self.state.lock:
            known = self.state.settings["full_name"].casefold()
            named = "/".join(asked.parameters.get(name, "") for name in ("owner", "repo")).casefold()
            if request.path.startswith("/repos/") and named != known:
                return 404, {"message": "Not Found"}, {}
            status, found = ROUTES[asked.name](self.state, asked.parameters, request.query, request.body)
            found = copy.deepcopy(found)
        if status >= 400 or found is None:
            return status, found, {}
        whole = openapi.filled(asked, status, _without_ours(found))
        try:
            openapi.check_answer(asked, status, _as_described(whole))
        except openapi.NotAsDescribed as wrong:
            self.wrong.append(str(wrong))
        return status, whole, _links(request, found, self.url)


def _as_described(answer: Any) -> Any:
    """What GitHub does and does not describe: the repository of a head whose fork was deleted is null."""
    if isinstance(answer, dict) and isinstance(answer.get("head"), dict) and answer["head"].get("repo", 0) is None:
        return {**answer, "head": {**answer["head"], "repo": answer["base"]["repo"]}}
    return answer


def _without_ours(found: Any) -> Any:
    """Without what the fake keeps for itself: the issue of a comment."""
    if isinstance(found, list):
        return [_without_ours(one) for one in found]
    return {name: value for name, value in found.items() if name != "issue"} if isinstance(found, dict) else found


def _links(request: Request, found: Any, url: str) -> dict[str, str]:
    size = int(request.query.get("per_page", "30"))
    if not isinstance(found, list) or len(found) < size:
        return {}
    number = int(request.query.get("page", "1")) + 1
    return {"Link": f'<{url}{request.path}?per_page={size}&page={number}>; rel="next"'}


class _Handler(BaseHTTPRequestHandler):
    owner: Fake
    protocol_version = "HTTP/1.1"
    timeout = 30

    def _serve(self) -> None:
        parts = urlsplit(self.path)
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        sent = self.headers.get("Authorization")
        request = Request(
            self.command,
            parts.path,
            dict(parse_qsl(parts.query)),
            json.loads(raw) if raw else None,
            sent.partition(" ")[2] if sent else None,
            self.client_address[1],
        )
        self.owner.requests.append(request)
        fault = self.owner._fault(request.method, request.path)
        if fault is None:
            self._send(*self._answer(request))
            return
        answer = self._answer(request) if fault.after or fault.cut else None
        if fault.drop or fault.stall or fault.trickle:
            self.close_connection = True
            self._keep_waiting(fault)
        elif fault.cut and answer is not None:
            self._send(*answer, half=True)
        else:
            self._send(fault.status, {"message": fault.message}, dict(fault.headers), raw=fault.raw)

    def _answer(self, request: Request) -> tuple[int, Any, dict[str, str]]:
        try:
            return self.owner._answer(request)
        except Exception as broken:  # noqa: BLE001 - told, and fails the test
            # A lost connection would look like a fault that was armed.
            self.owner.wrong.append(f"{request.method} {request.path}: {broken!r}")
            return 500, {"message": "the fake is broken"}, {}

    def _keep_waiting(self, fault: Fault) -> None:
        """Until the fake stops, or whoever asked has gone."""
        if fault.stall:
            self.owner.stopped.wait(30)
        elif fault.trickle:
            self.send_response(200)
            self.send_header("Content-Length", "1000000")
            self.end_headers()
            with suppress(OSError):
                while not self.owner.stopped.wait(0.02):
                    self.wfile.write(b" ")

    def _send(
        self, status: int, body: Any, headers: Mapping[str, str], *, half: bool = False, raw: bytes | None = None
    ) -> None:
        data = b"" if body is None else json.dumps(body).encode()
        data = data if raw is None else raw
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[: len(data) // 2] if half else data)
        if half:
            self.close_connection = True

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _serve

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing on the test's output."""
