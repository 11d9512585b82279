"""`init()` and the context a trial works with: what it wraps, the backward pass, the optimizer's step, where it stands."""
from __future__ import annotations

import os
from contextlib import contextmanager, nullcontext
from types import TracebackType
from typing import Any, Callable, ContextManager, Dict, Iterable, Iterator, List, Mapping, Optional, Type, TypeVar, Union

import torch

from muster import core
from muster.core.context import PathLike
from muster.core.storage_settings import StorageValue
from muster.pytorch import gradients, random_state
from muster.pytorch.gradients import GradientMean
from muster.pytorch.process_group import device_of, open_process_group
from muster.pytorch.reducers import FunctionReducer, MetricReducer, NamedReducers
from muster.pytorch.schedules import LRScheduler, StepMode
from muster.pytorch.seeds import derived_seed
from muster.pytorch.units import Position

Model = TypeVar("Model", bound=torch.nn.Module)
Optimizer = TypeVar("Optimizer", bound=torch.optim.Optimizer)
Clip = Callable[[Iterable[torch.Tensor]], Any]


class PyTorchTrialContext:
    """One run of a trial on one rank. Made by `init()`; use it in a `with` statement, from one thread."""

    def __init__(self, run: core.Context, *, hparams: Optional[Mapping[str, Any]], aggregation_frequency: int,
                 average_aggregated_gradients: bool, owns_process_group: bool) -> None:
        self.core = run
        self.distributed = run.distributed
        self.hparams: Dict[str, Any] = dict(run.info.hparams if hparams is None else hparams)
        self.seed = run.info.seed
        self.device = device_of(run.distributed.local_rank)
        self.aggregation_frequency = aggregation_frequency
        self.models: List[torch.nn.Module] = []
        self.optimizers: List[torch.optim.Optimizer] = []
        self.schedulers: List[LRScheduler] = []
        self.reducers = NamedReducers()
        self.scaler: Optional[Any] = None
        self.position = Position()
        self.epoch_length: Optional[int] = None
        self.is_stop_requested = False
        self._is_scaler_used = False  # in the batch under way
        self._averages = average_aggregated_gradients
        self._owns_process_group = owns_process_group
        self._means: List[GradientMean] = []
        self._autocast_type: Optional[torch.dtype] = None

    def __enter__(self) -> "PyTorchTrialContext":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> None:
        try:
            self.core.__exit__(kind, error, traceback)
        finally:
            if self._owns_process_group and torch.distributed.is_initialized():
                torch.distributed.destroy_process_group()

    # ---- what a trial wraps, on all ranks in the same order ----

    def wrap_model(self, model: Model) -> Model:
        """Moves it to this rank's device, with rank 0's parameters and buffers, and keeps it in checkpoints.

        The answer is the same model: gradients meet in `step_optimizer`, buffers after each batch, from rank 0.
        """
        model.to(self.device)
        if self.distributed.size > 1:
            gradients.broadcast_from_chief([*model.parameters(), *model.buffers()])
        self.models.append(model)
        return model

    def wrap_optimizer(self, optimizer: Optimizer) -> Optimizer:
        """Requires: it was made of the parameters of a wrapped model. Errors: ValueError otherwise."""
        known = {id(parameter) for model in self.models for parameter in model.parameters()}
        strangers = sum(id(parameter) not in known for parameter in gradients.trained_parameters(optimizer))
        if strangers:
            raise ValueError(f"{type(optimizer).__name__} has {strangers} parameters of no wrapped model; call wrap_model() "
                             "first, and make the optimizer of what it returns")
        self.optimizers.append(optimizer)
        self._means.append(GradientMean(self.distributed.size))
        return optimizer

    def wrap_lr_scheduler(self, lr_scheduler: Any, step_mode: StepMode = StepMode.STEP_EVERY_EPOCH,
                          frequency: int = 1) -> LRScheduler:
        """Errors: ValueError when its optimizer is not wrapped, or for a wrong mode or frequency."""
        optimizer = getattr(lr_scheduler, "optimizer", None)
        if not any(optimizer is each for each in self.optimizers):
            raise ValueError(f"the optimizer of {type(lr_scheduler).__name__} is not wrapped; call wrap_optimizer() first")
        wrapped = LRScheduler(lr_scheduler, step_mode, frequency)
        self.schedulers.append(wrapped)
        return wrapped

    def wrap_reducer(self, reducer: Union[MetricReducer, Callable[[List[Any]], Any]], name: Optional[str] = None,
                     for_training: bool = True, for_validation: bool = True) -> Any:
        """A metric that is no mean. A function gets the flat list of what was given to `.update(value)` of the answer.

        Errors: ValueError for a function without a name.
        """
        if not isinstance(reducer, MetricReducer):
            if name is None:
                raise ValueError("a function that reduces a metric needs the metric's name: "
                                 "wrap_reducer(function, name=...)")
            reducer = FunctionReducer(reducer)
        self.reducers.add(reducer, name, for_training, for_validation)
        return reducer

    def use_amp(self, dtype: Optional[torch.dtype] = None) -> None:
        """Mixed precision: train_batch and evaluate_batch run under autocast. float16 with a gradient scaler on a GPU, which
        is the default there; bfloat16 on either. Errors: ValueError for float16 on the CPU, which autocast does not have."""
        if dtype is None:
            dtype = torch.float16 if self.device.type == "cuda" else torch.bfloat16
        if dtype not in (torch.float16, torch.bfloat16):
            raise ValueError(f"autocast to {dtype}: it is torch.float16 or torch.bfloat16")
        if dtype is torch.float16 and self.device.type != "cuda":
            raise ValueError("autocast to torch.float16 needs a GPU; on the CPU take torch.bfloat16")
        self._autocast_type = dtype
        if dtype is torch.float16:
            self.wrap_scaler(torch.cuda.amp.GradScaler())

    def wrap_scaler(self, scaler: Any) -> Any:
        """A gradient scaler of one's own; `backward` and `step_optimizer` use it, checkpoints keep it."""
        self.scaler = scaler
        return scaler

    def autocast(self) -> ContextManager[Any]:
        """What train_batch runs under; does nothing without `use_amp`."""
        if self._autocast_type is None:
            return nullcontext()
        return torch.autocast(self.device.type, dtype=self._autocast_type)

    @property
    def precision(self) -> str:
        return "float32" if self._autocast_type is None else str(self._autocast_type).replace("torch.", "")

    # ---- within train_batch ----

    def backward(self, loss: torch.Tensor, **options: Any) -> None:
        """Adds to the gradients. With aggregation the loss counts by its share; scaled where a scaler is.

        `options` are those of Tensor.backward.
        """
        if self.aggregation_frequency > 1 and self._averages:
            loss = loss / self.aggregation_frequency
        if self.scaler is not None:
            loss = self.scaler.scale(loss)
        with self._without_autocast():
            loss.backward(**options)

    def step_optimizer(self, optimizer: torch.optim.Optimizer, clip_grads: Optional[Clip] = None,
                       auto_zero_grads: bool = True) -> None:
        """Averages the gradients of all ranks, clips them, takes the step; nothing before `aggregation_frequency` batches.

        `clip_grads` gets the optimizer's parameters: lambda parameters: torch.nn.utils.clip_grad_norm_(parameters, 1.0).
        Errors: ValueError for an optimizer that is not wrapped.
        """
        place = next((place for place, each in enumerate(self.optimizers) if each is optimizer), None)
        if place is None:
            raise ValueError(f"this {type(optimizer).__name__} is not wrapped; call wrap_optimizer() in the trial's "
                             "__init__")
        if not self.is_aggregation_end():
            return
        with self._without_autocast():
            self._step(optimizer, self._means[place], clip_grads)
        if auto_zero_grads:
            optimizer.zero_grad(set_to_none=True)

    def _step(self, optimizer: torch.optim.Optimizer, mean: GradientMean, clip_grads: Optional[Clip]) -> None:
        parameters = gradients.trained_parameters(optimizer)
        mean.average(parameters)
        if self.scaler is not None:
            self.scaler.unscale_(optimizer)
        if clip_grads is not None:
            clip_grads(parameters)
        if self.scaler is not None:
            self.scaler.step(optimizer)
            self._is_scaler_used = True
        else:
            optimizer.step()

    @contextmanager
    def _without_autocast(self) -> Iterator[None]:
        """What autocast remembers of the weights is of no use once they have changed."""
        if self._autocast_type is None:
            yield
            return
        with torch.autocast(self.device.type, enabled=False):
            yield
        torch.clear_autocast_cache()

    def is_aggregation_end(self) -> bool:
        """Whether the batch under way is the last of those whose gradients add up to one step."""
        return (self.position.batches + 1) % self.aggregation_frequency == 0

    def to_device(self, batch: Any) -> Any:
        """The tensors in nested lists, tuples, dicts, and whatever has .to(), on this rank's device."""
        return _moved(batch, self.device)

    # ---- where it stands ----

    def current_train_batch(self) -> int:
        """The batch under way, from 0 since the beginning of the trial."""
        return self.position.batches

    def current_train_epoch(self) -> int:
        return self.position.epochs

    def is_epoch_start(self) -> bool:
        """Whether the batch under way is the first of its epoch."""
        return self.position.epoch_batches == 0

    def is_epoch_end(self) -> bool:
        """Whether it is the last."""
        return self.epoch_length is not None and self.position.epoch_batches + 1 == self.epoch_length

    def get_hparam(self, name: str) -> Any:
        """Errors: ValueError that says which there are."""
        if name not in self.hparams:
            raise ValueError(f"there is no hyperparameter {name!r}; there are {sorted(self.hparams) or 'none'}")
        return self.hparams[name]

    def set_stop_requested(self) -> None:
        """The training is to end, as one that has come far enough. Any rank may; heard at the next report, validation or
        end of an epoch, at each batch where there is but one rank."""
        self.is_stop_requested = True

    # ---- for the Trainer ----

    def synchronize_buffers(self) -> None:
        """Running statistics and the like become rank 0's."""
        if self.distributed.size > 1:
            buffers = [buffer for model in self.models for buffer in model.buffers()]
            if buffers:
                gradients.broadcast_from_chief(buffers)

    def after_batch(self) -> None:
        """What follows train_batch by itself. Requires: `position` still counts the batch as under way."""
        if self.scaler is not None and self._is_scaler_used:
            self.scaler.update()
            self._is_scaler_used = False
        self.synchronize_buffers()


def _moved(value: Any, device: torch.device) -> Any:
    if hasattr(value, "to") and callable(value.to):
        return value.to(device, non_blocking=True) if isinstance(value, torch.Tensor) else value.to(device)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_moved(item, device) for item in value))
    if isinstance(value, (list, tuple)):
        return type(value)(_moved(item, device) for item in value)
    if isinstance(value, dict):
        return {name: _moved(item, device) for name, item in value.items()}
    return value


def init(*, hparams: Optional[Mapping[str, Any]] = None, distributed: Optional[core.DistributedContext] = None,
         aggregation_frequency: int = 1, average_aggregated_gradients: bool = True, deterministic: bool = False,
         checkpoint_storage: Optional[StorageValue] = None, run_dir: Optional[PathLike] = None) -> PyTorchTrialContext:
    """Begins a run on every rank: joins the ranks that the launcher started, and seeds all generators the same.

    `hparams`: default MUSTER_HPARAMS. `distributed`: default the ranks of torch's process group, which is made here if need
    be. `aggregation_frequency`: so many batches' gradients add up to one optimizer step, averaged unless told otherwise.
    `deterministic`: torch refuses operations that cannot repeat themselves, which exact resuming on a GPU needs.
    Errors: ValueError, and those of core.init().
    """
    if isinstance(aggregation_frequency, bool) or not isinstance(aggregation_frequency, int) or aggregation_frequency < 1:
        raise ValueError(f"aggregation_frequency is {aggregation_frequency!r}; it is a whole number above 0")
    if deterministic:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.use_deterministic_algorithms(True)
        torch.backends.cudnn.benchmark = False
    owns_process_group = False
    if distributed is not None and distributed.size > 1 and not torch.distributed.is_initialized():
        raise ValueError(f"{distributed.size} ranks need torch's process group: leave `distributed` out, or call "
                         "torch.distributed.init_process_group() first")
    if distributed is None:
        owns_process_group, distributed = open_process_group()
    try:
        run = core.init(distributed=distributed, checkpoint_storage=checkpoint_storage, run_dir=run_dir)
    except BaseException:
        if owns_process_group:
            torch.distributed.destroy_process_group()
        raise
    random_state.seed_all(derived_seed(run.info.seed, "setup"))
    return PyTorchTrialContext(run, hparams=hparams, aggregation_frequency=aggregation_frequency,
                               average_aggregated_gradients=average_aggregated_gradients,
                               owns_process_group=owns_process_group)
