"""Requests to a controller: JSON over HTTP, one kept connection per thread, repeated while nobody answers.

Only what the controller itself says about a request is final. A connection that breaks and a gateway that stands in for
it (502, 503, 504) mean that it is restarting, so the same request goes out again: every one of them may be repeated, as
the controller ignores what it has.
"""
from __future__ import annotations

import http.client
import json
import logging
import os
import threading
import time
import weakref
from typing import Any, Dict, Mapping, Optional, Tuple, Union
from urllib.parse import urlsplit

from muster.core.errors import ControllerError

TIMEOUT_S = 60.0        # for one answer; after it the connection counts as broken
FIRST_DELAY_S, DELAY_MAX_S = 0.1, 5.0
_UNANSWERED = (502, 503, 504)

_log = logging.getLogger("muster")


class Session:
    """Speaks for one task. Any thread; each has a connection of its own."""

    def __init__(self, url: str, token: str, retry_timeout_s: float, is_user: bool = False) -> None:
        """`url` is http://host:port, or https. `retry_timeout_s`: how long a request is repeated before it fails. `is_user`: the token is a user's,
        not a task's. Connects to nothing."""
        parts = urlsplit(url)
        is_safe = parts.scheme == "https"
        self._kind = http.client.HTTPSConnection if is_safe else http.client.HTTPConnection
        self._host, self._port = str(parts.hostname), parts.port or (443 if is_safe else 80)
        self._prefix = parts.path.rstrip("/") + "/api/v1"
        self._url = url
        self._headers = {"Authorization" if is_user else "Grpc-Metadata-x-allocation-token": f"Bearer {token}"}
        self._retry_timeout_s = retry_timeout_s
        self._mine = threading.local()
        self._connections: "weakref.WeakSet[http.client.HTTPConnection]" = weakref.WeakSet()
        self._closed = threading.Event()

    def call(self, method: str, path: str, body: Union[Mapping[str, Any], bytes, None] = None,
             timeout_s: float = TIMEOUT_S) -> Dict[str, Any]:
        """The object that the controller answers, {} for an empty one. `path` lies below /api/v1. `body`: bytes go as they are.

        Errors: ControllerError, with the status and words of a refusal; without a status when nobody answered in time,
        or `close` came in between.
        """
        data = body if body is None or isinstance(body, bytes) else json.dumps(body, allow_nan=False).encode()
        what = f"{method} {path.split('?')[0]}"
        deadline: Optional[float] = None
        delay_s, has_warned = 0.0, False
        while not self._closed.is_set():
            is_fresh = self._connection() is None
            try:
                status, answer = self._exchange(method, path, data, timeout_s)
                trouble = f"{status} {words_of(answer)}"
            except (OSError, http.client.HTTPException) as error:
                self._drop()
                status, answer = 0, b""
                trouble = f"{type(error).__name__}: {error}"
            if status and status not in _UNANSWERED:
                if has_warned:
                    _log.info("%s: the controller is there again", what)
                return self._answer(what, status, answer)
            if deadline is None:
                deadline = time.monotonic() + self._retry_timeout_s
                delay_s = FIRST_DELAY_S if is_fresh else 0.0  # a kept one may have been closed while idle: no outage
            else:
                delay_s = min(max(2 * delay_s, FIRST_DELAY_S), DELAY_MAX_S)
            if delay_s and not has_warned:
                has_warned = True
                _log.warning("%s: the controller at %s does not answer (%s); trying for %g s", what, self._url, trouble,
                             self._retry_timeout_s)
            if time.monotonic() > deadline:
                raise ControllerError(f"{what}: the controller at {self._url} did not answer within {self._retry_timeout_s:g} s, "
                                      f"at last with {trouble}; see that it runs and start again")
            self._closed.wait(delay_s)
        raise ControllerError(f"{what}: the run has ended")

    def _exchange(self, method: str, path: str, data: Optional[bytes], timeout_s: float) -> Tuple[int, bytes]:
        connection = self._connection()
        if connection is None:
            connection = self._kind(self._host, self._port)
            self._connections.add(connection)
            self._mine.connection, self._mine.pid = connection, os.getpid()
        connection.timeout = timeout_s
        if connection.sock is not None:
            connection.sock.settimeout(timeout_s)
        connection.request(method, self._prefix + path, data, self._headers)
        reply = connection.getresponse()
        answer = reply.read()
        if reply.will_close:
            self._drop()
        return reply.status, answer

    def _connection(self) -> Optional[http.client.HTTPConnection]:
        """This thread's; None before it has one, and in a forked child, whose parent goes on using it."""
        if getattr(self._mine, "pid", None) != os.getpid():
            return None
        connection: Optional[http.client.HTTPConnection] = self._mine.connection
        return connection

    def _drop(self) -> None:
        connection = self._connection()
        if connection is not None:
            connection.close()
        self._mine.connection = None

    @staticmethod
    def _answer(what: str, status: int, answer: bytes) -> Dict[str, Any]:
        if status >= 300:
            words = words_of(answer)
            raise ControllerError(f"{what}: the controller refused with {status}: {words}", status, words, cause_of(answer))
        if not answer.strip():
            return {}
        try:
            document = json.loads(answer)
        except ValueError:
            document = None
        if not isinstance(document, dict):
            raise ControllerError(f"{what}: the controller's answer is no JSON object: {words_of(answer)}", status)
        return document

    def close(self) -> None:
        """Ends every request that waits. Of another thread's connection only the socket is shut: its owner closes it."""
        self._closed.set()
        for connection in list(self._connections):
            sock = connection.sock
            if sock is not None:
                try:
                    sock.shutdown(2)
                except OSError:
                    pass  # closed by its owner, or by the other side
        self._drop()


def cause_of(answer: bytes) -> str:
    """What exactly an error's body {"error": {"cause": name}} says has failed; empty: nothing that a program acts on."""
    try:
        return str(json.loads(answer)["error"].get("cause", ""))
    except (ValueError, KeyError, TypeError, AttributeError):
        return ""


def words_of(answer: bytes) -> str:
    """The words of an error's body {"error": {"error": text}}; of any other, its beginning."""
    text = answer.decode(errors="replace").strip()
    try:
        return str(json.loads(text)["error"]["error"])
    except (ValueError, KeyError, TypeError):
        return text[:200]
