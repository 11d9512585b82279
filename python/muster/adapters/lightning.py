"""A Lightning callback that reports metrics, keeps checkpoints, stops when asked and goes on where it stopped.

    from muster import core
    from muster.adapters.lightning import MusterCallback

    with core.init() as context:
        muster = MusterCallback(context)
        trainer = Trainer(callbacks=[muster], enable_checkpointing=False, logger=False, max_epochs=10)
        trainer.fit(model, data, ckpt_path=muster.checkpoint_path)

A trial that begins with another's weights (MUSTER_SOURCE_CHECKPOINT) gets them before it trains; its steps, its optimizers and
its generators begin anew.

Works with `lightning` and with `pytorch_lightning`, 2.0 or newer: written against their callbacks' documented interface.
With several ranks give core.init() a DistributedContext; all ranks construct the callback.
"""
from __future__ import annotations

import signal
import tempfile
import threading
from pathlib import Path
from typing import Any, Dict, Mapping, Optional

from muster import core
from muster.adapters.weights import load_weights
from muster.core import CheckpointError
from muster.core.preempt import SignalSource
from muster.pytorch import random_state
from muster.pytorch.saved_state import read_tensors

try:
    from lightning.pytorch import Callback, LightningModule, Trainer
except ImportError:
    try:
        from pytorch_lightning import Callback, LightningModule, Trainer
    except ImportError as error:
        raise ImportError("muster.adapters.lightning needs Lightning: neither lightning nor pytorch_lightning is "
                          "installed") from error

import torch

FILE = "lightning.ckpt"


class MusterCallback(Callback):  # type: ignore[misc]
    """Reports Lightning's logged metrics by its global_step; training metrics every `report_every` steps.

    A checkpoint is written every `checkpoint_every` steps, if given, after each validation with `checkpoint_validations`,
    at the end, and when a stop is asked, after the batch under way. Every rank's generators are in it. Between epochs it
    goes on exactly, if the data loaders have generators of their own; within one, Lightning begins the loader anew for the
    batches that are left, which is not exact.
    """

    def __init__(self, context: core.Context, report_every: int = 50, checkpoint_every: Optional[int] = None,
                 checkpoint_validations: bool = True) -> None:
        """Errors: ValueError for periods that are not above 0."""
        super().__init__()
        for name, period in (("report_every", report_every), ("checkpoint_every", checkpoint_every)):
            if period is not None and period < 1:
                raise ValueError(f"{name} is {period!r}; it is a number of steps above 0")
        self._context = context
        self._report_every = report_every
        self._checkpoint_every = checkpoint_every
        self._checkpoint_validations = checkpoint_validations
        self._saved_step = self._resumed_step = -1
        self._reported_step = -1
        self._is_begun = False  # with another trial's weights
        self._random: Optional[Dict[str, Any]] = None
        self._handler = signal.getsignal(signal.SIGTERM)
        self.is_stopped = False
        """Whether fit() ended because a stop was asked."""

    @property
    def checkpoint_path(self) -> Optional[str]:
        """For fit(ckpt_path=...): the file to go on from; None of a new training, with another's weights or without."""
        start = self._context.info.latest_checkpoint
        if start is None or self._context.info.is_warm_start:
            return None
        return str(self._context.checkpoint.hold_path(start) / FILE)

    # ---- what Lightning calls ----

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Errors: CheckpointError when the other trial's weights do not fit."""
        if stage == "fit" and any(True for _ in pl_module.parameters()):
            self._load_weights(pl_module)

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._load_weights(pl_module)  # of a module that is built late

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._restore_signal()
        start = self._context.info.latest_checkpoint
        if start is None or self._context.info.is_warm_start:
            return
        self._saved_step = self._resumed_step = trainer.global_step
        with self._context.checkpoint.restore_path(start) as folder:
            own = folder / self._rank_file()
            self._random = read_tensors(own)["random"] if own.is_file() else None

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        if self._random is not None:  # only now, for making the loaders' iterators draws from the generators
            random_state.restore(self._random, pl_module.device)
            self._random = None

    def on_train_batch_end(self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any,
                           batch_idx: int) -> None:
        step = trainer.global_step
        if step % self._report_every == 0 and step != self._reported_step:
            self._reported_step = step
            self._report(trainer, "training", trainer.callback_metrics)
        if self._checkpoint_every is not None and step % self._checkpoint_every == 0:
            self._save(trainer, pl_module)
        if self._context.preempt.should_preempt():
            self.is_stopped = True
            trainer.should_stop = True
            if not trainer.is_last_batch:  # else when the epoch has ended, for Lightning goes on best from there
                self._save(trainer, pl_module)

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if self.is_stopped:
            self._save(trainer, pl_module)

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        # Lightning validates once more, on a part of the data, when it goes on after an epoch's end.
        if trainer.sanity_checking or trainer.global_step == self._resumed_step:
            return
        self._report(trainer, "validation", trainer.callback_metrics)
        if self._checkpoint_validations and not self.is_stopped:
            self._save(trainer, pl_module)

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if not self.is_stopped:
            self._save(trainer, pl_module)
        if self._context.distributed.rank == 0 and trainer.max_steps > 0:
            self._context.train.report_progress(min(1.0, trainer.global_step / trainer.max_steps))

    # ---- how ----

    def _load_weights(self, pl_module: LightningModule) -> None:
        """Another trial's, once, where there is nothing of its own."""
        start = self._context.info.latest_checkpoint
        if start is None or not self._context.info.is_warm_start or self._is_begun:
            return
        with self._context.checkpoint.restore_path(start) as folder:
            if not (folder / FILE).is_file():
                raise CheckpointError(f"checkpoint {start} holds no {FILE}: it is not one of Lightning's")
            load_weights(pl_module, read_tensors(folder / FILE)["state_dict"], start)
        self._is_begun = True

    def _restore_signal(self) -> None:
        """Lightning ends with an exception upon SIGTERM, at some later point; here it asks for a stop in good order."""
        is_ours = isinstance(getattr(self._handler, "__self__", None), SignalSource)
        if is_ours and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, self._handler)

    def _report(self, trainer: Trainer, group: str, metrics: Mapping[str, Any]) -> None:
        """Lightning keeps one dict: what it holds of the other group is left out by the names' first word."""
        if self._context.distributed.rank != 0:
            return
        numbers = _numbers({name: value for name, value in metrics.items()
                            if _is_validation(name) == (group == "validation")})
        if numbers:
            self._context.train.report_metrics(group, trainer.global_step, numbers)

    def _save(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Once per step. All ranks call it."""
        step = trainer.global_step
        if step == self._saved_step:
            return
        self._saved_step = step
        rank = self._context.distributed.rank
        metadata = {"steps_completed": step, "framework": "lightning"} if rank == 0 else None
        with tempfile.TemporaryDirectory() as scratch:
            # Lightning writes on rank 0 alone, but all ranks must take part.
            trainer.save_checkpoint(Path(scratch) / FILE)
            with self._context.checkpoint.store_path(metadata, shard=True) as (folder, _):
                if rank == 0:
                    (folder / FILE).write_bytes((Path(scratch) / FILE).read_bytes())
                torch.save({"random": random_state.capture(pl_module.device)}, folder / self._rank_file())

    def _rank_file(self) -> str:
        return f"rank-{self._context.distributed.rank}.pt"


def _is_validation(name: str) -> bool:
    return name.startswith(("val", "test"))


def _numbers(metrics: Mapping[str, Any]) -> Dict[str, float]:
    """Those that are one number, NaN too."""
    found = {}
    for name, value in metrics.items():
        try:
            found[name] = float(value)
        except (TypeError, ValueError, RuntimeError):
            continue
    return found
