"""How far a training has come, and when something that recurs is due. Pure; no torch."""
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Dict, Optional

from muster.core.environment import MaxLength


@dataclass(frozen=True)
class Position:
    """What lies behind a training, all ranks together.

    `batches` counts calls of train_batch on each rank since the beginning of the trial: it is what metrics and
    checkpoints call steps_completed. `epochs` counts whole passes; `epoch_batches` the batches of the pass under way.
    `records` counts samples of all ranks, `epoch_records` those of the pass under way.
    """
    batches: int = 0
    epochs: int = 0
    epoch_batches: int = 0
    records: int = 0
    epoch_records: int = 0

    def after_batch(self, records: int, epoch_length: int) -> "Position":
        """One batch of `records` samples further, in an epoch of `epoch_length` batches."""
        if self.epoch_batches + 1 >= epoch_length:
            return Position(self.batches + 1, self.epochs + 1, 0, self.records + records, 0)
        return Position(self.batches + 1, self.epochs, self.epoch_batches + 1, self.records + records,
                        self.epoch_records + records)

    def to_dict(self) -> Dict[str, int]:
        return dict(vars(self))


@dataclass(frozen=True)
class TrainUnit:
    """A length of training: `Batch(100)`, `Epoch(3)`, `Record(10_000)`."""
    value: int

    def __post_init__(self) -> None:
        if isinstance(self.value, bool) or not isinstance(self.value, int) or self.value <= 0:
            raise ValueError(f"{type(self).__name__}({self.value!r}): a length is a whole number above 0")

    def count(self, position: Position) -> int:
        """How much of this unit lies behind `position`."""
        raise NotImplementedError

    def is_due(self, before: Position, after: Position) -> bool:
        """Whether one batch, from `before` to `after`, completed a period of this length."""
        return self.count(after) // self.value > self.count(before) // self.value

    def is_reached(self, position: Position) -> bool:
        return self.count(position) >= self.value

    def progress(self, position: Position, epoch_length: int) -> float:
        """0..1 of a training of this length."""
        del epoch_length
        return min(1.0, self.count(position) / self.value)


class Batch(TrainUnit):
    """Batches on each rank; all ranks train one at the same time."""

    def count(self, position: Position) -> int:
        return position.batches


class Epoch(TrainUnit):
    """Passes over the training data."""

    def count(self, position: Position) -> int:
        return position.epochs

    def progress(self, position: Position, epoch_length: int) -> float:
        return min(1.0, (position.epochs + position.epoch_batches / epoch_length) / self.value)


class Record(TrainUnit):
    """Samples of all ranks. Due at the first batch that completes so many."""

    def count(self, position: Position) -> int:
        return position.records


UNITS = {"batch": Batch, "batches": Batch, "epoch": Epoch, "epochs": Epoch, "record": Record, "records": Record}


def unit_of(max_length: MaxLength, like: Optional[TrainUnit] = None) -> TrainUnit:
    """What MUSTER_MAX_LENGTH says. A number alone is in the unit of `like`, else in batches.

    Errors: ValueError for a unit that is none of `UNITS`, and for a fraction.
    """
    kind = UNITS.get(max_length.unit.lower()) if max_length.unit is not None else (type(like) if like else Batch)
    if kind is None:
        raise ValueError(f"MUSTER_MAX_LENGTH is in {max_length.unit!r}; the Trainer counts batches, epochs or records")
    if not float(max_length.length).is_integer() or math.isinf(max_length.length):
        raise ValueError(f"MUSTER_MAX_LENGTH is {max_length.length!r} {max_length.unit or ''}".rstrip() +
                         "; the Trainer counts whole ones")
    return kind(int(max_length.length))


def check_unit(name: str, value: Any) -> Optional[TrainUnit]:
    """Errors: TypeError that names the argument unless it is a unit or None."""
    if value is not None and not isinstance(value, TrainUnit):
        raise TypeError(f"{name} is {value!r}; give Batch(n), Epoch(n) or Record(n)")
    return value
