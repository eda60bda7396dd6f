"""A git server on loopback that speaks smart HTTP and breaks on demand.

`git http-backend` does the work, one process a request; this adds chunked requests, a log, and the faults. A fault is
armed by a method and met by the next matching request; several of one kind are met in the order they were armed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer
from types import TracebackType
from typing import Literal, TypeAlias
from urllib.parse import parse_qs, urlsplit

from tests.support.repo import Files, Repo, origin

#: What a request is for. git asks for the refs (GET) before it fetches or pushes (POST).
Service: TypeAlias = Literal["fetch", "push", "refs-for-fetch", "refs-for-push"]

_SERVICES = {"git-upload-pack": "fetch", "git-receive-pack": "push"}
#: git sends a lone flush packet before a body over http.postBuffer, to see whether it may; that is not yet a push.
_PROBE = b"0000"
#: No fault holds a request for longer, in seconds.
_LONGEST_STALL = 30.0


@dataclass(frozen=True, slots=True)
class Request:
    """One request that was dealt with. `status` is None where the connection was dropped; sizes are of bodies."""

    method: str
    path: str
    service: str | None
    bytes_in: int
    bytes_out: int
    status: int | None


@dataclass(frozen=True, slots=True)
class _Call:
    """A request, ready for the backend."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes
    service: str | None


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    headers: list[tuple[str, str]]
    body: bytes
    #: Whether the backend, and all that it started, ended well.
    complete: bool = True


#: Takes a request and the way to run the backend on it; gives the answer, None to drop the connection.
_Fault: TypeAlias = Callable[["_Call", Callable[..., _Answer]], "_Answer | None"]


class HttpOrigin:
    """Serves the bare repositories in `folder` while it is entered as a context manager."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._faults: list[tuple[str, _Fault]] = []
        self._log: list[Request] = []
        self._late: list[_Call] = []
        self._stopped = threading.Event()
        # Taken now, in the test's thread: later the seal may be another test's.
        self._environment = dict(os.environ)
        self._server = _Server(("127.0.0.1", 0), lambda *args: _Handler(self, *args))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    def __enter__(self) -> HttpOrigin:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Serve no more: ends stalls without running what they held, and waits for what is under way. Idempotent."""
        self._stopped.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def create(self, name: str = "origin", files: Files | None = None) -> Repo:
        """A new bare repository that accepts pushes, with a first commit of `files` on main (None: empty)."""
        repo = origin(self.folder / f"{name}.git", files)
        repo.git("config", "http.receivepack", "true")
        return repo

    def url(self, name: str = "origin") -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/{name}.git"

    @property
    def requests(self) -> list[Request]:
        """What was dealt with so far, in the order it ended."""
        with self._lock:
            return list(self._log)

    @property
    def armed(self) -> int:
        """How many faults no request has met yet."""
        with self._lock:
            return len(self._faults)

    def clear_requests(self) -> None:
        with self._lock:
            self._log.clear()

    def refuse_next_push_reply(self, times: int = 1) -> None:
        """The next push is applied, and its connection dropped without an answer."""

        def apply_and_drop(call: _Call, backend: Callable[..., _Answer]) -> None:
            backend(call)

        self._arm("push", apply_and_drop, times)

    def drop_before_apply(self, times: int = 1, service: Service = "push") -> None:
        """The next push (or other request) is not run at all, and its connection dropped."""
        self._arm(service, lambda call, backend: None, times)

    def stall(self, seconds: float, service: Service = "push", times: int = 1) -> None:
        """The next such request waits first (at most 30 s, and no longer than this server is up)."""

        def wait_and_run(call: _Call, backend: Callable[..., _Answer]) -> _Answer | None:
            stopped = self._stopped.wait(min(seconds, _LONGEST_STALL))
            return None if stopped else backend(call)

        self._arm(service, wait_and_run, times)

    def fail_with(self, status: int, service: Service = "push", times: int = 1, words: str = "broken") -> None:
        """The next such request is not run, and answered with `status` and `words`."""
        answer = _Answer(status, [("Content-Type", "text/plain")], words.encode())
        self._arm(service, lambda call, backend: answer, times)

    def late(self, times: int = 1) -> None:
        """The next push gets a dropped connection, and is applied only by `land`."""

        def keep(call: _Call, backend: Callable[..., _Answer]) -> None:
            with self._lock:
                self._late.append(call)

        self._arm("push", keep, times)

    def land(self) -> list[bytes]:
        """Apply the pushes that `late` kept, oldest first; what git would have answered to each."""
        with self._lock:
            kept, self._late = self._late, []
        return [self._backend(call).body for call in kept]

    def run_next_push_under(self, prefix: Sequence[str], times: int = 1) -> None:
        """The next push is run under `prefix`, as in `torn.killed_at(2)`; the connection is dropped if that kills it.

        The prefix goes around the whole backend, whose receive-pack is the one to rename.
        """

        def run_under(call: _Call, backend: Callable[..., _Answer]) -> _Answer | None:
            answer = backend(call, prefix)
            return answer if answer.complete else None

        self._arm("push", run_under, times)

    def _arm(self, service: str, fault: _Fault, times: int) -> None:
        with self._lock:
            self._faults += [(service, fault)] * times

    def _take(self, call: _Call) -> _Fault | None:
        if call.body == _PROBE:
            return None
        with self._lock:
            for position, (service, fault) in enumerate(self._faults):
                if service == call.service:
                    del self._faults[position]
                    return fault
        return None

    def _answer(self, call: _Call) -> _Answer | None:
        """Deal with one request, and log it before the client can know."""
        fault = self._take(call)
        answer = fault(call, self._backend) if fault else self._backend(call)
        sent, status = (len(answer.body), answer.status) if answer else (0, None)
        with self._lock:
            self._log.append(Request(call.method, call.path, call.service, len(call.body), sent, status))
        return answer

    def _backend(self, call: _Call, prefix: Sequence[str] = ()) -> _Answer:
        done = subprocess.run(
            [*prefix, "git", "http-backend"],
            input=call.body,
            env=self._environment | self._cgi(call),
            capture_output=True,
            timeout=120,
            check=False,
        )
        return _parse_cgi(done.stdout, complete=done.returncode == 0)

    def _cgi(self, call: _Call) -> dict[str, str]:
        headers = {
            "CONTENT_TYPE": call.headers.get("content-type", ""),
            "HTTP_CONTENT_ENCODING": call.headers.get("content-encoding", ""),
            "GIT_PROTOCOL": call.headers.get("git-protocol", ""),
        }
        return {name: value for name, value in headers.items() if value} | {
            "GIT_PROJECT_ROOT": str(self.folder),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REQUEST_METHOD": call.method,
            "PATH_INFO": call.path,
            "QUERY_STRING": call.query,
            "CONTENT_LENGTH": str(len(call.body)),
            "REMOTE_ADDR": "127.0.0.1",
        }


class _Server(ThreadingHTTPServer):
    # 64 clients at once must not meet a full queue, which would look like a network fault.
    request_queue_size = 256
    # Closing waits for the requests under way: nothing writes to a repository after its test.
    daemon_threads = False

    def server_bind(self) -> None:
        """As in TCPServer: HTTPServer also looks up this machine's name, which may ask a name server."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]  # type: ignore[assignment]

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that was killed is no error of ours."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class _Handler(BaseHTTPRequestHandler):
    """Reads a request, chunked or not, asks `HttpOrigin`, and sends the answer or drops the connection.

    Every answer closes its connection. curl sends a request again by itself when a *reused* connection breaks before
    the first byte; a fault would then be met and repaired without git ever seeing it.
    """

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    #: Seconds for a client to say something.
    timeout = 60

    def __init__(self, served: HttpOrigin, *args: object) -> None:
        self._served = served
        super().__init__(*args)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        self._serve(b"")

    def do_POST(self) -> None:
        self._serve(self._chunks() if self.headers.get("Transfer-Encoding") == "chunked" else self._plain())

    def log_message(self, format: str, *args: object) -> None:
        """Nothing on stderr: `HttpOrigin.requests` is the log."""

    def _serve(self, body: bytes) -> None:
        self.close_connection = True
        url = urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        call = _Call(self.command, url.path, url.query, headers, body, _service(self.command, url.path, url.query))
        answer = self._served._answer(call)
        if answer is None:
            return
        self.send_response(answer.status)
        for name, value in answer.headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(answer.body)

    def _plain(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length", "0")))

    def _chunks(self) -> bytes:
        """RFC 9112, section 7.1; git sends neither extensions nor trailers."""
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)


def _service(method: str, path: str, query: str) -> str | None:
    name = path.rsplit("/", 1)[-1]
    if method == "POST":
        return _SERVICES.get(name)
    asked = _SERVICES.get(parse_qs(query).get("service", [""])[0])
    return f"refs-for-{asked}" if name == "refs" and asked else None


def _parse_cgi(output: bytes, complete: bool) -> _Answer:
    """RFC 3875: header lines, `Status: 404 …` among them, an empty line, the body. A backend that said nothing: 500."""
    head, _, body = output.partition(b"\r\n\r\n")
    split = (line.partition(": ") for line in head.decode().split("\r\n"))
    headers = [(name, value) for name, _, value in split if name]
    status = next((int(value.split()[0]) for name, value in headers if name == "Status"), 200 if headers else 500)
    return _Answer(status, [header for header in headers if header[0] != "Status"], body, complete)
