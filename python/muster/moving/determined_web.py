"""Requests to a Determined master: JSON over HTTP, paged lists and streams, repeated while nobody answers. Only reads, after login."""
from __future__ import annotations

import hashlib
import http.client
import json
import time
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional
from urllib.parse import quote, urlencode, urlsplit

from muster.core.session import words_of
from muster.moving.records import MovingError

RETRY_TIMEOUT_S = 600.0
TIMEOUT_S = 120.0
PAGE = 200
_SALT = "GubPEmmotfiK9TMD6Zdw"  # what Determined's clients put before a password
_UNANSWERED = (502, 503, 504)
_BROKEN = (OSError, http.client.HTTPException)


class NotThere(MovingError):
    """404, or 501: this master does not serve it."""


class MasterWeb:
    """One connection; one thread."""

    def __init__(self, url: str, token: Optional[str] = None, retry_timeout_s: float = RETRY_TIMEOUT_S,
                 note: Callable[[str], None] = lambda text: None) -> None:
        """`url` is http(s)://host:port. Connects to nothing. Errors: MovingError."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise MovingError(f"{url!r} is no master's URL; it has the form http://host:port")
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self.url = url
        self._connection = kind(parts.hostname, parts.port, timeout=TIMEOUT_S)
        self._prefix = parts.path.rstrip("/") + "/api/v1"
        self._token = token
        self._retry_timeout_s = retry_timeout_s
        self._note = note

    def login(self, username: str, password: str) -> None:
        """Errors: MovingError."""
        hashed = hashlib.sha512((_SALT + password).encode()).hexdigest() if password else ""
        answer = self._json("POST", "/auth/login", {"username": username, "password": hashed, "isHashed": True})
        self._token = answer.get("token")
        if not self._token:
            raise MovingError(f"{self.url}: the login of {username} gave no token")

    def get(self, path: str, **parameters: Any) -> Dict[str, Any]:
        """Errors: NotThere, MovingError."""
        return self._json("GET", _with(path, parameters))

    def pages(self, path: str, name: str, **parameters: Any) -> Iterator[Dict[str, Any]]:
        """All items of a list. Errors: as `get`."""
        offset = 0
        while True:
            answer = self.get(path, limit=PAGE, offset=offset, **parameters)
            items: List[Dict[str, Any]] = answer.get(name) or []
            yield from items
            offset += len(items)
            total = int((answer.get("pagination") or {}).get("total") or 0)
            if not items or offset >= total:
                return

    def stream(self, path: str, **parameters: Any) -> Iterator[Dict[str, Any]]:
        """The results of a stream of lines, one at a time; begun again where it breaks off. Errors: as `get`."""
        taken = 0
        deadline: Optional[float] = None
        while True:
            place = 0
            try:
                reply = self._reply("GET", _with(path, parameters), None)
                for line in reply:
                    if not line.strip():
                        continue
                    place += 1
                    if place > taken:
                        result = _result(line, path)
                        taken, deadline = place, None
                        yield result
                reply.close()
                return
            except _BROKEN as error:
                self._connection.close()
                deadline = deadline or time.monotonic() + self._retry_timeout_s
                self._wait(f"the stream of {path} broke off ({error})", deadline, 1.0)
            except GeneratorExit:
                self._connection.close()
                raise

    def _json(self, method: str, path: str, body: Optional[Mapping[str, Any]] = None) -> Dict[str, Any]:
        deadline = time.monotonic() + self._retry_timeout_s
        while True:
            reply = self._reply(method, path, body)
            try:
                text = reply.read()
                break
            except _BROKEN as error:
                self._connection.close()
                self._wait(f"{method} {path} broke off ({error})", deadline, 1.0)
        try:
            answer = json.loads(text) if text.strip() else {}
        except ValueError as error:
            raise MovingError(f"{self.url}: {method} {path}: the answer is no JSON: {error}") from error
        return answer if isinstance(answer, dict) else {}

    def _reply(self, method: str, path: str, body: Optional[Mapping[str, Any]]) -> http.client.HTTPResponse:
        """One that is not an error, unread."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        deadline, delay_s = time.monotonic() + self._retry_timeout_s, 0.1
        while True:
            try:
                self._connection.request(method, self._prefix + path, data, headers)
                reply = self._connection.getresponse()
                if reply.status not in _UNANSWERED:
                    break
                trouble = f"{reply.status} {words_of(reply.read())}"
            except _BROKEN as error:
                self._connection.close()
                trouble = f"{type(error).__name__}: {error}"
            self._wait(f"the master does not answer ({trouble})", deadline, delay_s)
            delay_s = min(2 * delay_s, 5.0)
        if reply.status < 300:
            return reply
        words = words_of(reply.read())
        text = f"{self.url}: {method} {path.split('?')[0]}: {reply.status}: {words}"
        if reply.status in (401, 403):
            raise MovingError(text + "; log in as one who sees all of it")
        raise NotThere(text) if reply.status in (404, 501) else MovingError(text)

    def _wait(self, trouble: str, deadline: float, delay_s: float) -> None:
        if time.monotonic() > deadline:
            raise MovingError(f"{self.url}: {trouble}, for {self._retry_timeout_s:g} s")
        self._note(f"{self.url}: {trouble}; trying again")
        time.sleep(delay_s)


def named(part: Any) -> str:
    """A part of a path."""
    return quote(str(part), safe="")


def _with(path: str, parameters: Mapping[str, Any]) -> str:
    return path + ("?" + urlencode(parameters, doseq=True) if parameters else "")


def _result(line: bytes, path: str) -> Dict[str, Any]:
    try:
        document = json.loads(line)
    except ValueError as error:
        raise http.client.HTTPException(f"a line is no JSON: {error}") from error
    if "error" in document:
        raise MovingError(f"{path}: {document['error']}")
    result: Dict[str, Any] = document.get("result") or {}
    return result
