"""Muster for training code: `muster.core` says what happens to whoever runs it, `muster.pytorch` is a Trainer on top of it,
`muster.adapters` join other libraries' trainers to it, `muster.launch` starts the ranks, `muster.certify` proves resuming.

    import muster

    info = muster.get_cluster_info()     # None outside of a task
    with muster.core.init() as context:
        ...

Standard library only at run time, so that it installs beside any training stack; PyTorch where `muster.pytorch` is imported.
"""
import importlib
from typing import Any

from muster.cluster_info import ClusterInfo, TrialInfo, get_cluster_info

__version__ = "0.1.0"

__all__ = ["ClusterInfo", "TrialInfo", "get_cluster_info"]

# Loaded at their first use: what serves a node's files needs none of them, and muster.pytorch brings torch.
_PARTS = ("adapters", "certify", "core", "launch", "moving", "pytorch", "searcher")


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return importlib.import_module(f"muster.{name}")
    raise AttributeError(f"module 'muster' has no attribute {name!r}")
