"""Metric rows: what a report is, which rows a newer run replaces, and how a run folder's metrics are read.

A run is one start of a trial. One that resumes from a checkpoint trains some steps again, so what earlier runs reported
beyond that point describes a past that was abandoned: those rows stay in the file and vanish from what is read.
"""
from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Dict, Iterable, List, Optional, Union

from muster.core import durable, values
from muster.core.errors import CorruptionError

FILE = "metrics.jsonl"
TRAINING, VALIDATION = "training", "validation"


@dataclass(frozen=True)
class MetricRow:
    """What was reported of one group at one step.

    `run` counts from 1, `time` is in seconds since the epoch. `steps` is None of system metrics, whose key is their
    time. `metrics` are floats again where JSON had to spell them. `batch_metrics`: one dict per batch, if given.
    """
    run: int
    group: str
    steps: Optional[int]
    time: float
    metrics: Dict[str, Any]
    batch_metrics: Optional[List[Dict[str, Any]]] = None

    def to_line(self) -> Dict[str, Any]:
        """As one line of metrics.jsonl holds it. Requires: metrics are encoded (values.encode_metrics)."""
        line = {"run": self.run, "group": self.group, "steps": self.steps, "time": self.time, "metrics": self.metrics}
        if self.batch_metrics is not None:
            line["batch_metrics"] = self.batch_metrics
        return line


def row_of(line: Dict[str, Any]) -> MetricRow:
    """The reverse of `to_line`, still encoded. Errors: CorruptionError."""
    try:
        return MetricRow(line["run"], line["group"], line["steps"], line["time"], line["metrics"], line.get("batch_metrics"))
    except KeyError as error:
        raise CorruptionError(f"a line of {FILE} has no {error}: {line}") from None


def replaces(newer: MetricRow, older: MetricRow) -> bool:
    """Whether a report takes back a row of an earlier run.

    Within a group: a row beyond the report's step; outside training also one at that step, for it was measured again
    (training at the step of the checkpoint is what led there). Training and validation count the same steps, so each
    takes back the other's rows beyond its own; other groups count for themselves. System metrics stay.
    """
    if newer.run <= older.run or newer.steps is None or older.steps is None:
        return False
    if newer.group == older.group:
        return older.steps > newer.steps or (older.steps == newer.steps and newer.group != TRAINING)
    return {newer.group, older.group} == {TRAINING, VALIDATION} and older.steps > newer.steps


def surviving(rows: Iterable[MetricRow]) -> List[MetricRow]:
    """The rows that no other row replaces, in their order. Cost: O(n log n), one pass from the newest run back."""
    ordered = sorted(enumerate(rows), key=lambda entry: -entry[1].run)
    least: Dict[str, int] = {}     # per group, the least step that newer runs reported
    pending: Dict[str, int] = {}   # the same of the run at hand
    kept = []
    run: Optional[int] = None
    for place, row in ordered:
        if row.run != run:
            for group, steps in pending.items():
                least[group] = min(steps, least.get(group, steps))
            pending, run = {}, row.run
        if row.steps is None:
            kept.append((place, row))
            continue
        pending[row.group] = min(row.steps, pending.get(row.group, row.steps))
        if row.steps < _validity_bound(least, row.group):
            kept.append((place, row))
    return [row for _, row in sorted(kept, key=lambda entry: entry[0])]


def _validity_bound(least: Dict[str, int], group: str) -> Union[int, float]:
    """A group's rows of older runs survive below it."""
    own = least.get(group, math.inf)
    if group == TRAINING:
        return min(own, least.get(VALIDATION, math.inf)) + 1
    return min(own, least.get(TRAINING, math.inf) + 1) if group == VALIDATION else own


def merged(rows: Iterable[MetricRow]) -> Dict[str, List[MetricRow]]:
    """Groups in the order of their names; in each, one row per step in the order of steps, then system rows by time.

    Rows of one step become one: of the newest run, with its latest time, a later run's value before an earlier one's.
    """
    series: Dict[str, Dict[Any, MetricRow]] = {}
    for row in sorted(rows, key=lambda each: each.run):
        group = series.setdefault(row.group, {})
        key = (0, row.steps) if row.steps is not None else (1, row.time, len(group))
        before = group.get(key)
        if before is not None:
            row = replace(row, time=max(before.time, row.time), metrics={**before.metrics, **row.metrics},
                          batch_metrics=before.batch_metrics if row.batch_metrics is None else row.batch_metrics)
        group[key] = row
    return {name: [series[name][key] for key in sorted(series[name])] for name in sorted(series)}


def read_metrics(run_dir: Union[str, "os.PathLike[str]"]) -> Dict[str, List[MetricRow]]:
    """The series of every group of a run folder, lost segments replaced; {} when nothing was reported.

    May be called while a run writes: a torn last line is not there yet. Shape: see `merged`.
    Errors: CorruptionError that names the line. Cost: O(n log n) time and O(n) memory for n rows.
    """
    rows = [row_of(line) for line in durable.read_lines(Path(run_dir) / FILE)]
    series = merged(surviving(rows))
    return {group: [_decoded(row) for row in group_rows] for group, group_rows in series.items()}


def _decoded(row: MetricRow) -> MetricRow:
    return replace(row, metrics=values.decode(row.metrics), batch_metrics=values.decode(row.batch_metrics))
