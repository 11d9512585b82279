"""What rank 0 reports, also as event files for TensorBoard: `tensorboard --logdir $MUSTER_RUN_DIR/tensorboard`.

They lie in tensorboard/metrics/, for of several files in one folder TensorBoard follows only the last, and the folder above
is the script's own (`get_tensorboard_path`). Tags are <group>/<name>. System metrics, which have no steps, texts and batch
metrics are not in them. They are a copy: nothing is read from them, and what cannot be written is only warned of.
"""
from __future__ import annotations

import json
import logging
import time
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence

from muster.core import event_files, values
from muster.core.backend import MetricSink
from muster.core.metrics import MetricRow

FOLDER = Path("tensorboard", "metrics")

_log = logging.getLogger("muster")


class TensorBoardCopy:
    """A MetricSink that writes what another one is given, before that one keeps it."""

    def __init__(self, sink: MetricSink, run_dir: Path, hparams: Mapping[str, Any], resumed_steps: Optional[int]) -> None:
        """`resumed_steps`: of the checkpoint that this run goes on from. No file is made before the first report."""
        self._sink = sink
        self._folder = run_dir / FOLDER
        self._hparams = hparams
        self._resumed_steps = resumed_steps
        self._file: Optional[event_files.EventFile] = None
        self._is_begun = False
        self._has_warned = False

    def append(self, rows: Sequence[MetricRow]) -> None:
        self._copy([row for row in rows if row.steps is not None])
        self._sink.append(rows)

    def _copy(self, rows: List[MetricRow]) -> None:
        if not rows:
            return
        try:
            records = b"".join(map(_scalars, rows))
            if self._file is None:
                self._file = event_files.EventFile(self._folder, time.time())
            self._file.append(records if self._is_begun else self._head(rows[0]) + records)
            self._is_begun = True
        except Exception as error:  # pylint: disable=broad-except
            if not self._has_warned:
                _log.warning("metrics are missing from TensorBoard's files in %s: %s", self._folder, error)
            self._has_warned = True

    def _head(self, first: MetricRow) -> bytes:
        """What this run does again is taken back, whatever earlier runs wrote of it."""
        step = first_step(first.steps or 0, self._resumed_steps)
        text = json.dumps(values.encode_document("hyperparameters", self._hparams), indent=1, ensure_ascii=False)
        markdown = "\n".join("    " + line for line in text.splitlines())  # a block of code
        return event_files.start_event(first.time, step) + \
            (event_files.text_event(first.time, step, "hyperparameters", markdown) if self._hparams else b"")

    def close(self) -> None:
        try:
            if self._file is not None:
                self._file.close()
        finally:
            self._sink.close()


def first_step(reported: int, resumed: Optional[int]) -> int:
    """Where a run that first reports `reported` begins, if it goes on from `resumed` steps. Pure.

    A checkpoint's own step stays: its training led there, even where its validation is repeated. A first report before it
    shows that the script did not go on from it.
    """
    return reported if resumed is None or reported < resumed else resumed + 1


def _scalars(row: MetricRow) -> bytes:
    """Its numbers; b"" without any."""
    decoded: Dict[str, Any] = values.decode(row.metrics)
    numbers = {name: float(value) for name, value in decoded.items() if isinstance(value, (bool, int, float))}
    if not numbers:
        return b""
    return event_files.scalars_event(row.time, row.steps or 0, [f"{row.group}/{name}" for name in numbers],
                                     list(numbers.values()))
