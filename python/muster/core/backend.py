"""The seam between the contexts a script uses and whoever keeps what they say: the run folder (local.py), a controller.

A backend lives on rank 0 alone, but for `stops`, which every rank has. Each of its parts keeps its promise before its
call returns, so that whoever got an answer can rely on it after a crash.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Mapping, Optional, Protocol, Sequence, Union

from muster.core.metrics import MetricRow


class MetricSink(Protocol):
    """Keeps metrics. Called by the shipper's thread alone."""

    def append(self, rows: Sequence[MetricRow]) -> None:
        """Durable when it returns. An equal repeat of (run, group, steps, name) changes nothing.

        Errors: MetricConflictError when a repeat differs, after keeping all the rest; any other error is final.
        """

    def close(self) -> None: ...


class RunRecord(Protocol):
    """What else a run says of itself. Any thread."""

    def set_progress(self, progress: float) -> None:
        """0..1. May be kept late, at most by a second, and the last one at close."""

    def set_status(self, status: str) -> None: ...
    def set_early_exit(self, reason: str) -> None: ...
    def set_searcher_metric(self, length: Union[int, float], metric: Any) -> None: ...
    def acknowledge_stop(self, reason: str) -> None: ...
    def metadata(self) -> Dict[str, Any]: ...
    def set_metadata(self, metadata: Mapping[str, Any]) -> None: ...
    def close(self) -> None: ...


class CheckpointRegistry(Protocol):
    """Knows which checkpoints this trial has; their files are the storage's."""

    def announce(self, uuid: str) -> None:
        """Before the first byte is written, so that what a crash leaves behind has an owner."""

    def complete(self, uuid: str, metadata: Mapping[str, Any], resources: Mapping[str, int]) -> None: ...
    def discard(self, uuid: str) -> None: ...
    def delete(self, uuid: str, resources_left: Mapping[str, int]) -> None:
        """No resources left: the checkpoint is gone."""

    def latest(self) -> Optional[str]: ...
    def close(self) -> None: ...


class StopSource(Protocol):
    """Says whether this run is asked to stop. Answers at once; a controller's first answer may take it two seconds."""

    def reason(self) -> Optional[str]: ...
    def close(self) -> None: ...


@dataclass(frozen=True)
class Backend:
    metrics: MetricSink
    record: RunRecord
    checkpoints: CheckpointRegistry
    rows_waiting_max: int = 1000   # reports that may wait for the sink before training does
    write_timeout_s: float = 600.0      # for a sink that hangs, which is the keeper's fault
    keeper: str = "the run folder's disk"
    after: Callable[[], None] = lambda: None  # runs last

    def close(self) -> List[Exception]:
        """Closes every part, whatever the others do; the answer is what went wrong."""
        errors: List[Exception] = []
        for close in (self.metrics.close, self.record.close, self.checkpoints.close, self.after):
            try:
                close()
            except Exception as error:  # pylint: disable=broad-except
                errors.append(error)
        return errors
