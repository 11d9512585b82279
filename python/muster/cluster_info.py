"""`get_cluster_info()`: where this process runs, as whoever started it says. The names are those of Determined's like.

All of it comes from the variables of the task; outside of one there is nothing to tell.
"""
from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional


@dataclass(frozen=True)
class TrialInfo:
    """The trial whose task this is."""
    trial_id: int
    experiment_id: int
    trial_seed: int
    hparams: Dict[str, Any]
    steps_completed: int = 0
    trial_run_id: int = 1


@dataclass(frozen=True)
class ClusterInfo:
    """The cluster, the task and what of the node it has. `slot_ids`: the numbers of its GPUs, or of its CPUs where it has none.

    `session_token` speaks for this run alone. `latest_checkpoint`: what training goes on from; None: it begins.
    """
    master_url: str
    cluster_id: str
    agent_id: str
    slot_ids: List[int]
    task_id: str
    allocation_id: str
    session_token: str
    task_type: str
    latest_checkpoint: Optional[str] = None
    user_data: Dict[str, Any] = field(default_factory=dict)
    _trial: Optional[TrialInfo] = None

    @property
    def trial(self) -> TrialInfo:
        """Errors: AssertionError where the task is no trial's."""
        assert self._trial is not None, f"a {self.task_type} task has no trial"
        return self._trial


def get_cluster_info() -> Optional[ClusterInfo]:
    """None outside of a cluster's task. Errors: ValueError that names a variable that is wrong."""
    return read_cluster_info(os.environ)


def read_cluster_info(variables: Mapping[str, str]) -> Optional[ClusterInfo]:
    """As `get_cluster_info`, of these variables."""
    if "DET_SESSION_TOKEN" not in variables or "DET_TASK_ID" not in variables:
        return None
    data = _json(variables, "DET_USER_DATA", "{}")
    return ClusterInfo(
        master_url=variables.get("DET_MASTER", ""), cluster_id=variables.get("DET_CLUSTER_ID", ""),
        agent_id=variables.get("DET_AGENT_ID", ""), slot_ids=_json(variables, "DET_SLOT_IDS", "[]"),
        task_id=variables["DET_TASK_ID"], allocation_id=variables.get("DET_ALLOCATION_ID", ""),
        session_token=variables["DET_SESSION_TOKEN"], task_type=variables.get("DET_TASK_TYPE", "GENERIC"),
        latest_checkpoint=variables.get("DET_LATEST_CHECKPOINT") or None, user_data=data, _trial=_trial(variables))


def _trial(variables: Mapping[str, str]) -> Optional[TrialInfo]:
    if variables.get("DET_TASK_TYPE") != "TRIAL":
        return None
    return TrialInfo(trial_id=_whole(variables, "DET_TRIAL_ID"), experiment_id=_whole(variables, "DET_EXPERIMENT_ID"),
                     trial_seed=_whole(variables, "DET_TRIAL_SEED"), hparams=_json(variables, "DET_HPARAMS", "{}"),
                     steps_completed=_whole(variables, "DET_STEPS_COMPLETED", "0"),
                     trial_run_id=_whole(variables, "DET_TRIAL_RUN_ID", "1"))


def _whole(variables: Mapping[str, str], name: str, default: Optional[str] = None) -> int:
    text = variables.get(name, default)
    if text is None or not text.isdigit():
        raise ValueError(f"{name} is {text!r}; it is a whole number")
    return int(text)


def _json(variables: Mapping[str, str], name: str, default: str) -> Any:
    text = variables.get(name, default)
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"{name} is {text!r}, which is not JSON: {error}") from None
