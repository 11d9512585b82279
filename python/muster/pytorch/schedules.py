"""When a learning-rate schedule takes its steps."""
from __future__ import annotations

import enum
from typing import Any


class StepMode(enum.Enum):
    """The names are those of Determined's LRScheduler."""
    STEP_EVERY_EPOCH = "epoch"
    STEP_EVERY_OPTIMIZER_STEP = "optimizer_step"
    """As STEP_EVERY_BATCH where no gradients are accumulated over batches."""
    STEP_EVERY_BATCH = "batch"
    MANUAL_STEP = "manual"
    """The trial calls .step() itself."""


class LRScheduler:
    """A torch scheduler that the Trainer steps. Made by `context.wrap_lr_scheduler`; wrap its optimizer first."""

    def __init__(self, scheduler: Any, step_mode: StepMode, frequency: int) -> None:
        """`frequency`: a step after every so many epochs, batches or optimizer steps. Errors: TypeError, ValueError."""
        if not isinstance(step_mode, StepMode):
            raise TypeError(f"step_mode is {step_mode!r}; it is a StepMode")
        if isinstance(frequency, bool) or not isinstance(frequency, int) or frequency < 1:
            raise ValueError(f"frequency is {frequency!r}; it is a whole number above 0")
        if frequency > 1 and step_mode is StepMode.MANUAL_STEP:
            raise ValueError(f"frequency {frequency} says nothing where the trial steps the schedule itself; leave it out")
        self.scheduler = scheduler
        self.step_mode = step_mode
        self._frequency = frequency

    def step(self, *args: Any) -> None:
        self.scheduler.step(*args)

    def get_last_lr(self) -> Any:
        return self.scheduler.get_last_lr()

    def step_if(self, mode: StepMode, count: int) -> None:
        """`count`: how many of the mode's units lie behind the training."""
        if self.step_mode is mode and count % self._frequency == 0:
            self.scheduler.step()
