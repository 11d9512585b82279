"""`PyTorchTrial`: what a model's author writes, once, for one process and for many."""
from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any, Dict, Mapping, Union

from muster.pytorch.callbacks import PyTorchCallback
from muster.pytorch.data import DataLoader
from muster.pytorch.reducers import Reducer, ReducerChoice

if TYPE_CHECKING:
    import torch

    from muster.pytorch.context import PyTorchTrialContext


class PyTorchTrial(abc.ABC):
    """A model, its data and one step of training. Its __init__ wraps models, optimizers and schedules with the context:

        def __init__(self, context):
            self.context = context
            self.model = context.wrap_model(Net())
            self.optimizer = context.wrap_optimizer(torch.optim.Adam(self.model.parameters()))

        def train_batch(self, batch, epoch_idx, batch_idx):
            loss = loss_of(self.model(batch))
            self.context.backward(loss)
            self.context.step_optimizer(self.optimizer)
            return {"loss": loss}
    """

    @abc.abstractmethod
    def __init__(self, context: "PyTorchTrialContext") -> None:
        """Called on every rank, with the same generators' states on all."""

    @abc.abstractmethod
    def build_training_data_loader(self) -> DataLoader: ...

    def build_validation_data_loader(self) -> DataLoader:
        """Needed where there is anything to validate."""
        raise NotImplementedError(f"{type(self).__name__} has no build_validation_data_loader, which validation needs")

    @abc.abstractmethod
    def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Union["torch.Tensor", Mapping[str, Any]]:
        """One batch of this rank, on its device. `epoch_idx` and `batch_idx` count from 0 since the beginning of the trial.

        The answer is metrics, one number each; a lone tensor is the metric "loss".
        """

    def evaluate_batch(self, batch: Any, batch_idx: int) -> Mapping[str, Any]:
        """Metrics of one validation batch of this rank, in eval mode, without gradients. `batch_idx` counts from 0."""
        raise NotImplementedError(f"{type(self).__name__} has no evaluate_batch, which validation needs")

    def training_reducer(self) -> ReducerChoice:
        """How train_batch's metrics are reduced: one for all, or one per name."""
        return Reducer.AVG

    def evaluation_reducer(self) -> ReducerChoice:
        """The same of evaluate_batch's."""
        return Reducer.AVG

    def build_callbacks(self) -> Dict[str, PyTorchCallback]:
        """By a name of their own, under which a checkpoint keeps their state."""
        return {}
