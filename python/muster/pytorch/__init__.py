"""Training with PyTorch: the same model code for one process and for many, stopped and resumed bit for bit.

    from muster import pytorch

    with pytorch.init() as context:
        pytorch.Trainer(MyTrial(context), context).fit(max_length=pytorch.Epoch(10), validation_period=pytorch.Epoch(1))

The shapes are those of Determined's PyTorch API. docs/reference/pytorch_trainer.md is the manual.
"""
try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError("muster.pytorch needs PyTorch, which is not installed; muster.core works without it") from error

from muster.pytorch.callbacks import PyTorchCallback
from muster.pytorch.context import PyTorchTrialContext, init
from muster.pytorch.data import DataLoader, sample_generator
from muster.pytorch.loop import LoopState
from muster.pytorch.reducers import MetricReducer, Reducer
from muster.pytorch.schedules import LRScheduler, StepMode
from muster.pytorch.trainer import FitResult, Trainer
from muster.pytorch.trial import PyTorchTrial
from muster.pytorch.units import Batch, Epoch, Position, Record, TrainUnit

__all__ = [
    "Batch", "DataLoader", "Epoch", "FitResult", "LRScheduler", "LoopState", "MetricReducer", "Position", "PyTorchCallback",
    "PyTorchTrial", "PyTorchTrialContext", "Record", "Reducer", "StepMode", "TrainUnit", "Trainer", "init",
    "sample_generator"]
