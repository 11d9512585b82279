"""A callback for the Trainer of Hugging Face transformers: reports, checkpoints, stops, and where to go on.

    from muster import core
    from muster.adapters.transformers import MusterCallback

    with core.init() as context:
        muster = MusterCallback(context)
        trainer = Trainer(model, TrainingArguments("out", save_strategy="steps", save_steps=100, report_to=[]), ...,
                          callbacks=[muster])
        trainer.train(resume_from_checkpoint=muster.checkpoint_path)

A trial that begins with another's weights (MUSTER_SOURCE_CHECKPOINT) gets them when the Trainer is made; its steps, optimizer and
schedule begin anew.

Written against the documented TrainerCallback. The Trainer writes its checkpoints into its output folder as always, and each
becomes one of Muster's, whole or not there.
"""
from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, Dict, Mapping, Optional, Tuple

from muster import core
from muster.adapters.weights import load_weights, read_weights

try:
    from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
except ImportError as error:
    raise ImportError("muster.adapters.transformers needs the package transformers, which is not installed") from error

_LEFT_OUT = re.compile(r"(_runtime|_per_second)$|^total_flos$|^epoch$|^train_")  # times, and the summary of one process


class MusterCallback(TrainerCallback):  # type: ignore[misc]
    """Reports what the Trainer logs, by its global_step; measures of time and speed are left out.

    The Trainer resumes models, optimizers, schedules, generators and its place in the data exactly; but it forgets the
    losses since its last log, so that the first training loss it logs after resuming is the mean of fewer steps.
    Asked to stop, it lets the Trainer save after the step under way, and end. All ranks construct it.
    """

    def __init__(self, context: core.Context) -> None:
        self._context = context
        self._stored = -1
        self._begun: Any = None  # the model that has another trial's weights
        self.is_stopped = False
        """Whether train() ended because a stop was asked."""

    @property
    def checkpoint_path(self) -> Optional[str]:
        """For train(resume_from_checkpoint=...): a folder; None of a new training, with another's weights or without."""
        start = self._context.info.latest_checkpoint
        if start is None or self._context.info.is_warm_start:
            return None
        return str(self._context.checkpoint.hold_path(start))

    # ---- what the Trainer calls ----

    def on_init_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """Before the model is wrapped or divided. Errors: CheckpointError when the other trial's weights do not fit."""
        self._load_weights(kwargs.get("model"))

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        self._load_weights(kwargs.get("model"))  # of a callback that came late, or a model that was made anew
        self._stored = state.global_step

    def on_log(self, args: TrainingArguments, state: TrainerState, control: TrainerControl,
               logs: Optional[Mapping[str, Any]] = None, **kwargs: Any) -> None:
        if self._context.distributed.rank != 0 or not logs:
            return
        training, validation = split_logs(logs)
        if training:
            self._context.train.report_training_metrics(state.global_step, training)
        if validation:
            self._context.train.report_validation_metrics(state.global_step, validation)
        if state.max_steps > 0:
            self._context.train.report_progress(min(1.0, state.global_step / state.max_steps))

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl,
                    **kwargs: Any) -> TrainerControl:
        if self._context.preempt.should_preempt():
            self.is_stopped = True
            control.should_save = True
            control.should_training_stop = True
        return control

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """Called on every rank, each of which may have written files of its own."""
        if state.global_step == self._stored:
            return
        self._stored = state.global_step
        folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        is_chief = self._context.distributed.rank == 0
        is_writer = self._context.distributed.local_rank == 0 and os.path.isdir(folder)
        self._context.checkpoint.upload(
            folder if is_writer else None, {"steps_completed": state.global_step, "framework": "transformers"}
            if is_chief else None, shard=True)

    def _load_weights(self, model: Any) -> None:
        start = self._context.info.latest_checkpoint
        if start is None or not self._context.info.is_warm_start or model is None or model is self._begun:
            return
        with self._context.checkpoint.restore_path(start) as folder:
            load_weights(model, read_weights(folder, start), start, tied=getattr(model, "_tied_weights_keys", None) or ())
        self._begun = model


def split_logs(logs: Mapping[str, Any]) -> Tuple[Dict[str, Any], Dict[str, Any]]:
    """(training metrics, validation metrics): the Trainer's evaluation logs begin with "eval_". Pure."""
    training: Dict[str, Any] = {}
    validation: Dict[str, Any] = {}
    for name, value in logs.items():
        if isinstance(value, (int, float)) and not _LEFT_OUT.search(name):
            (validation if name.startswith("eval_") else training)[name] = value
    return training, validation
