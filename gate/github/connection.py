"""The connection that PyGithub speaks over: each answer is read whole, within bounds, from the host that was asked.

PyGithub's own would follow redirects, take one for a success, wait for as long as GitHub says 202, and read a body of
any size for as long as something trickles in.
"""

from __future__ import annotations

import time
from collections.abc import ItemsView
from typing import Any

import requests
import urllib3

#: Seconds until there is a connection, and for each part of an answer.
TIMEOUT = 20.0
#: Bytes of one answer: a hundred comments of the greatest length are 26 MB.
MOST_BYTES = 64 * 1024 * 1024
_CHUNK = 64 * 1024
#: One answer, from its first byte to its last, takes at most so many times the timeout.
_PATIENCE = 3


class Unusable(Exception):
    """An answer that is none: it leads elsewhere, has no end, or is no text. Its words are fit to be printed."""


class Answer:
    """One answer, in the shape that PyGithub takes: its text, which is UTF-8."""

    def __init__(self, status: int, headers: dict[str, str], data: bytes) -> None:
        self.status = status
        self.headers = headers
        self._data = data

    def getheaders(self) -> ItemsView[str, str]:
        return self.headers.items()

    def read(self) -> str:
        try:
            return self._data.decode("utf-8")
        except UnicodeDecodeError:
            raise Unusable("it is no UTF-8") from None


class Secure:
    """A connection that is kept open, with one request at a time: PyGithub calls `request`, then `getresponse`."""

    protocol = "https"

    def __init__(self, host: str, port: int | None = None, *, verify: bool | str = True, **_: Any) -> None:
        self.host = host
        self._root = f"{self.protocol}://{host}" + (f":{port}" if port else "")
        self._session = requests.Session()
        self._session.verify = verify
        # With an `auth` of its own a session asks no .netrc for one.
        self._session.auth = lambda request: request
        self._asked: tuple[str, str, Any, dict[str, str]] = ("GET", "", None, {})

    def request(self, verb: str, url: str, input: Any, headers: dict[str, str], stream: bool = False) -> None:
        self._asked = (verb, url, input, headers)

    def getresponse(self) -> Answer:
        """Ask. Raises Unusable, and requests.RequestException where the answer did not come, or not to its end."""
        verb, url, data, headers = self._asked
        with self._session.request(
            verb,
            self._root + url,
            data=data,
            headers=headers,
            timeout=TIMEOUT,
            stream=True,
            allow_redirects=False,
        ) as answer:
            if 300 <= answer.status_code < 400:
                raise Unusable(f"{answer.status_code}, it is elsewhere: was the repository renamed?")
            if answer.status_code == 202 and verb == "GET":
                raise Unusable("202, it is not ready yet")
            return Answer(answer.status_code, dict(answer.headers), self._whole(answer))

    def close(self) -> None:
        self._session.close()

    def _whole(self, answer: requests.Response) -> bytes:
        until = time.monotonic() + _PATIENCE * TIMEOUT
        data = bytearray()
        try:
            while chunk := answer.raw.read1(_CHUNK, decode_content=True):
                data += chunk
                if len(data) > MOST_BYTES:
                    raise Unusable(f"it is longer than {MOST_BYTES} bytes")
                if time.monotonic() > until:
                    raise requests.Timeout("the answer does not end")
        except urllib3.exceptions.HTTPError as lost:
            raise requests.ConnectionError(f"the answer broke off ({type(lost).__name__})") from None
        return bytes(data)


class Plain(Secure):
    """Without TLS: for a server on loopback."""

    protocol = "http"
