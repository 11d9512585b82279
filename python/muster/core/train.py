"""`context.train`: what a training says of itself while it runs. Rank 0 speaks for all."""
from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from muster.core import values
from muster.core.backend import Backend
from muster.core.errors import NotChiefError
from muster.core.metrics import TRAINING, VALIDATION, MetricRow
from muster.core.shipper import Shipper, now

BATCH_METRICS = "batch_metrics"  # under which the controller keeps them, beside the metrics by name
EARLY_EXIT_REASONS = ("invalid_hp", "user_requested_stop")


class TrainContext:
    """Reports are kept by a thread of their own, in order; `flush` waits until they are on disk.

    What could not be kept is raised by a later report, and by the end of the context. A second report of the same group
    and steps adds to the first; a metric it repeats must have the same value.
    Errors of every report: NotChiefError on ranks other than 0; TypeError and ValueError that name what is wrong in it;
    StorageError, ControllerError, StaleRunError and MetricConflictError of an earlier one, and then this one was not taken.
    """

    def __init__(self, rank: int, run: int, run_dir: Path, backend: Optional[Backend],
                 searcher_metric: Optional[str] = None) -> None:
        """`backend` is rank 0's. `searcher_metric`: by which a search judges, if there is one."""
        self._rank = rank
        self._run = run
        self._run_dir = run_dir
        self._searcher_metric = searcher_metric
        self._backend = backend
        self._report_batches: Optional[Callable[[int], None]] = None
        self._shipper = None if backend is None else Shipper(
            backend.metrics, backend.write_timeout_s, backend.rows_waiting_max, backend.keeper)

    def _chief(self, what: str) -> Backend:
        if self._backend is None:
            raise NotChiefError(f"rank {self._rank} calls {what}, but only rank 0 may: guard it with "
                                "`if context.distributed.rank == 0`")
        return self._backend

    def on_batches(self, report: Callable[[int], None]) -> None:
        """`report` is called with how many batches are trained, with every report of rank 0's."""
        self._report_batches = report

    # ---- metrics ----

    def report_training_metrics(self, steps_completed: int, metrics: Mapping[str, Any],
                                batch_metrics: Optional[Sequence[Mapping[str, Any]]] = None) -> None:
        """`steps_completed`: batches trained since the beginning of the trial. `batch_metrics`: one dict per batch."""
        self._report(TRAINING, values.check_steps(steps_completed), metrics, batch_metrics)

    def report_validation_metrics(self, steps_completed: int, metrics: Mapping[str, Any]) -> None:
        self._report(VALIDATION, values.check_steps(steps_completed), metrics)

    def report_metrics(self, group: str, steps_completed: int, metrics: Mapping[str, Any]) -> None:
        """Values are numbers, booleans, strings, or what has .item() (torch, numpy); `group` has no "."."""
        self._report(values.check_group(group), values.check_steps(steps_completed), metrics)

    def report_system_metrics(self, group: str, metrics: Mapping[str, Any]) -> None:
        """Of the machine rather than of the training: kept by time instead of steps. Values may be nested dicts."""
        self._put(MetricRow(self._run, values.check_group(group), None, now(), values.encode_nested_metrics(group, metrics)))

    def _report(self, group: str, steps: int, metrics: Mapping[str, Any],
                batch_metrics: Optional[Sequence[Mapping[str, Any]]] = None) -> None:
        batches: Optional[List[Dict[str, Any]]] = None
        if batch_metrics is not None:
            batches = [dict(values.encode_metrics(group, each)) for each in batch_metrics]
        encoded = values.encode_metrics(group, metrics)
        if batches and BATCH_METRICS in encoded:
            raise ValueError(f"group {group!r} has a metric named {BATCH_METRICS!r} "
                             "beside batch metrics; name it otherwise")
        if group == VALIDATION:
            self._check_searched(encoded, metrics)
        if self._report_batches is not None:
            self._report_batches(steps)
        self._put(MetricRow(self._run, group, steps, now(), encoded, batches))

    def _check_searched(self, encoded: Mapping[str, values.Scalar],
                        metrics: Mapping[str, Any]) -> None:
        """A search compares numbers alone."""
        name = self._searcher_metric
        if name is not None and name in encoded and not values.is_number(encoded[name]):
            kind = type(metrics[name]).__name__
            raise TypeError(f"metric {name!r} of group {VALIDATION!r} is a {kind}; "
                            "the search compares trials by it: report a number")

    def _put(self, row: MetricRow) -> None:
        self._chief("a report")
        assert self._shipper is not None
        self._shipper.put(row)

    def flush(self) -> None:
        """Returns when every report so far is on stable storage. Errors: as those of a report."""
        self._chief("flush")
        assert self._shipper is not None
        self._shipper.flush()

    def drain(self) -> None:
        """As `flush`, but leaves failures to the next report. Nothing on ranks other than 0."""
        if self._shipper is not None:
            self._shipper.drain()

    # ---- the run ----

    def report_progress(self, progress: float) -> None:
        """0..1 of all that is to be trained. Errors: ValueError."""
        if not 0 <= progress <= 1 or math.isnan(progress):
            raise ValueError(f"progress is {progress!r}; it lies in 0..1")
        self._chief("report_progress").record.set_progress(float(progress))

    def report_early_exit(self, reason: str) -> None:
        """Why this training ends before its time: "invalid_hp" or "user_requested_stop". Errors: ValueError."""
        if reason not in EARLY_EXIT_REASONS:
            raise ValueError(f"early exit reason {reason!r} is none of {', '.join(EARLY_EXIT_REASONS)}")
        self._chief("report_early_exit").record.set_early_exit(reason)

    def set_status(self, status: str) -> None:
        """A word or two for people: "loading data"."""
        self._chief("set_status").record.set_status(str(status))

    def report_searcher_metric(self, length: float, metric: Any) -> None:
        """What `context.searcher` calls when an operation is completed."""
        encoded = values.encode_scalar("the searcher's metric", metric)
        self._chief("report_completed").record.set_searcher_metric(length, encoded)

    def get_metadata(self) -> Dict[str, Any]:
        """The trial's metadata, {} at first. Called by rank 0."""
        return self._chief("get_metadata").record.metadata()

    def set_metadata(self, metadata: Mapping[str, Any]) -> None:
        """Replaces the trial's metadata, durably. Nested dicts, lists, scalars. Errors: TypeError that names the place."""
        self._chief("set_metadata").record.set_metadata(metadata)

    def get_tensorboard_path(self) -> Path:
        """A folder for the script's own event files, made if need be; what it reports lies in metrics/ of it already. Any rank.

        TensorBoard follows the last file of a folder alone: several writers take folders of their own below it.
        """
        path = self._run_dir / "tensorboard"
        path.mkdir(parents=True, exist_ok=True)
        return path

    def close(self) -> None:
        """Errors: what no report has raised yet, or what stopped all reports."""
        if self._shipper is not None:
            self._shipper.close()
