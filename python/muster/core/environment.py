"""The environment contract: what whoever starts a script tells it, in variables. Pure: takes the variables as a mapping.

A script without any import reads the same names; python/README.md lists them.
"""
from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, Mapping, Optional, Union
from urllib.parse import urlsplit

from muster.core import storage_settings

DEADLINE_MARGIN_S = 60.0
CONTROLLER_RETRY_TIMEOUT_S = 600.0

_HPARAM_PREFIX = "MUSTER_HP_"


@dataclass(frozen=True)
class MaxLength:
    """How far to train. `unit` is "epochs", "batches", ...; None when only a number was given."""
    length: Union[int, float]
    unit: Optional[str] = None


@dataclass(frozen=True)
class Profiling:
    """The profiler runs from batch `begin_on_batch` until `end_after_batch` is over; None: to the end."""
    begin_on_batch: int = 0
    end_after_batch: Optional[int] = None


@dataclass(frozen=True)
class Controller:
    """The controller that runs this trial, and what this run is to it. `url` is http://host:port."""
    url: str
    token: str
    trial: int
    run: int
    allocation: str
    task: str
    latest_checkpoint: Optional[str] = None
    retry_timeout_s: float = CONTROLLER_RETRY_TIMEOUT_S   # how long a request is repeated while it does not answer


@dataclass(frozen=True)
class Environment:
    """The variables, typed. None is "not set"."""
    hparams: Dict[str, Any] = field(default_factory=dict)
    resume_from: Optional[str] = None
    stop_file: Optional[Path] = None
    deadline: Optional[float] = None            # seconds since the epoch
    deadline_margin_s: float = DEADLINE_MARGIN_S
    stop_signal: str = "SIGTERM"
    run_dir: Optional[Path] = None
    run_id: Optional[int] = None
    seed: int = 0
    restart_count: Optional[int] = None         # Slurm's; not set before the first requeue
    job_id: Optional[int] = None
    cluster_id: Optional[str] = None            # Muster's: job ids begin anew with each cluster
    max_length: Optional[MaxLength] = None
    searcher_metric: Optional[str] = None
    checkpoint_storage: Optional[storage_settings.StorageChoice] = None
    source_checkpoint: Optional[str] = None     # another trial's, that this one begins with
    has_tensorboard: bool = True                # event files are written
    controller: Optional[Controller] = None
    node: Optional[str] = None                  # what the controller calls this one
    profiling: Optional[Profiling] = None       # None: the training turns the profiler on itself, or nobody does


def read_environment(variables: Mapping[str, str]) -> Environment:
    """Errors: ValueError that names the variable and what it holds. An empty variable is one that is not set."""
    set_ones = {name: value for name, value in variables.items() if value != ""}
    controller = _controller(set_ones)
    stop_file, run_dir = set_ones.get("MUSTER_STOP_FILE"), set_ones.get("MUSTER_RUN_DIR")
    return Environment(
        hparams=_hparams(set_ones),
        resume_from=set_ones.get("MUSTER_RESUME_FROM"),
        stop_file=Path(stop_file) if stop_file else None,
        deadline=_seconds(set_ones, "MUSTER_DEADLINE"),
        deadline_margin_s=_or(_seconds(set_ones, "MUSTER_DEADLINE_MARGIN"), DEADLINE_MARGIN_S),
        stop_signal=_signal_name(set_ones),
        run_dir=Path(run_dir) if run_dir else None,
        run_id=_or(_whole(set_ones, "MUSTER_RUN_ID", 1), controller and controller.run),
        seed=_or(_whole(set_ones, "MUSTER_SEED", 0), 0),
        restart_count=_whole(set_ones, "SLURM_RESTART_COUNT", 0),
        job_id=_whole(set_ones, "SLURM_JOB_ID", 1),
        cluster_id=set_ones.get("MUSTER_CLUSTER_ID"),
        max_length=_max_length(set_ones),
        searcher_metric=set_ones.get("MUSTER_SEARCHER_METRIC"),
        checkpoint_storage=_storage(set_ones),
        source_checkpoint=set_ones.get("MUSTER_SOURCE_CHECKPOINT"),
        has_tensorboard=_switch(set_ones, "MUSTER_TENSORBOARD"),
        controller=controller,
        node=set_ones.get("DET_AGENT_ID"),
        profiling=_profiling(set_ones))


def _controller(variables: Mapping[str, str]) -> Optional[Controller]:
    """That of a trial's task, which alone has a token and a trial; DET_MASTER alone is a person's, for the command line."""
    if "DET_SESSION_TOKEN" not in variables or "DET_TRIAL_ID" not in variables:
        return None
    for name in ("DET_MASTER", "DET_TRIAL_RUN_ID", "DET_ALLOCATION_ID", "DET_TASK_ID"):
        if name not in variables:
            raise ValueError(f"{name} is not set, but DET_SESSION_TOKEN and DET_TRIAL_ID are: a trial has all of them")
    url = variables["DET_MASTER"]
    parts = urlsplit(url)
    if parts.scheme != "http" or not parts.hostname or parts.query or parts.fragment:
        raise ValueError(f"DET_MASTER is {url!r}; it has the form http://host:port")
    return Controller(
        url=url, token=variables["DET_SESSION_TOKEN"], trial=_or(_whole(variables, "DET_TRIAL_ID", 1), 0),
        run=_or(_whole(variables, "DET_TRIAL_RUN_ID", 1), 0), allocation=variables["DET_ALLOCATION_ID"],
        task=variables["DET_TASK_ID"], latest_checkpoint=variables.get("DET_LATEST_CHECKPOINT"),
        retry_timeout_s=_or(_seconds(variables, "MUSTER_CONTROLLER_RETRY_TIMEOUT"), CONTROLLER_RETRY_TIMEOUT_S))


def _storage(variables: Mapping[str, str]) -> Optional[storage_settings.StorageChoice]:
    text = variables.get(storage_settings.VARIABLE)
    return None if text is None else storage_settings.read_storage_text(text)


def _or(value: Any, default: Any) -> Any:
    return default if value is None else value


def _whole(variables: Mapping[str, str], name: str, smallest: int) -> Optional[int]:
    text = variables.get(name)
    if text is None:
        return None
    try:
        number = int(text)
    except ValueError:
        number = smallest - 1
    if number < smallest:
        raise ValueError(f"{name} is {text!r}; it is a whole number of {smallest} or more")
    return number


def _seconds(variables: Mapping[str, str], name: str) -> Optional[float]:
    text = variables.get(name)
    if text is None:
        return None
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or number < 0:
        raise ValueError(f"{name} is {text!r}; it is a number of seconds")
    return number


def _switch(variables: Mapping[str, str], name: str) -> bool:
    """On unless it says otherwise."""
    text = variables.get(name, "1")
    if text not in ("0", "1"):
        raise ValueError(f"{name} is {text!r}; it is 0 or 1")
    return text == "1"


def _json(name: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"{name} is {text!r}, which is not JSON: {error}") from None


def _hparams(variables: Mapping[str, str]) -> Dict[str, Any]:
    """MUSTER_HPARAMS whole; without it MUSTER_HP_<NAME>, names in lower case, values as JSON where they are."""
    text = variables.get("MUSTER_HPARAMS")
    if text is not None:
        hparams = _json("MUSTER_HPARAMS", text)
        if not isinstance(hparams, dict):
            raise ValueError(f"MUSTER_HPARAMS is {text!r}; it is a JSON object")
        return hparams
    return {name[len(_HPARAM_PREFIX):].lower(): _json_or_text(value)
            for name, value in sorted(variables.items()) if name.startswith(_HPARAM_PREFIX)}


def _json_or_text(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _signal_name(variables: Mapping[str, str]) -> str:
    """With or without "SIG", as Slurm's --signal takes it."""
    allowed = ("SIGTERM", "SIGUSR1", "SIGUSR2", "SIGINT", "SIGHUP")
    text = variables.get("MUSTER_STOP_SIGNAL", "SIGTERM")
    name = text if text.startswith("SIG") else "SIG" + text
    if name not in allowed:
        raise ValueError(f"MUSTER_STOP_SIGNAL is {text!r}; it is one of {', '.join(allowed)}")
    return name


def _profiling(variables: Mapping[str, str]) -> Optional[Profiling]:
    """A JSON object with begin_on_batch and end_after_batch, either of which may be left out."""
    text = variables.get("MUSTER_PROFILING")
    if text is None:
        return None
    value = _json("MUSTER_PROFILING", text)
    known = ("begin_on_batch", "end_after_batch")
    is_right = isinstance(value, dict) and all(
        name in known and isinstance(batch, int) and not isinstance(batch, bool) and batch >= 0 for name, batch in value.items())
    if not is_right:
        raise ValueError(f"MUSTER_PROFILING is {text!r}; it is a JSON object with the whole numbers {' and '.join(known)}, or {{}}")
    return Profiling(**value)


def _max_length(variables: Mapping[str, str]) -> Optional[MaxLength]:
    """A number, or {"epochs": 64}: one unit and its number."""
    text = variables.get("MUSTER_MAX_LENGTH")
    if text is None:
        return None
    value, unit = _json("MUSTER_MAX_LENGTH", text), None
    if isinstance(value, dict) and len(value) == 1:
        (unit, value), = value.items()
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < math.inf:
        raise ValueError(f'MUSTER_MAX_LENGTH is {text!r}; it is a positive number or one unit with it: {{"epochs": 64}}')
    return MaxLength(value, unit)
