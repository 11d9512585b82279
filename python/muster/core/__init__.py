"""What training code says to whoever runs it: metrics, checkpoints, stops, ranks. Works the same with no cluster at all.

    from muster import core

    with core.init() as context:
        for epoch in range(10):
            ...
            context.train.report_training_metrics(epoch + 1, {"loss": loss})
            if context.preempt.should_preempt():
                break

The verbs are those of Determined's Core API. Without a controller everything is kept in the run folder (run_folder.py
says what lies in it); with one, remote.py says what goes where. environment.py has the variables that are read.
"""
from muster.core.checkpoints import CheckpointContext
from muster.core.context import Context, Run, init
from muster.core.distributed import DistributedContext
from muster.core.environment import MaxLength
from muster.core.errors import (CheckpointError, CheckpointNotFoundError, ControllerError, CorruptionError,
                                DistributedError, MetricConflictError, MusterError, NotChiefError, RunFolderInUseError,
                                StaleRunError, StorageError)
from muster.core.metrics import MetricRow, read_metrics
from muster.core.preempt import PreemptContext, PreemptMode
from muster.core.profiler import ProfilerContext
from muster.core.searcher import Search, SearcherContext, SearcherOperation
from muster.core.train import TrainContext

__all__ = [
    "CheckpointContext", "CheckpointError", "CheckpointNotFoundError", "Context", "ControllerError", "CorruptionError",
    "DistributedContext", "DistributedError", "MaxLength", "MetricConflictError", "MetricRow", "MusterError",
    "NotChiefError", "PreemptContext", "PreemptMode", "ProfilerContext", "Run", "RunFolderInUseError", "Search",
    "SearcherContext", "SearcherOperation", "StaleRunError", "StorageError", "TrainContext", "init", "read_metrics"]
