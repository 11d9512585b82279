"""The backend of a run folder: metrics, record and registry as files that a crash leaves whole."""
from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass, replace
from typing import Any, Dict, List, Mapping, Optional, Protocol, Sequence, Tuple, Union

from muster.core import durable, values
from muster.core.backend import Backend
from muster.core.errors import MetricConflictError
from muster.core.metrics import FILE, MetricRow, row_of
from muster.core.run_folder import RunFolder
from muster.core.storage import FolderStorage, Presence, Storage
from muster.core.storage_settings import S3_SCHEME

STEPS_REMEMBERED = 4096  # per group; above ROWS_MAX of the shipper, so that a batch is remembered whole
PROGRESS_PERIOD_S = 1.0
_BATCHES = "\0batch_metrics"  # no metric's name: what a row remembers of its batch metrics

_log = logging.getLogger("muster")


class _Reported:
    """What this run has reported of one group, by steps: the STEPS_REMEMBERED used last; others are in the file."""

    def __init__(self) -> None:
        self.by_steps: Dict[int, Dict[str, Any]] = {}
        self._evicted: Optional[Tuple[int, int]] = None  # least and greatest

    def may_be_forgotten(self, steps: int) -> bool:
        return self._evicted is not None and steps not in self.by_steps and self._evicted[0] <= steps <= self._evicted[1]

    def remember(self, steps: int, metrics: Mapping[str, Any]) -> None:
        self.by_steps[steps] = {**self.by_steps.pop(steps, {}), **metrics}  # at the end: used last
        if len(self.by_steps) > STEPS_REMEMBERED:
            oldest = next(iter(self.by_steps))
            del self.by_steps[oldest]
            low, high = self._evicted or (oldest, oldest)
            self._evicted = (min(low, oldest), max(high, oldest))


class LocalMetrics:
    """metrics.jsonl. Cost of a report: O(1), but O(file) for a step among those long past, as its value must be compared."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._log = durable.AppendLog(folder.path / FILE)
        self._groups: Dict[str, _Reported] = {}
        if not folder.is_new_run:
            for row in self._rows_of_this_run():
                if row.steps is not None:
                    self._groups.setdefault(row.group, _Reported()).remember(row.steps, _contents(row))

    def append(self, rows: Sequence[MetricRow]) -> None:
        self._folder.check_current()
        conflict: Optional[MetricConflictError] = None
        accepted: List[MetricRow] = []
        for row in rows:
            try:
                fresh = self._admit(row)
            except MetricConflictError as error:
                conflict = conflict or error
                continue
            if fresh is not None:
                accepted.append(fresh)
        self._log.append([row.to_line() for row in accepted])
        if conflict is not None:
            raise conflict

    def _admit(self, row: MetricRow) -> Optional[MetricRow]:
        """What is new in it; None when nothing is. Errors: MetricConflictError, and then nothing of it is kept."""
        if row.steps is None:
            return row
        reported = self._groups.setdefault(row.group, _Reported())
        if reported.may_be_forgotten(row.steps):
            self._recall(row.group, row.steps)
        before = reported.by_steps.get(row.steps)
        if before is None:
            reported.remember(row.steps, _contents(row))
            return row
        fresh = {}
        for name, value in _contents(row).items():
            if name not in before:
                fresh[name] = value
            elif before[name] != value:
                raise MetricConflictError(
                    f"run {row.run} reported {_shown(name)} of group {row.group!r} at step {row.steps} as "
                    f"{before[name]!r} and now as {value!r}; report each value once")
        if not fresh:
            return None
        reported.remember(row.steps, fresh)
        batches = fresh.pop(_BATCHES, None)
        return replace(row, metrics=fresh, batch_metrics=batches)

    def _recall(self, group: str, steps: int) -> None:
        for row in self._rows_of_this_run():
            if (row.group, row.steps) == (group, steps):
                self._groups[group].remember(steps, _contents(row))

    def _rows_of_this_run(self) -> List[MetricRow]:
        lines = durable.read_lines(self._folder.path / FILE)
        return [row_of(line) for line in lines if line.get("run") == self._folder.run]

    def close(self) -> None:
        self._log.close()


def _contents(row: MetricRow) -> Dict[str, Any]:
    return row.metrics if row.batch_metrics is None else {**row.metrics, _BATCHES: row.batch_metrics}


def _shown(name: str) -> str:
    return "the batch metrics" if name == _BATCHES else repr(name)


class LocalRecord:
    """status.json, of this run alone, and metadata.json, of the trial."""

    def __init__(self, folder: RunFolder) -> None:
        self._path = folder.path / "status.json"
        self._metadata = folder.path / "metadata.json"
        self._lock = threading.Lock()  # guards all below
        before = durable.read_document(self._path)
        self._status: Dict[str, Any] = before if before.get("run") == folder.run else {"run": folder.run}
        self._written = -PROGRESS_PERIOD_S
        self._is_behind = False

    def set_progress(self, progress: float) -> None:
        with self._lock:
            self._status["progress"] = progress
            if time.monotonic() - self._written >= PROGRESS_PERIOD_S:
                self._write()
            else:
                self._is_behind = True

    def set_status(self, status: str) -> None:
        self._set(status=status)

    def set_early_exit(self, reason: str) -> None:
        self._set(early_exit=reason)

    def set_searcher_metric(self, length: Union[int, float], metric: Any) -> None:
        self._set(searcher={"length": length, "metric": metric})

    def acknowledge_stop(self, reason: str) -> None:
        self._set(stop_acknowledged=reason)

    def metadata(self) -> Dict[str, Any]:
        with self._lock:
            document: Dict[str, Any] = values.decode(durable.read_document(self._metadata))
            return document

    def set_metadata(self, metadata: Mapping[str, Any]) -> None:
        with self._lock:
            durable.replace_file(self._metadata, values.encode_document("metadata", metadata))

    def _set(self, **fields: Any) -> None:
        with self._lock:
            self._status.update(fields)
            self._write()

    def _write(self) -> None:
        durable.replace_file(self._path, {**self._status, "time": time.time()})
        self._written = time.monotonic()
        self._is_behind = False

    def close(self) -> None:
        with self._lock:
            if self._is_behind:
                self._write()


class CheckpointObserver(Protocol):
    """Hears of each event of a checkpoint before it is kept; what it raises keeps the event from being kept.

    A completed checkpoint is whole in `storage`. An event that a crash kept from being kept is heard again.
    """

    def __call__(self, event: str, announced: "Announced", resources_left: Mapping[str, int]) -> None: ...


@dataclass(frozen=True)
class Announced:
    """A checkpoint as it was announced: by which run, and where it was to go."""
    uuid: str
    run: int
    storage: Storage


def _unobserved(_event: str, _announced: Announced, _resources_left: Mapping[str, int]) -> None:
    pass


class LocalCheckpoints:
    """checkpoints.jsonl: {"event", "uuid", "run", "time"}, announced also with the "storage" it was to go to.

    States by the last event of a uuid: announced -> completed -> deleted, or announced -> discarded. A crash between a
    rename and its event is made good at the next opening, as is one between the event and the removal of files.
    """

    def __init__(self, folder: RunFolder, storage: Storage, observer: CheckpointObserver = _unobserved) -> None:
        self._folder = folder
        self._storage = storage
        self._observer = observer
        self._log = durable.AppendLog(folder.path / "checkpoints.jsonl")
        self._announced: Dict[str, Announced] = {}
        self._completed: List[str] = []
        try:
            self._reconcile()
        except BaseException:
            self._log.close()
            raise

    def _reconcile(self) -> None:
        last: Dict[str, str] = {}
        out_of_reach: Dict[str, str] = {}
        for line in durable.read_lines(self._folder.path / "checkpoints.jsonl"):
            event, uuid = line["event"], line["uuid"]
            last[uuid] = event
            if event == "announced":
                storage = self._storage_named(line["storage"])
                if storage is None:
                    out_of_reach[uuid] = line["storage"]
                else:
                    self._announced[uuid] = Announced(uuid, line["run"], storage)
            if event == "completed":
                self._completed.append(uuid)
        for uuid, presence in self._presences([uuid for uuid in last if uuid not in out_of_reach]).items():
            self._make_good(uuid, last[uuid], presence)
        self._completed = [uuid for uuid in self._completed if last[uuid] != "deleted"]
        self._warn_of_unknown(last)
        unfinished = {place for uuid, place in out_of_reach.items() if last[uuid] == "announced"}
        if unfinished:
            _log.warning("checkpoints that earlier runs began in %s are left as they are: storage is now %s",
                         ", ".join(sorted(unfinished)), self._storage.location)

    def _make_good(self, uuid: str, event: str, presence: Presence) -> None:
        """What a crash kept from being said or done after the last event of a checkpoint."""
        if event == "announced" and presence is Presence.WHOLE:
            self._append("completed", uuid)
            self._completed.append(uuid)
        elif event == "announced":
            # Said once it is so: a store may hold parts of files, and not one file yet by which they would be found again.
            self._of(uuid).storage.discard(uuid)
            self._append("discarded", uuid)
        elif presence is Presence.PARTIAL and event in ("completed", "partially_deleted"):
            self._append("deleted", uuid)
            self._completed.remove(uuid)
        if presence is Presence.PARTIAL and event != "announced":
            self._of(uuid).storage.discard(uuid)

    def _storage_named(self, name: str) -> Optional[Storage]:
        """The one of that name, as `announce` wrote it; None: one in S3 of which nothing but the name is known."""
        if name == self._storage.location:
            return self._storage
        return None if name.startswith(S3_SCHEME) else FolderStorage(self._folder.path / name)

    def _presences(self, uuids: Sequence[str]) -> Dict[str, Presence]:
        """In the order of uuids. Each storage is asked once, as one may be far away."""
        by_storage: Dict[str, List[str]] = {}
        for uuid in uuids:
            by_storage.setdefault(self._of(uuid).storage.location, []).append(uuid)
        found = {uuid: presence for each in by_storage.values()
                 for uuid, presence in zip(each, self._of(each[0]).storage.presences(each))}
        return {uuid: found[uuid] for uuid in uuids}

    def _of(self, uuid: str) -> Announced:
        """One that this folder did not announce is in the storage at hand."""
        return self._announced.get(uuid) or Announced(uuid, self._folder.run, self._storage)

    def _warn_of_unknown(self, announced: Mapping[str, str]) -> None:
        if not self._is_inside():
            return  # others keep theirs there too
        unknown = self._storage.unfinished_names(announced)
        if unknown:
            shown = ", ".join(unknown[:5]) + (", ..." if len(unknown) > 5 else "")
            _log.warning("%s holds %d entries that are no checkpoints and that this run folder never announced; they are "
                         "left alone: %s", self._storage.location, len(unknown), shown)

    def _append(self, event: str, uuid: str, resources_left: Optional[Mapping[str, int]] = None, **more: Any) -> None:
        self._observer(event, self._of(uuid), resources_left or {})
        self._log.append([{"event": event, "uuid": uuid, "run": self._folder.run, "time": time.time(), **more}])

    def announce(self, uuid: str) -> None:
        self._folder.check_current()
        self._announced[uuid] = Announced(uuid, self._folder.run, self._storage)
        self._append("announced", uuid, storage="checkpoints" if self._is_inside() else self._storage.location)

    def _is_inside(self) -> bool:
        return self._storage.location == str(self._folder.path / "checkpoints")

    def complete(self, uuid: str, metadata: Mapping[str, Any], resources: Mapping[str, int]) -> None:
        self._append("completed", uuid, steps_completed=metadata.get("steps_completed"), size_bytes=sum(resources.values()))
        self._completed.append(uuid)

    def discard(self, uuid: str) -> None:
        self._append("discarded", uuid)

    def delete(self, uuid: str, resources_left: Mapping[str, int]) -> None:
        if resources_left:
            self._append("partially_deleted", uuid, resources_left, size_bytes=sum(resources_left.values()))
            return
        self._append("deleted", uuid)
        if uuid in self._completed:
            self._completed.remove(uuid)

    def latest(self) -> Optional[str]:
        """The one completed last that is still there."""
        return next((uuid for uuid in reversed(self._completed) if self._storage.is_whole(uuid)), None)

    def close(self) -> None:
        self._log.close()


def open_backend(folder: RunFolder, storage: Storage) -> Backend:
    """Errors: StorageError, CorruptionError."""
    return Backend(LocalMetrics(folder), LocalRecord(folder), LocalCheckpoints(folder, storage))
