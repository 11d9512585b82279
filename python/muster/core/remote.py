"""The backend of a trial that a controller runs: it hears what the run says, and asks it to stop.

What is kept where:
    the controller     metrics, the trial's metadata, early exits, acknowledgements; which checkpoints there are
    the run folder     lock and runs.jsonl (one process writes); status.json, for people who look there; checkpoints.jsonl,
                       with which the next start finds what a crash cut short; no metrics.jsonl, no metadata.json
    the storage        the files of checkpoints, as ever

Of a checkpoint the controller is told before the run folder: what checkpoints.jsonl lacks is told again by the next start.
"""
from __future__ import annotations

import logging
import threading
import time
from datetime import datetime, timezone
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from muster.core import values
from muster.core.backend import Backend
from muster.core.environment import Controller
from muster.core.errors import ControllerError, MetricConflictError, StaleRunError
from muster.core.local import Announced, LocalCheckpoints, LocalRecord
from muster.core.metrics import MetricRow
from muster.core.run_folder import RunFolder
from muster.core.session import Session
from muster.core.storage import Storage

PROGRESS_PERIOD_S = 1.0
POLL_S = 60                # one long poll
POLL_TIMEOUT_MARGIN_S = 10.0
POLL_PERIOD_S = 1.0        # no faster than this, whatever the controller answers
FIRST_ANSWER_S = 2.0
ROWS_WAITING_MAX = 100_000  # reports of an outage, some 50 MB
_SHIPPER_MARGIN_S = 60.0   # of the shipper's timeout over that of one request

_log = logging.getLogger("muster")


def _time(seconds: float) -> str:
    """Seconds since the epoch in the form of RFC 3339."""
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat()


def _call(session: Session, method: str, path: str, body: Optional[Mapping[str, Any]] = None) -> Dict[str, Any]:
    """Errors: StaleRunError when the controller has begun a newer run; else as Session.call."""
    try:
        return session.call(method, path, body)
    except ControllerError as error:
        if error.cause == "stale_run":
            raise StaleRunError(f"a newer run of this trial has begun; end this process ({error})") from error
        raise


class RemoteMetrics:
    """One request per row, answered when it is durable; the controller ignores equal repeats."""

    def __init__(self, session: Session, controller: Controller) -> None:
        self._session = session
        self._controller = controller

    def append(self, rows: Sequence[MetricRow]) -> None:
        conflict: Optional[MetricConflictError] = None
        for row in rows:
            try:
                _call(self._session, "POST", f"/trials/{self._controller.trial}/metrics", self._body(row))
            except ControllerError as error:
                if error.status != 400:
                    raise
                conflict = conflict or MetricConflictError(f"group {row.group!r} at step {row.steps}: {error}")
        if conflict is not None:
            raise conflict

    def _body(self, row: MetricRow) -> Dict[str, Any]:
        metrics: Dict[str, Any] = {"avgMetrics": row.metrics}
        if row.batch_metrics is not None:
            metrics["batchMetrics"] = row.batch_metrics
        return {"group": row.group, "metrics": {
            "trialId": self._controller.trial, "trialRunId": self._controller.run, "stepsCompleted": row.steps,
            "reportTime": _time(row.time), "metrics": metrics}}

    def close(self) -> None:
        pass


class _Courier:
    """Brings what training must not wait for: of each kind only the latest, in the order in which kinds became due."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._due: Dict[str, Tuple[float, str, Optional[Mapping[str, Any]]]] = {}  # by kind: not before, path, body
        self._next: Dict[str, float] = {}
        self._is_closing = False
        self.failures: List[ControllerError] = []
        self._changed = threading.Condition()  # guards all above
        self._thread = threading.Thread(target=self._run, name="muster-record", daemon=True)
        self._thread.start()

    def send(self, kind: str, path: str, body: Optional[Mapping[str, Any]], period_s: float = 0.0) -> None:
        """Posts it, at most once in `period_s`; a newer one of the same kind takes the place of one that still waits."""
        with self._changed:
            not_before = self._next.get(kind, 0.0)
            self._next[kind] = max(not_before, time.monotonic()) + period_s
            if kind in self._due:
                not_before = self._due[kind][0]
                self._next[kind] = not_before + period_s
            self._due[kind] = (not_before, path, body)
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                entry = self._next_due()
                while entry is None:
                    if self._is_closing and not self._due:
                        return
                    self._changed.wait(self._pause_s())
                    entry = self._next_due()
            kind, path, body = entry
            try:
                self._session.call("POST", path, body)
            except ControllerError as error:
                _log.warning("%s was not reported: %s", kind, error)
                with self._changed:
                    self.failures.append(error)

    def _next_due(self) -> Optional[Tuple[str, str, Optional[Mapping[str, Any]]]]:
        now = time.monotonic()
        for kind, (not_before, path, body) in self._due.items():
            if self._is_closing or not_before <= now:
                del self._due[kind]
                return kind, path, body
        return None

    def _pause_s(self) -> Optional[float]:
        if not self._due:
            return None
        return max(0.0, min(not_before for not_before, _, _ in self._due.values()) - time.monotonic())

    def close(self) -> None:
        """Brings what is left, until the session gives up."""
        with self._changed:
            self._is_closing = True
            self._changed.notify()
        self._thread.join()


class RemoteRecord:
    """Progress, status and the acknowledgement of a stop do not wait for the controller; the rest is there on return.

    A status or progress that it refuses is a warning. An acknowledgement that it refuses is an error of `close`: without
    it a run that ends in good order would count as one that has completed.
    """

    def __init__(self, session: Session, controller: Controller, local: LocalRecord) -> None:
        self._session = session
        self._controller = controller
        self._local = local
        self._courier = _Courier(session)
        self._acknowledger: Optional[_Courier] = None

    def _path(self, rest: str) -> str:
        return f"/trials/{self._controller.trial}/{rest}"

    def set_progress(self, progress: float) -> None:
        self._local.set_progress(progress)
        self._courier.send("progress", self._path("progress"), {"progress": progress}, PROGRESS_PERIOD_S)

    def set_status(self, status: str) -> None:
        self._local.set_status(status)
        self._courier.send("status", self._path("runner/metadata"), {"state": status})

    def set_early_exit(self, reason: str) -> None:
        """Of the reasons the controller knows one; a stop that the user wished is to it a trial that has completed."""
        self._local.set_early_exit(reason)
        if reason == "invalid_hp":
            _call(self._session, "POST", self._path("early_exit"), {"reason": "EXITED_REASON_INVALID_HP"})

    def set_searcher_metric(self, length: Union[int, float], metric: Any) -> None:
        """For people alone: the search reads it from the validation reports."""
        self._local.set_searcher_metric(length, metric)

    def acknowledge_stop(self, reason: str) -> None:
        self._local.acknowledge_stop(reason)
        self._acknowledger = _Courier(self._session)  # its own: it must not wait behind a status
        self._acknowledger.send("the acknowledgement of the stop",
                                f"/allocations/{self._controller.allocation}/signals/ack_preemption", None)

    def metadata(self) -> Dict[str, Any]:
        answer = _call(self._session, "GET", f"/runs/{self._controller.trial}/metadata")
        document: Dict[str, Any] = values.decode(answer.get("metadata") or {})
        return document

    def set_metadata(self, metadata: Mapping[str, Any]) -> None:
        document = values.encode_document("metadata", metadata)
        _call(self._session, "POST", f"/runs/{self._controller.trial}/metadata", {"metadata": document})

    def close(self) -> None:
        self._courier.close()
        self._local.close()
        if self._acknowledger is not None:
            self._acknowledger.close()
            if self._acknowledger.failures:
                raise self._acknowledger.failures[0]


class CheckpointAnnouncer:
    """Tells the controller of each event of a checkpoint before the run folder keeps it (local.CheckpointObserver).

    What a start finds that an earlier run could not tell is told with good will: a refusal is only a warning then, for the
    files are what they are and the training must go on.
    """

    def __init__(self, session: Session, controller: Controller) -> None:
        self._session = session
        self._controller = controller
        self.is_recovering = True

    def __call__(self, event: str, announced: Announced, resources_left: Mapping[str, int]) -> None:
        uuid = announced.uuid
        try:
            if event == "announced":
                self._post(announced, "STATE_ACTIVE", {}, {})
            elif event == "completed":
                metadata = values.encode_document("checkpoint metadata", announced.storage.metadata(uuid))
                self._post(announced, "STATE_COMPLETED", metadata, announced.storage.resources(uuid))
            else:
                _call(self._session, "PATCH", "/checkpoints", {"checkpoints": [
                    {"uuid": uuid, "resources": {"resources": _sizes(resources_left)}}]})
        except ControllerError as error:
            if not self.is_recovering or error.status is None:
                raise
            _log.warning("checkpoint %s of an earlier run is %s, but: %s", uuid, event, error)

    def _post(self, announced: Announced, state: str, metadata: Mapping[str, Any], resources: Mapping[str, int]) -> None:
        _call(self._session, "POST", "/checkpoints", {
            "uuid": announced.uuid, "taskId": self._controller.task, "allocationId": self._allocation(announced.run),
            "metadata": metadata, "resources": _sizes(resources), "reportTime": _time(time.time()), "state": state,
            "storageId": None, "training": {}})

    def _allocation(self, run: int) -> str:
        """The run that wrote a checkpoint, whichever tells of it: what this run resumes from is of an earlier one."""
        own = f".{self._controller.run}"
        name = self._controller.allocation
        return f"{name[:-len(own)]}.{run}" if name.endswith(own) else name


def _sizes(resources: Mapping[str, int]) -> Dict[str, str]:
    """64-bit numbers are strings on the wire."""
    return {path: str(size_bytes) for path, size_bytes in resources.items()}


class StopRequests:
    """A StopSource that a thread keeps up to date by long polls. Its first answer is waited for, at most FIRST_ANSWER_S."""

    def __init__(self, controller: Controller) -> None:
        self._path = f"/allocations/{controller.allocation}/signals/preemption?timeout_seconds="
        self._session = Session(controller.url, controller.token, controller.retry_timeout_s)
        self._is_asked = False
        self._answered = threading.Event()
        self._closed = threading.Event()
        threading.Thread(target=self._run, name="muster-stop", daemon=True).start()

    def _run(self) -> None:
        seconds = 0
        while not self._closed.is_set() and not self._is_asked:
            began = time.monotonic()
            try:
                answer = self._session.call("GET", self._path + str(seconds), timeout_s=seconds + POLL_TIMEOUT_MARGIN_S)
                self._is_asked = answer.get("preempt") is True
                self._answered.set()
            except ControllerError as error:
                if not self._closed.is_set():
                    _log.warning("stops asked by the controller are not heard for now: %s", error)
                    self._closed.wait(POLL_TIMEOUT_MARGIN_S)
            if seconds > 0 and not self._is_asked:
                self._closed.wait(max(0.0, POLL_PERIOD_S - (time.monotonic() - began)))
            seconds = POLL_S

    def reason(self) -> Optional[str]:
        self._answered.wait(FIRST_ANSWER_S)
        self._answered.set()  # an outage at the start is waited for once
        return "the controller" if self._is_asked else None

    def close(self) -> None:
        self._closed.set()
        self._session.close()


def open_backend(folder: RunFolder, storage: Storage, controller: Controller) -> Backend:
    """Says that the run begins, and what an earlier one could not say.

    Errors: StaleRunError, ControllerError, StorageError, CorruptionError.
    """
    session = Session(controller.url, controller.token, controller.retry_timeout_s)
    try:
        _call(session, "POST", "/runs/start", {"runId": controller.trial, "checkpointStorage": None})
        announcer = CheckpointAnnouncer(session, controller)
        checkpoints = LocalCheckpoints(folder, storage, announcer)
        announcer.is_recovering = False
        record = RemoteRecord(session, controller, LocalRecord(folder))
        return Backend(RemoteMetrics(session, controller), record, checkpoints, rows_waiting_max=ROWS_WAITING_MAX,
                       write_timeout_s=controller.retry_timeout_s + _SHIPPER_MARGIN_S, keeper=f"the controller at {controller.url}",
                       after=session.close)
    except BaseException:
        session.close()
        raise
