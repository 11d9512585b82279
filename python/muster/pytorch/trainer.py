"""`Trainer.fit`: the loop. What is due when, in which order, and how a training ends, is stopped and goes on.

The order at the end of a batch never changes: schedules, training metrics, the epoch's end, validation, checkpoint, stop. So
a checkpoint always means "everything at this position is done", and a resumed training begins with the next batch.
"""
from __future__ import annotations

import json
import logging
import math
from dataclasses import dataclass, field
from typing import Any, Dict, Mapping, Optional, Tuple

import torch

from muster.pytorch import fingerprint, random_state
from muster.pytorch.callbacks import Callbacks
from muster.pytorch.context import PyTorchTrialContext
from muster.pytorch.data import DataLoader, Draw, ShardedLoader
from muster.pytorch.reducers import MetricSums
from muster.pytorch.saved_state import STATE, SavedState, TrainerState, modes_of, rank_file, read_tensors, set_modes
from muster.pytorch.schedules import StepMode
from muster.pytorch.seeds import derived_seed
from muster.pytorch.trial import PyTorchTrial
from muster.pytorch.units import Batch, Position, TrainUnit, check_unit, unit_of

POLICIES = ("best", "all", "none")

_log = logging.getLogger("muster")


@dataclass(frozen=True)
class FitResult:
    """How a call of fit() ended.

    `is_completed`: it came to its length, or the trial asked for the end; otherwise `stop_reason` says who asked it to stop.
    `checkpoint`: the last one written by it. `resumed_from`: where it began. `inexact`: why what was resumed is not promised
    to equal an uninterrupted training bit for bit; empty when it is, None when nothing was resumed. `metrics`: those of its
    last validation.
    """
    is_completed: bool
    position: Position
    stop_reason: Optional[str] = None
    checkpoint: Optional[str] = None
    resumed_from: Optional[str] = None
    inexact: Optional[Tuple[str, ...]] = None
    metrics: Dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class _Settings:
    """fit()'s arguments, checked."""
    max_length: TrainUnit
    validation_period: Optional[TrainUnit]
    checkpoint_period: Optional[TrainUnit]
    reporting_period: Optional[TrainUnit]
    policy: str
    metric: Optional[str]
    smaller_is_better: bool
    step_zero_validation: bool
    is_test: bool


class Trainer:
    """Trains a trial. All ranks make one and call its methods."""

    def __init__(self, trial: PyTorchTrial, context: PyTorchTrialContext) -> None:
        """Errors: TypeError for what is no trial."""
        if not isinstance(trial, PyTorchTrial):
            raise TypeError(f"trial is a {type(trial).__name__}; derive it from PyTorchTrial and give an instance")
        self._trial = trial
        self._context = context

    def fit(self, checkpoint_period: Optional[TrainUnit] = None, validation_period: Optional[TrainUnit] = None,
            max_length: Optional[TrainUnit] = None, reporting_period: Optional[TrainUnit] = Batch(100),
            checkpoint_policy: Optional[str] = None, latest_checkpoint: Optional[str] = None,
            step_zero_validation: bool = False, test_mode: bool = False, profiling_enabled: bool = False, *,
            searcher_metric: Optional[str] = None, smaller_is_better: bool = True) -> FitResult:
        """Trains up to `max_length`, counted from the beginning of the trial, or until it is asked to stop.

        `max_length`: what MUSTER_MAX_LENGTH says comes first. Metrics are reported, a validation is made and a checkpoint
        written after every period, and at the end. `checkpoint_policy`: after which validations a checkpoint is written
        too: "all", "none", or those that are "best" by `searcher_metric` (default MUSTER_SEARCHER_METRIC); by default
        "best" where there is such a metric, else "all". `latest_checkpoint`: where to begin, a uuid or a folder; default
        MUSTER_RESUME_FROM, else the newest of the run folder; another trial's, given by the controller, gives its weights and
        nothing else. `step_zero_validation`: one before the first batch.
        `test_mode`: one optimizer step, one batch of validation and one checkpoint, which is removed; nothing is resumed
        or reported. `profiling_enabled`: system metrics of rank 0's node and of this
        run's own share are reported while it trains, as `profiling: {enabled: true}` in the experiment's file has it.
        Errors: TypeError, ValueError; those of the trial, of core's contexts and of torch.
        """
        settings = self._checked(max_length, checkpoint_policy, searcher_metric, _Settings(
            Batch(1), check_unit("validation_period", validation_period), check_unit("checkpoint_period", checkpoint_period),
            check_unit("reporting_period", reporting_period), "", None, smaller_is_better, step_zero_validation, test_mode))
        start = None if test_mode else latest_checkpoint or self._context.core.info.latest_checkpoint
        if profiling_enabled:
            self._context.core.profiler.on()
        try:
            core = self._context.core
            is_warm = core.info.is_warm_start and start == core.info.latest_checkpoint
            return _Fit(self._trial, self._context, settings).run(start, is_warm)
        finally:
            if profiling_enabled:
                self._context.core.profiler.off()

    def _checked(self, max_length: Optional[TrainUnit], policy: Optional[str], metric: Optional[str],
                 settings: _Settings) -> _Settings:
        check_unit("max_length", max_length)
        search = self._context.core.searcher.get_search_info()
        if search.max_length is not None:
            max_length = unit_of(search.max_length, like=max_length)
        if settings.is_test:
            max_length = Batch(self._context.aggregation_frequency)
        if max_length is None:
            raise ValueError("how far to train? pass max_length=Epoch(n) or Batch(n), or set MUSTER_MAX_LENGTH")
        metric = metric or search.metric_name
        if policy is None:
            policy = "all" if metric is None else "best"
        if policy not in POLICIES:
            raise ValueError(f"checkpoint_policy is {policy!r}; it is one of {', '.join(POLICIES)}")
        if policy == "best" and metric is None:
            raise ValueError('checkpoint_policy="best" needs to know by which metric: pass searcher_metric, or set '
                             "MUSTER_SEARCHER_METRIC")
        return _Settings(**{**vars(settings), "max_length": max_length, "policy": policy, "metric": metric})


class _Fit:
    """One call of fit()."""

    def __init__(self, trial: PyTorchTrial, context: PyTorchTrialContext, settings: _Settings) -> None:
        self._trial = trial
        self._context = context
        self._settings = settings
        self._core = context.core
        self._is_chief = context.distributed.rank == 0
        self._reports = self._is_chief and not settings.is_test
        self._callbacks = Callbacks(trial.build_callbacks())
        self._sums = MetricSums(trial.training_reducer())
        self._saved = SavedState(context, self._callbacks, self._sums)
        recipe = _loader("build_training_data_loader", trial.build_training_data_loader())
        self._loader = self._sharded(recipe, is_training=True)
        self._validation_loader: Optional[ShardedLoader] = None
        self._can_validate = type(trial).evaluate_batch is not PyTorchTrial.evaluate_batch
        if settings.validation_period is not None and not self._can_validate:
            raise ValueError(f"validation_period is {settings.validation_period}, but {type(trial).__name__} has no "
                             "evaluate_batch")
        self._state = TrainerState(fingerprint=self._fingerprint(recipe))
        self._checkpoint: Optional[str] = None
        self._metrics: Dict[str, Any] = {}
        self._random: Optional[Mapping[str, Any]] = None
        self._inexact: Optional[Tuple[str, ...]] = None
        context.epoch_length = self._loader.steps
        context.position = Position()
        context.is_stop_requested = False

    def _sharded(self, recipe: DataLoader, is_training: bool) -> ShardedLoader:
        ranks = self._context.distributed
        return recipe.shard(ranks.rank, ranks.size, derived_seed(self._context.seed, "data", int(is_training)),
                            is_training=is_training)

    def _fingerprint(self, recipe: DataLoader) -> Dict[str, Any]:
        ranks, context, settings = self._context.distributed, self._context, self._settings
        processes = ranks.allgather((fingerprint.of_process(context.device), ranks.cross_rank))
        return fingerprint.of_ranks(processes, {
            "seed": context.seed, "hyperparameters": json.loads(json.dumps(context.hparams, default=repr)),
            "precision": context.precision, "batches per optimizer step": context.aggregation_frequency,
            "samples": self._loader.length, "samples per batch": self._loader.global_batch_size,
            "shuffled": recipe.shuffle, "last batch dropped": recipe.drop_last, "loader workers": recipe.num_workers,
            "seeded samples": recipe.seed_samples,
            "reporting period": repr(settings.reporting_period), "validation period": repr(settings.validation_period)})

    # ---- from beginning to end ----

    def run(self, start: Optional[str], is_warm: bool = False) -> FitResult:
        try:
            if start is not None and is_warm:
                self._warm_start(start)
            saved = None if start is None or is_warm else self._resume(start)
            self._callbacks.notify("on_trial_startup", self._state.position.batches, start)
            self._begin(saved)
            is_completed = self._is_over() or self._train()
            if is_completed:
                self._complete()
        finally:
            self._callbacks.notify("on_trial_shutdown")
        return FitResult(is_completed, self._state.position, None if is_completed else self._core.preempt.reason,
                         self._checkpoint, start, self._inexact, dict(self._metrics))

    def _resume(self, start: str) -> Mapping[str, Any]:
        """Reads a checkpoint; the answer is its state.pt. What is this rank's is taken at once, but for the generators."""
        rank = self._context.distributed.rank
        with self._core.checkpoint.restore_path(start) as folder:
            before = TrainerState.read(folder)
            saved: Dict[str, Any] = read_tensors(folder / STATE)
            own = folder / rank_file(rank)
            of_rank = read_tensors(own) if own.is_file() else None
        now = self._state.fingerprint
        self._inexact = tuple(fingerprint.differences(before.fingerprint, now) + fingerprint.limits(now))
        self._state = before
        self._state.fingerprint = now
        self._state.position = _placed(before.position, self._loader)
        self._context.position = self._state.position
        if of_rank is not None:
            self._saved.load_rank(of_rank)
            self._random = of_rank
        if self._is_chief:
            _log.info("resume from checkpoint %s after %d batches: %s", start, before.position.batches,
                      "not exact: " + "; ".join(self._inexact) if self._inexact else "exact, under the same conditions")
        return saved

    def _warm_start(self, start: str) -> None:
        with self._core.checkpoint.restore_path(start) as folder:
            self._saved.load_weights(read_tensors(folder / STATE))
        if self._is_chief:
            _log.info("begins with the weights of checkpoint %s", start)

    def _begin(self, saved: Optional[Mapping[str, Any]]) -> None:
        if saved is not None:
            self._callbacks.notify("on_checkpoint_load_start", saved)
            self._saved.load_shared(saved)
            return
        for model in self._context.models:
            model.train()
        if self._settings.step_zero_validation:
            self._validate()

    def _is_over(self) -> bool:
        return self._state.is_ended or self._settings.max_length.is_reached(self._state.position)

    def _train(self) -> bool:
        """Whether it came to its end; otherwise it was stopped."""
        self._callbacks.notify("on_training_start")
        is_first = True
        while True:
            position = self._state.position
            batches = self._loader.batches(position.epochs, position.epoch_batches)
            if is_first:
                self._set_random()
                is_first = False
            if position.epoch_batches == 0:
                self._callbacks.notify("on_training_epoch_start", position.epochs)
            for draw in batches:
                self._train_batch(draw)
                is_over = self._end_batch(position)
                position = self._state.position
                if is_over is not None:
                    return is_over

    def _set_random(self) -> None:
        """The generators' states come last, so that nothing made before the first batch has drawn from them."""
        if self._random is not None:
            self._saved.load_random(self._random)
            self._random = None
            return
        rank, batches = self._context.distributed.rank, self._state.position.batches
        random_state.seed_all(derived_seed(self._context.seed, "training", rank, batches))

    def _complete(self) -> None:
        """What a training that came to its length, in this process or an earlier one, still has to do."""
        if self._can_validate and not self._state.is_validated:
            self._validate()
            self._save()
        self._callbacks.notify("on_training_end")
        if self._reports:
            self._core.train.report_progress(1.0)
            if self._settings.metric is not None and self._state.latest is not None:
                self._core.train.report_searcher_metric(self._settings.max_length.value, self._state.latest)

    # ---- one batch ----

    def _train_batch(self, draw: Draw) -> None:
        context, position = self._context, self._state.position
        batch = context.to_device(draw.batch)
        with context.autocast():
            metrics = self._trial.train_batch(batch, position.epochs, position.batches)
        is_step = context.is_aggregation_end()
        context.after_batch()
        self._sums.add({"loss": metrics} if isinstance(metrics, torch.Tensor) else metrics or {}, draw.records)
        after = position.after_batch(draw.all_records, self._loader.steps)
        for schedule in context.schedulers:
            schedule.step_if(StepMode.STEP_EVERY_BATCH, after.batches)
            if is_step:
                schedule.step_if(StepMode.STEP_EVERY_OPTIMIZER_STEP, after.batches // context.aggregation_frequency)
            if after.epochs > position.epochs:
                schedule.step_if(StepMode.STEP_EVERY_EPOCH, after.epochs)
        self._state.position = context.position = after
        self._core.profiler.follow(after.batches)
        self._state.is_validated = False

    def _end_batch(self, before: Position) -> Optional[bool]:
        """What is due after the batch that began at `before`. Whether the training is over (True), stopped (False), or goes
        on (None)."""
        settings, after = self._settings, self._state.position
        is_report_due = settings.reporting_period is not None and settings.reporting_period.is_due(before, after)
        is_validation_due = settings.validation_period is not None and settings.validation_period.is_due(before, after)
        is_epoch_end = after.epochs > before.epochs
        if is_report_due:
            self._report()
        if is_epoch_end:
            self._callbacks.notify("on_training_epoch_end", before.epochs)
        is_best = self._validate() if is_validation_due else False
        if self._is_end_requested(is_report_due or is_validation_due or is_epoch_end):
            self._state.is_ended = True
        is_over = self._is_over()
        if is_over and not is_report_due:
            self._report()
        if is_over and self._can_validate and not self._state.is_validated:
            is_best, is_validation_due = self._validate(), True
        is_stopped = self._core.preempt.should_preempt()
        if is_over or is_stopped or self._is_checkpoint_due(before, is_validation_due, is_best):
            self._save()
        return True if is_over else False if is_stopped else None

    def _is_end_requested(self, is_boundary: bool) -> bool:
        ranks = self._context.distributed
        if ranks.size > 1 and not is_boundary:
            return False
        is_requested = any(ranks.allgather(self._context.is_stop_requested))
        if is_requested and self._reports and not self._state.is_ended:
            self._core.train.report_early_exit("user_requested_stop")
        return is_requested

    def _is_checkpoint_due(self, before: Position, is_validated: bool, is_best: bool) -> bool:
        settings = self._settings
        if settings.checkpoint_period is not None and settings.checkpoint_period.is_due(before, self._state.position):
            return True
        return is_validated and (settings.policy == "all" or settings.policy == "best" and is_best)

    # ---- reports, validation, checkpoints ----

    def _report(self) -> None:
        """The metrics since the last report; none where there was no batch."""
        metrics = self._sums.reduce(self._context.distributed)
        metrics.update(self._context.reducers.reduce(self._context.distributed, is_training=True))
        self._sums.reset()
        self._context.reducers.reset(is_training=True)
        if metrics and self._reports:
            self._core.train.report_training_metrics(self._state.position.batches, metrics)
            self._core.train.report_progress(
                self._settings.max_length.progress(self._state.position, self._loader.steps))
        self._callbacks.notify("on_training_workload_end", metrics)

    def _validate(self) -> bool:
        """Whether the result is the best so far, by the metric that is judged."""
        context = self._context
        if self._validation_loader is None:
            recipe = _loader("build_validation_data_loader", self._trial.build_validation_data_loader())
            self._validation_loader = self._sharded(recipe, is_training=False)
        self._callbacks.notify("on_validation_start")
        modes = [modes_of(model) for model in context.models]
        for model in context.models:
            model.eval()
        with context.reducers.validating(), torch.no_grad():
            metrics = self._evaluated(self._validation_loader)
        for model, its_modes in zip(context.models, modes):
            set_modes(model, its_modes)
        self._metrics = metrics
        self._state.is_validated = True
        if self._reports:
            self._core.train.report_validation_metrics(self._state.position.batches, metrics)
        self._callbacks.notify("on_validation_end", metrics)
        return self._judge(metrics)

    def _evaluated(self, loader: ShardedLoader) -> Dict[str, Any]:
        sums = MetricSums(self._trial.evaluation_reducer())
        for index, draw in enumerate(loader.batches(0)):
            if self._settings.is_test and index > 0:
                break
            batch = self._context.to_device(draw.batch)
            with self._context.autocast():
                sums.add(self._trial.evaluate_batch(batch, index), draw.records)
        metrics: Dict[str, Any] = dict(sums.reduce(self._context.distributed))
        metrics.update(self._context.reducers.reduce(self._context.distributed, is_training=False))
        return metrics

    def _judge(self, metrics: Mapping[str, Any]) -> bool:
        """Errors: ValueError when the metric is not among them."""
        name = self._settings.metric
        if name is None or self._settings.is_test:
            return False
        if name not in metrics:
            raise ValueError(f"the search judges by {name!r}, but validation has {sorted(metrics)}")
        value, best = float(metrics[name]), self._state.best
        self._state.latest = value
        is_better = best is None or (value < best if self._settings.smaller_is_better else value > best)
        if math.isnan(value) or not is_better:
            return False
        self._state.best = value
        return True

    def _save(self) -> None:
        shared = self._saved.shared()
        self._callbacks.notify("on_checkpoint_save_start", shared)
        metadata = {"steps_completed": self._state.position.batches, "framework": "muster.pytorch",
                    "trial": type(self._trial).__qualname__, "epochs": self._state.position.epochs}
        with self._core.checkpoint.store_path(metadata if self._is_chief else None, shard=True) as (folder, uuid):
            self._saved.write(folder, self._state, shared)
            self._callbacks.notify("on_checkpoint_write_end", folder)
        self._callbacks.notify("on_checkpoint_upload_end", uuid)
        self._checkpoint = uuid
        if self._settings.is_test:
            self._checkpoint = None
            if self._is_chief:
                self._core.checkpoint.delete(uuid)


def _loader(name: str, made: Any) -> DataLoader:
    if not isinstance(made, DataLoader):
        raise TypeError(f"{name}() made a {type(made).__module__}.{type(made).__qualname__}; make a "
                        "muster.pytorch.DataLoader, which can be sharded over ranks and found its way back into")
    return made


def _placed(position: Position, loader: ShardedLoader) -> Position:
    """The same place in the epoch where a step has another number of records: the steps that are whole. Pure."""
    if position.epoch_records == position.epoch_batches * loader.global_batch_size and position.epoch_batches < loader.steps:
        return position
    steps = position.epoch_records // loader.global_batch_size
    if steps >= loader.steps:
        return Position(position.batches, position.epochs + 1, 0, position.records, 0)
    return Position(position.batches, position.epochs, steps, position.records, steps * loader.global_batch_size)
