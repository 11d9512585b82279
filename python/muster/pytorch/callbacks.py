"""What a trial can be told of while it trains. The names are those of Determined's PyTorchCallback."""
from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, Mapping, Optional


class PyTorchCallback:
    """Override what you need. Every method is called on all ranks, at the same points."""

    def on_trial_startup(self, first_batch_idx: int, checkpoint_uuid: Optional[str]) -> None:
        """Before anything else, each time a process begins. `first_batch_idx`: how many batches lie behind."""

    def on_training_start(self) -> None:
        """After the checkpoint was loaded, before the first batch of this process."""

    def on_training_epoch_start(self, epoch_idx: int) -> None:
        """Once per epoch: not again when a training resumes in its midst."""

    def on_training_workload_end(self, avg_metrics: Mapping[str, Any]) -> None:
        """Training metrics of a reporting period, reduced over all ranks."""

    def on_training_epoch_end(self, epoch_idx: int) -> None: ...

    def on_validation_start(self) -> None: ...

    def on_validation_end(self, metrics: Mapping[str, Any]) -> None:
        """Metrics reduced over all ranks."""

    def on_checkpoint_load_start(self, checkpoint: Dict[str, Any]) -> None:
        """The loaded state.pt, before models and optimizers take from it."""

    def on_checkpoint_save_start(self, checkpoint: Dict[str, Any]) -> None:
        """What is about to be written to state.pt; add to it. Rank 0's is what is kept."""

    def on_checkpoint_write_end(self, checkpoint_dir: Path) -> None:
        """This rank's files are written, into this folder of its own; more of them may be added."""

    def on_checkpoint_upload_end(self, uuid: str) -> None:
        """The checkpoint is whole."""

    def on_training_end(self) -> None:
        """The training has come to its length: not called when it was stopped."""

    def on_trial_shutdown(self) -> None:
        """However this process's training ends, short of its death."""

    def state_dict(self) -> Dict[str, Any]:
        """What a checkpoint keeps. Rank 0's is what is kept."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None: ...


class Callbacks:
    """Those of one trial, by name, told in their order."""

    def __init__(self, named: Mapping[str, PyTorchCallback]) -> None:
        """Errors: TypeError for what is no callback."""
        for name, callback in named.items():
            if not isinstance(callback, PyTorchCallback):
                raise TypeError(f"callback {name!r} is a {type(callback).__name__}; derive it from PyTorchCallback")
        self._named = dict(named)

    def notify(self, event: str, *args: Any) -> None:
        for callback in self._named.values():
            getattr(callback, event)(*args)

    def state_dicts(self) -> Dict[str, Any]:
        return {name: callback.state_dict() for name, callback in self._named.items()}

    def load_state_dicts(self, states: Mapping[str, Any]) -> None:
        """A callback of which the checkpoint knows nothing stays as it is."""
        for name, callback in self._named.items():
            if name in states:
                callback.load_state_dict(states[name])
