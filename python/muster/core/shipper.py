"""The thread between reports and the sink: training does not wait for disks, and many reports share one sync."""
from __future__ import annotations

import os
import queue
import threading
import time
from typing import List, Optional, Union

from muster.core.backend import MetricSink
from muster.core.errors import MetricConflictError, StorageError
from muster.core.metrics import MetricRow

ROWS_MAX = 1000
WRITE_TIMEOUT_S = 600.0  # for a disk that hangs


class _Barrier(threading.Event):
    """Stands in the queue behind what must be durable before it is set."""


_Entry = Union[MetricRow, _Barrier, None]  # None ends the thread


class Shipper:
    """Takes rows from one or more threads, at most `rows_waiting_max` waiting; keeps their order.

    A failure is raised by the next `put` or `flush`, and by `close` if nobody has seen it. After a conflict the others'
    rows go on being kept; after any other failure nothing is, and every call raises it.
    """

    def __init__(self, sink: MetricSink, write_timeout_s: float = WRITE_TIMEOUT_S, rows_waiting_max: int = ROWS_MAX,
                 keeper: str = "the run folder's disk") -> None:
        """`keeper`: what is to blame, in messages, when the sink hangs for longer than `write_timeout_s`."""
        self._sink = sink
        self._rows_waiting_max = rows_waiting_max
        self._storage_name = keeper
        self._write_timeout_s = write_timeout_s
        self._queue: "queue.Queue[_Entry]" = queue.Queue(rows_waiting_max)
        self._failure: Optional[Exception] = None     # final
        self._conflicts: List[MetricConflictError] = []
        self._pid = os.getpid()
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="muster-metrics", daemon=True)
        self._thread.start()

    def put(self, row: MetricRow) -> None:
        """Waits while the queue is full. Errors: an earlier row's failure; then this row was not taken."""
        self._check()
        self._enqueue(row)

    def flush(self) -> None:
        """Returns when all that was put before is durable. Errors: as `put`."""
        self._check()
        self.drain()
        self._check()

    def drain(self) -> None:
        """Returns when all that was put before is durable or has failed; who hears of a failure is the next `put`.

        Errors: StorageError when the disk hangs.
        """
        barrier = _Barrier()
        if self._is_closed:
            return
        self._enqueue(barrier)
        if not barrier.wait(self._write_timeout_s):
            raise StorageError(f"metrics were not written within {self._write_timeout_s:g} s: {self._storage_name} hangs")

    def close(self) -> None:
        """Ships what is left and ends the thread. Errors: a failure that no call has raised yet, or a final one."""
        if self._is_closed or self._pid != os.getpid():
            return
        self._is_closed = True
        self._enqueue(None)
        self._thread.join(self._write_timeout_s)
        if self._thread.is_alive():
            raise StorageError(f"metrics were not written within {self._write_timeout_s:g} s: {self._storage_name} hangs")
        self._raise_failure()

    def _check(self) -> None:
        if self._pid != os.getpid():
            raise RuntimeError("metrics are reported by the process that called init(), not by one forked from it")
        if self._is_closed:
            raise RuntimeError("the context is closed; report before it ends")
        self._raise_failure()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure
        if self._conflicts:
            raise self._conflicts.pop(0)

    def _enqueue(self, entry: _Entry) -> None:
        try:
            self._queue.put(entry, timeout=self._write_timeout_s)
        except queue.Full:
            raise StorageError(f"{self._rows_waiting_max} metric reports wait for {self._write_timeout_s:g} s: "
                               f"{self._storage_name} hangs") from None

    def _run(self) -> None:
        is_ending = False
        while not is_ending:
            batch = self._batch()
            is_ending = batch[-1] is None
            self._ship([entry for entry in batch if isinstance(entry, MetricRow)])
            for entry in batch:
                if isinstance(entry, _Barrier):
                    entry.set()

    def _batch(self) -> List[_Entry]:
        """What waits, at least one; nothing after the end."""
        batch: List[_Entry] = [self._queue.get()]
        while batch[-1] is not None and len(batch) < ROWS_MAX:
            try:
                batch.append(self._queue.get_nowait())
            except queue.Empty:
                break
        return batch

    def _ship(self, rows: List[MetricRow]) -> None:
        if not rows or self._failure is not None:
            return
        try:
            self._sink.append(rows)
        except MetricConflictError as error:
            if len(self._conflicts) < ROWS_MAX:
                self._conflicts.append(error)
        except Exception as error:  # pylint: disable=broad-except
            self._failure = error


def now() -> float:
    """Seconds since the epoch, to the microsecond."""
    return round(time.time(), 6)
