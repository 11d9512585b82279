"""What a checkpoint of the Trainer holds, and how it comes back.

    state.pt      {"models", "modes", "optimizers", "schedulers", "scaler", "callbacks"}: of all ranks, written by rank 0
    rank-N.pt     {"random", "gradients", "sums", "reducers"}: rank N's generators, the gradients it has gathered for a step
                  to come (None between steps), and the metrics of the reporting period under way
    trainer.json  {"format", "position", "fingerprint", ...}: see TrainerState

It is read by torch.load, which runs what a file tells it to: load checkpoints of your own alone.
"""
from __future__ import annotations

import inspect
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence

import torch

from muster.core.errors import CheckpointError, CorruptionError
from muster.pytorch import random_state
from muster.pytorch.callbacks import Callbacks
from muster.pytorch.context import PyTorchTrialContext
from muster.pytorch.reducers import MetricSums
from muster.pytorch.units import Position

STATE, TRAINER = "state.pt", "trainer.json"
FORMAT = 1


def rank_file(rank: int) -> str:
    return f"rank-{rank}.pt"


@dataclass
class TrainerState:
    """What the Trainer itself remembers. Of the metric that is judged, `best` and `latest`. `is_validated`: whether the
    validation at `position` is behind it. `is_ended`: the trial itself asked for the end there."""
    position: Position = field(default_factory=Position)
    best: Optional[float] = None
    latest: Optional[float] = None
    is_validated: bool = False
    is_ended: bool = False
    fingerprint: Dict[str, Any] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        document = {"format": FORMAT, **vars(self), "position": self.position.to_dict()}
        (folder / TRAINER).write_text(json.dumps(document, indent=1), encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> "TrainerState":
        """Errors: CheckpointError when it is none of the Trainer's, or of a format to come; CorruptionError."""
        path = folder / TRAINER
        if not path.is_file():
            raise CheckpointError(f"{folder} has no {TRAINER}: the Trainer did not write it, and cannot resume from it")
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            kind = document.pop("format")
            if kind != FORMAT:
                raise CheckpointError(f"{path} is of format {kind}, and this package reads {FORMAT}")
            return cls(**{**document, "position": Position(**document["position"])})
        except (ValueError, KeyError, TypeError) as error:
            raise CorruptionError(f"{path} does not hold a Trainer's state: {error!r}") from error


def read_tensors(path: Path) -> Any:
    """Whatever torch.save wrote, with its tensors on the CPU. Errors: CorruptionError."""
    options: Dict[str, Any] = {"map_location": "cpu"}
    if "weights_only" in inspect.signature(torch.load).parameters:
        options["weights_only"] = False
    try:
        return torch.load(path, **options)
    except Exception as error:  # pylint: disable=broad-except
        raise CorruptionError(f"{path} cannot be read: {type(error).__name__}: {error}") from error


class SavedState:
    """Everything of one rank that a checkpoint keeps, gathered and set back."""

    def __init__(self, context: PyTorchTrialContext, callbacks: Callbacks, sums: MetricSums) -> None:
        self._context = context
        self._callbacks = callbacks
        self._sums = sums

    # ---- writing ----

    def shared(self) -> Dict[str, Any]:
        context = self._context
        return {"models": [model.state_dict() for model in context.models],
                "modes": [modes_of(model) for model in context.models],
                "optimizers": [optimizer.state_dict() for optimizer in context.optimizers],
                "schedulers": [each.scheduler.state_dict() for each in context.schedulers],
                "scaler": None if context.scaler is None else context.scaler.state_dict(),
                "callbacks": self._callbacks.state_dicts()}

    def of_rank(self) -> Dict[str, Any]:
        gathered = [[None if parameter.grad is None else parameter.grad.cpu() for parameter in model.parameters()]
                    for model in self._context.models]
        has_any = any(gradient is not None for gradients in gathered for gradient in gradients)
        return {"random": random_state.capture(self._context.device), "gradients": gathered if has_any else None,
                "sums": self._sums.state_dict(), "reducers": self._context.reducers.state_dicts()}

    def write(self, folder: Path, state: TrainerState, shared: Mapping[str, Any]) -> None:
        """This rank's files. `shared` and `state` are written by rank 0."""
        rank = self._context.distributed.rank
        torch.save(self.of_rank(), folder / rank_file(rank))
        if rank == 0:
            torch.save(dict(shared), folder / STATE)
            state.write(folder)

    # ---- reading ----

    def load_shared(self, saved: Mapping[str, Any]) -> None:
        """Errors: CheckpointError when the trial wraps another number of things than were saved; those of torch when they
        are of other shapes."""
        context = self._context
        for name, mine in (("models", context.models), ("optimizers", context.optimizers),
                           ("schedulers", context.schedulers)):
            if len(mine) != len(saved[name]):
                raise CheckpointError(f"the checkpoint holds {len(saved[name])} {name}, and the trial wraps {len(mine)}")
        if (context.scaler is None) != (saved["scaler"] is None):
            was, now = ("out", "is") if saved["scaler"] is None else ("", "is not")
            raise CheckpointError(f"the checkpoint was made with{was} a gradient scaler, and the trial {now}")
        for model, state in zip(context.models, saved["models"]):
            model.load_state_dict(state)
        for model, modes in zip(context.models, saved["modes"]):
            set_modes(model, modes)
        for optimizer, state in zip(context.optimizers, saved["optimizers"]):
            load_optimizer(optimizer, state)
        for scheduler, state in zip(context.schedulers, saved["schedulers"]):
            scheduler.scheduler.load_state_dict(state)
        if context.scaler is not None:
            context.scaler.load_state_dict(saved["scaler"])
        self._callbacks.load_state_dicts(saved["callbacks"])

    def load_weights(self, saved: Mapping[str, Any]) -> None:
        """Of another trial: its models, and what its optimizers remember of each parameter. Settings, schedules and counts are this
        trial's own. Errors: as load_shared."""
        context = self._context
        for name, mine in (("models", context.models), ("optimizers", context.optimizers)):
            if len(mine) != len(saved[name]):
                raise CheckpointError(f"the checkpoint holds {len(saved[name])} {name}, and the trial wraps {len(mine)}")
        for model, state in zip(context.models, saved["models"]):
            model.load_state_dict(state)
        for optimizer, state in zip(context.optimizers, saved["optimizers"]):
            load_optimizer(optimizer, with_own_settings(optimizer, state))

    def load_rank(self, saved: Mapping[str, Any]) -> None:
        """All but the generators, which `load_random` sets at the very last."""
        for model, gathered in zip(self._context.models, saved["gradients"] or []):
            for parameter, gradient in zip(model.parameters(), gathered):
                parameter.grad = None if gradient is None else gradient.to(parameter.device)
        self._sums.load_state_dict(saved["sums"])
        self._context.reducers.load_state_dicts(saved["reducers"])

    def load_random(self, saved: Mapping[str, Any]) -> None:
        random_state.restore(saved["random"], self._context.device)


def modes_of(model: torch.nn.Module) -> List[bool]:
    """Which of its modules are in training mode, in the order of modules()."""
    return [module.training for module in model.modules()]


def set_modes(model: torch.nn.Module, modes: Sequence[bool]) -> None:
    for module, is_training in zip(model.modules(), modes):
        module.training = is_training


def with_own_settings(optimizer: torch.optim.Optimizer, saved: Mapping[str, Any]) -> Dict[str, Any]:
    """What was saved, but for the settings of each group: learning rate, momentum and so on."""
    own = optimizer.state_dict()["param_groups"]
    groups = [{**mine, "params": theirs["params"]} for mine, theirs in zip(own, saved["param_groups"])]
    if len(own) != len(saved["param_groups"]):
        raise CheckpointError(f"the checkpoint's optimizer has {len(saved['param_groups'])} groups, and this one {len(own)}")
    return {**saved, "param_groups": groups}


def load_optimizer(optimizer: torch.optim.Optimizer, saved: Mapping[str, Any]) -> None:
    """As its load_state_dict, but state tensors keep the type they were saved with, where torch casts them to the
    parameter's."""
    optimizer.load_state_dict(dict(saved))
    parameters: List[torch.Tensor] = [each for group in optimizer.param_groups for each in group["params"]]
    places = [place for group in saved["param_groups"] for place in group["params"]]
    for parameter, place in zip(parameters, places):
        for name, value in saved["state"].get(place, {}).items():
            now = optimizer.state[parameter].get(name)
            if isinstance(value, torch.Tensor) and isinstance(now, torch.Tensor) and now.dtype != value.dtype:
                optimizer.state[parameter][name] = value.to(now.device)
