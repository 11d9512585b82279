"""`LoopState`: exact checkpoints for a training loop of one's own."""
from __future__ import annotations

import logging
from typing import Any, Dict, Mapping, Optional, Tuple

import torch

from muster import core
from muster.core.errors import CheckpointError
from muster.pytorch import fingerprint, random_state
from muster.pytorch.process_group import device_of
from muster.pytorch.saved_state import STATE, load_optimizer, rank_file, read_tensors, with_own_settings

_log = logging.getLogger("muster")


class LoopState:
    """What a loop needs to go on where it stopped: whatever has state_dict(), and every rank's generators.

        state = LoopState(context, model=model, optimizer=optimizer, scheduler=scheduler)
        for step in range(state.restore(), 1000):
            ...
            if context.preempt.should_preempt():
                state.save(step + 1)
                break

    The order of the samples must follow from the step: the loop's own business. All ranks call its methods.
    """

    def __init__(self, context: core.Context, **parts: Any) -> None:
        """Errors: TypeError for a part without state_dict() and load_state_dict()."""
        for name, part in parts.items():
            if not hasattr(part, "state_dict") or not hasattr(part, "load_state_dict"):
                raise TypeError(f"{name} is a {type(part).__name__}, which has no state_dict() and load_state_dict()")
        self._context = context
        self._parts = parts
        self._device = device_of(context.distributed.local_rank)
        self.inexact: Optional[Tuple[str, ...]] = None
        """After `restore`: why going on may not be exact; empty when it is, None when there was nothing to restore."""

    def save(self, steps_completed: int, metadata: Optional[Mapping[str, Any]] = None) -> str:
        """Writes a checkpoint; the answer is its uuid. Parts are rank 0's."""
        rank = self._context.distributed.rank
        found = self._fingerprint()
        document = {**(metadata or {}), "steps_completed": steps_completed, "fingerprint": found} if rank == 0 else None
        with self._context.checkpoint.store_path(document, shard=True) as (folder, uuid):
            torch.save({"random": random_state.capture(self._device)}, folder / rank_file(rank))
            if rank == 0:
                torch.save({name: part.state_dict() for name, part in self._parts.items()}, folder / STATE)
        return uuid

    def restore(self, checkpoint: Optional[str] = None) -> int:
        """From `checkpoint`, default where this run is to begin; the answer is its steps_completed, 0 of a new training, which
        another trial's checkpoint begins too: of that the models are taken, and what optimizers remember.

        Call it when everything is made, the data's iterator too: the generators must not be drawn from between this and
        the first step. Errors: CheckpointError when it holds other parts than these.
        """
        start = checkpoint or self._context.info.latest_checkpoint
        if start is None:
            return 0
        is_warm = self._context.info.is_warm_start and start == self._context.info.latest_checkpoint
        document = self._context.checkpoint.get_metadata(start)
        with self._context.checkpoint.restore_path(start) as folder:
            saved: Dict[str, Any] = read_tensors(folder / STATE)
            own = folder / rank_file(self._context.distributed.rank)
            of_rank = read_tensors(own) if own.is_file() else None
        if set(saved) != set(self._parts):
            raise CheckpointError(f"checkpoint {start} holds {sorted(saved)}, and this loop has {sorted(self._parts)}")
        for name, part in self._parts.items():
            if isinstance(part, torch.optim.Optimizer):
                load_optimizer(part, with_own_settings(part, saved[name]) if is_warm else saved[name])
            elif not is_warm or isinstance(part, torch.nn.Module):
                part.load_state_dict(saved[name])
        if is_warm:
            return 0
        now = self._fingerprint()
        self.inexact = tuple(fingerprint.differences(document.get("fingerprint", {}), now) + fingerprint.limits(now))
        if self._context.distributed.rank == 0 and self.inexact:
            _log.info("resume from checkpoint %s, not exact: %s", start, "; ".join(self.inexact))
        if of_rank is not None:
            random_state.restore(of_rank["random"], self._device)
        return int(document["steps_completed"])

    def _fingerprint(self) -> Dict[str, Any]:
        ranks = self._context.distributed
        gathered = ranks.allgather((fingerprint.of_process(self._device), ranks.cross_rank))
        return fingerprint.of_ranks(gathered, {"seed": self._context.info.seed})
