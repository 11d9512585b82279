"""Tells the controller where this job serves, again and again, and watches whether anybody comes."""
from __future__ import annotations

import hmac
import secrets
import sys
import threading
import time
from contextlib import contextmanager
from typing import Any, Iterator, Mapping

from muster.core.errors import ControllerError
from muster.core.session import Session

SECRET_HEADER = "Muster-Service-Secret"
ANNOUNCE_S = 10.0
RETRY_TIMEOUT_S = 600.0  # a controller that restarts is waited for
_ENDED = (401, 403, 404)  # the job's token is over


class ServiceError(RuntimeError):
    """It cannot serve. The message says why and what to do: its user reads it."""


class Announcer:
    """One service of one job. Any thread. `session` speaks for the job; `secret` is asked of every caller: others on the node have no business here."""

    def __init__(self, session: Session, allocation: str) -> None:
        self.secret = secrets.token_urlsafe(24)
        self.session = session
        self._path = f"/allocations/{allocation}/proxy_address"
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._active = 0
        self._idle_since = time.monotonic()

    def announce(self, port: int) -> None:
        """Now, and every ten seconds from another thread, for a controller that restarts learns of it anew."""
        said = {"port": port, "secret": self.secret}
        self.session.call("POST", self._path, said)
        threading.Thread(target=self._repeat, args=(said,), name="announcer", daemon=True).start()

    def _repeat(self, said: Mapping[str, Any]) -> None:
        while not self._over.wait(ANNOUNCE_S):
            try:
                self.session.call("POST", self._path, said)
            except ControllerError as error:
                if error.status in _ENDED:
                    self._over.set()
                print(f"muster: {error}", file=sys.stderr)

    def fail(self, why: str) -> None:
        """What the user is told in place of the service."""
        try:
            self.session.call("POST", self._path, {"failure": why})
        except ControllerError as error:
            print(f"muster: {error}", file=sys.stderr)

    def is_known(self, secret: str) -> bool:
        return hmac.compare_digest(secret.encode(), self.secret.encode())

    @contextmanager
    def request(self) -> Iterator[None]:
        """Around each request: while one is under way, nobody is idle."""
        with self._lock:
            self._active += 1
        try:
            yield
        finally:
            with self._lock:
                self._active -= 1
                self._idle_since = time.monotonic()

    def idle_s(self) -> float:
        with self._lock:
            return 0.0 if self._active else time.monotonic() - self._idle_since

    def wait_idle(self, idle_s: float) -> None:
        """Until nobody has come for so long, or the job is over."""
        while self.idle_s() < idle_s and not self._over.wait(min(1.0, idle_s / 10)):
            pass

    def end(self) -> None:
        """`wait_idle` returns."""
        self._over.set()

    def close(self) -> None:
        self._over.set()
        self.session.close()


def announcer_of(variables: Mapping[str, str]) -> Announcer:
    session = Session(variables["DET_MASTER"], variables["DET_SESSION_TOKEN"], RETRY_TIMEOUT_S)
    return Announcer(session, variables["DET_ALLOCATION_ID"])
