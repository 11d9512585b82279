"""`init()` and what it gives: the parts of one run, opened in order on every rank and closed in reverse."""
from __future__ import annotations

import atexit
import logging
import os
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Callable, Dict, List, Mapping, Optional, Type, Union

from muster.core import local, remote
from muster.core.backend import Backend, StopSource
from muster.core.checkpoints import CheckpointContext
from muster.core.distributed import DistributedContext, check_alone
from muster.core.environment import Environment, read_environment
from muster.core.errors import CheckpointError, CorruptionError, MusterError, StorageError
from muster.core.preempt import EnvironmentSource, PreemptContext, PreemptMode, SignalSource
from muster.core.profiler import ProfilerContext
from muster.core.run_folder import RunFolder, default_path
from muster.core.searcher import SearcherContext
from muster.core.s3_storage import S3Storage
from muster.core.storage import FolderStorage, Storage
from muster.core.storage_settings import S3Settings, StorageValue, read_storage
from muster.core.tensorboard import TensorBoardCopy
from muster.core.train import TrainContext

PathLike = Union[str, "os.PathLike[str]"]

_log = logging.getLogger("muster")


@dataclass(frozen=True)
class Run:
    """What this run is. The same on all ranks.

    `run_id` counts the starts of this trial from 1. `latest_checkpoint`: where to resume from, a uuid or a path: what
    MUSTER_RESUME_FROM says, else the checkpoint that this run folder completed last, else the one that the controller
    gave the trial to begin with. `deadline`: seconds since the
    epoch, when the run must be over. `is_warm_start`: `latest_checkpoint` is another trial's: its weights are taken, and this trial
    counts its own steps from none. `seed` is 0 unless MUSTER_SEED says otherwise. `job_id`: Slurm's or Muster's.
    """
    hparams: Dict[str, Any]
    seed: int
    run_dir: Path
    run_id: int
    latest_checkpoint: Optional[str]
    deadline: Optional[float]
    job_id: Optional[int]
    is_warm_start: bool = False


class Context:
    """One run, from `init()` to the end of its `with` block. Use it from one thread; reports may come from any."""

    def __init__(self, info: Run, distributed: DistributedContext, storage: Storage, environment: Environment,
                 preempt_mode: PreemptMode, folder: Optional[RunFolder], backend: Optional[Backend]) -> None:
        """`folder` and `backend` are rank 0's."""
        rank = distributed.rank
        self.info = info
        self.distributed = distributed
        self._folder = folder
        self._backend = backend
        self._is_closed = False
        self._pid = os.getpid()
        registry = None if backend is None else backend.checkpoints
        record = None if backend is None else backend.record
        self.train = TrainContext(rank, info.run_id, info.run_dir, backend,
                                  environment.searcher_metric)
        self.checkpoint = CheckpointContext(distributed, storage, registry, self.train.drain)
        self.searcher = SearcherContext(self.train, rank, environment.max_length, environment.searcher_metric)
        self.profiler = ProfilerContext(self.train, rank, node=environment.node or "", wish=environment.profiling)
        self.train.on_batches(self.profiler.follow)
        self.preempt = PreemptContext(distributed, preempt_mode,
                                      _stop_sources(environment, preempt_mode, rank), record)
        atexit.register(self.close)

    def __enter__(self) -> "Context":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 _traceback: Optional[TracebackType]) -> None:
        try:
            self.close()
        except MusterError as own:
            if error is None:
                raise
            _log.error("while ending after %s: %s", kind.__name__ if kind else error, own)

    def close(self) -> None:
        """Keeps what is left, and lets go of everything. May be called again. Errors: what no report has raised yet."""
        if self._is_closed or os.getpid() != self._pid:  # a forked child's end is not the run's
            return
        self._is_closed = True
        atexit.unregister(self.close)
        errors = _closed([self.profiler.off, self.train.close])
        if self._backend is not None:
            errors += self._backend.close()
        errors += _closed([self.checkpoint.close, self.preempt.close, self.distributed.close])
        if self._folder is not None:
            errors += _closed([self._folder.close])
        if errors:
            raise errors[0]


def _stop_sources(environment: Environment, mode: PreemptMode, rank: int) -> List[StopSource]:
    """The controller is asked by the rank that speaks for all, or by each that asks for itself."""
    sources: List[StopSource] = [SignalSource(environment.stop_signal), EnvironmentSource(environment)]
    if environment.controller is not None and (rank == 0 or mode is PreemptMode.WorkersAskMaster):
        sources.append(remote.StopRequests(environment.controller))
    return sources


def _closed(steps: List[Callable[[], None]]) -> List[Exception]:
    """Takes every step, whatever happens in the others; the answer is what did."""
    errors: List[Exception] = []
    for step in steps:
        try:
            step()
        except Exception as error:  # pylint: disable=broad-except
            errors.append(error)
    return errors


def init(*, distributed: Optional[DistributedContext] = None, checkpoint_storage: Optional[StorageValue] = None,
         preempt_mode: PreemptMode = PreemptMode.WorkersAskChief, run_dir: Optional[PathLike] = None) -> Context:
    """Begins a run; use it in a `with` statement. All ranks call it.

    `distributed`: the other ranks, if there are any; the context closes it. `checkpoint_storage`: a folder that all nodes
    share, or S3: "s3://bucket/prefix"; {"type": "directory", "container_path": ...}, {"type": "s3", "bucket": ...} as in
    Determined's experiment files; default what
    MUSTER_CHECKPOINT_STORAGE says, else checkpoints/ of the run folder. `run_dir`: default MUSTER_RUN_DIR, else
    muster-runs/job-<id>-<cluster> in a job of Muster's, muster-runs/job-<id> in one of Slurm's, else a new folder below
    muster-runs/.
    Errors, the same on all ranks: ValueError for a wrong variable, or for several ranks without `distributed`;
    ImportError for S3 without boto3; RunFolderInUseError, StaleRunError, StorageError, CorruptionError, ControllerError.
    """
    if distributed is None:
        check_alone(os.environ)
        distributed = DistributedContext.single()
    try:
        return _opened(distributed, checkpoint_storage, preempt_mode, run_dir, os.environ)
    except BaseException:
        distributed.close()
        raise


def _opened(distributed: DistributedContext, checkpoint_storage: Optional[StorageValue], preempt_mode: PreemptMode,
            run_dir: Optional[PathLike], variables: Mapping[str, str]) -> Context:
    if not isinstance(preempt_mode, PreemptMode):
        raise TypeError(f"preempt_mode is {preempt_mode!r}; it is a PreemptMode")
    told = _agreed(distributed, lambda: _Told.of(variables, checkpoint_storage))
    chief: Optional[_Chief] = None
    try:
        if distributed.rank == 0:
            try:
                chief = _Chief(told, run_dir)
                outcome: Any = chief.info, None if told.s3 is not None else chief.storage.location
            except Exception as error:  # pylint: disable=broad-except
                distributed.broadcast(error)
                raise
            distributed.broadcast(outcome)
        else:
            outcome = distributed.broadcast(None)
            if isinstance(outcome, Exception):
                raise outcome
        info, folder = outcome
        return Context(info, distributed, told.s3 or FolderStorage(Path(folder)), told.environment, preempt_mode,
                       chief and chief.folder, chief and chief.backend)
    except BaseException:
        if chief is not None:
            chief.close()
        raise


@dataclass(frozen=True)
class _Told:
    """What a rank was told, by its variables and by its caller. Storage in S3 each rank opens with its own keys."""
    environment: Environment
    folder: Optional[Path]       # where checkpoints go, if that was said
    s3: Optional[S3Storage]

    @classmethod
    def of(cls, variables: Mapping[str, str], checkpoint_storage: Optional[StorageValue]) -> "_Told":
        """Errors: ValueError, TypeError, ImportError, StorageError."""
        environment = read_environment(variables)
        choice = (environment.checkpoint_storage if checkpoint_storage is None
                  else read_storage("checkpoint_storage", checkpoint_storage))
        if isinstance(choice, S3Settings):
            return cls(environment, None, S3Storage(choice))
        return cls(environment, choice, None)


def _agreed(distributed: DistributedContext, work: Callable[[], _Told]) -> _Told:
    """Each rank's own; an error of one is an error of all, naming the rank, and so are different storages."""
    try:
        mine, failure = work(), None
    except (ValueError, TypeError, ImportError, StorageError) as error:
        distributed.allgather((str(error), None))
        raise
    answers = distributed.allgather((failure, mine.s3 and mine.s3.location))
    failed = [f"rank {rank}: {text}" for rank, (text, _) in enumerate(answers) if text is not None]
    if failed:
        raise ValueError("; ".join(failed))
    places = [place or "a folder" for _, place in answers]
    other = next((rank for rank, place in enumerate(places) if place != places[0]), None)
    if other is not None:
        raise ValueError(f"checkpoints of rank 0 go to {places[0]}, those of rank {other} to {places[other]}; say the same "
                         "on all ranks")
    return mine


class _Chief:
    """What rank 0 opens for all."""

    def __init__(self, told: _Told, run_dir: Optional[PathLike]) -> None:
        environment = told.environment
        path = Path(run_dir) if run_dir is not None else default_path(environment)
        self.folder = RunFolder(path, environment)
        self.backend: Optional[Backend] = None
        try:
            folder = FolderStorage(told.folder or self.folder.path / "checkpoints")
            self.storage: Storage = folder
            if told.s3 is None:
                folder.check()
            else:
                told.s3.check()
                self.storage = told.s3
            controller = environment.controller
            self.backend = (local.open_backend(self.folder, self.storage) if controller is None
                            else remote.open_backend(self.folder, self.storage, controller))
            own = environment.resume_from or self.backend.checkpoints.latest()
            latest = own or (controller and controller.latest_checkpoint) or environment.source_checkpoint
            is_warm = own is None and latest is not None and latest == environment.source_checkpoint
            if environment.has_tensorboard:
                copy = TensorBoardCopy(self.backend.metrics, self.folder.path, environment.hparams,
                                       None if is_warm else self._steps_of(latest))
                self.backend = replace(self.backend, metrics=copy)
            self.info = Run(hparams=environment.hparams, seed=environment.seed,
                            run_dir=self.folder.path, run_id=self.folder.run,
                            latest_checkpoint=latest,
                            deadline=environment.deadline, job_id=environment.job_id, is_warm_start=is_warm)
        except BaseException:
            self.close()
            raise

    def _steps_of(self, checkpoint: Optional[str]) -> Optional[int]:
        """None: there is none, or it does not say."""
        try:
            steps = checkpoint and self.storage.metadata(checkpoint).get("steps_completed")
        except (CheckpointError, CorruptionError, StorageError):
            return None  # who resumes from it will hear of it
        return steps if isinstance(steps, int) else None

    def close(self) -> None:
        if self.backend is not None:
            self.backend.close()
        self.folder.close()
