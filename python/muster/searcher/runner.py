"""Runs a search method against a controller: on a laptop, or in a job of its own.

    events ──▶ SearchMethod ──▶ operations ──▶ (saved) ──▶ posted ──▶ the controller drops the events that they answer

Nothing is lost on either side: operations are saved before they are posted, and the controller takes those upon one event once.
"""
from __future__ import annotations

import logging
import os
import pathlib
import pickle
import uuid
from typing import Any, Dict, List, Mapping, Optional, Union

from muster.core.errors import ControllerError
from muster.core.session import Session
from muster.searcher.method import SearcherState, SearchMethod, reason_of
from muster.searcher.operations import Operation, Progress
from muster.searcher.submission import create_experiment

_ID_FILE = "experiment_id.txt"
_EVENT_FILE = "event_id"
_RETRY_TIMEOUT_S = 600.0
_POLL_S = 90.0  # the controller answers an empty list before that

_log = logging.getLogger("muster.searcher")


class LocalSearchRunner:
    """Decides one experiment's search with a SearchMethod. Started again in the same folder it goes on where it was."""

    def __init__(self, search_method: SearchMethod, searcher_dir: Optional[pathlib.Path] = None,
                 session: Optional[Session] = None) -> None:
        """`searcher_dir`: where it keeps what it must remember; the working directory if none is given. `session`: to another
        controller than `muster env` names."""
        self.search_method = search_method
        self.state = SearcherState()
        self._folder = pathlib.Path(searcher_dir or pathlib.Path.cwd())
        self._folder.mkdir(parents=True, exist_ok=True)
        self._session = session or _session_of(os.environ)

    def run(self, exp_config: Union[Dict[str, Any], str], model_dir: Optional[str] = None) -> int:
        """Creates the experiment, or takes up the one that this folder is about, and runs its search to the end. `exp_config`: an
        experiment's configuration, or the path of a file of it in YAML or JSON. `model_dir`: the code, the working directory if
        none is given. Returns the experiment's id."""
        id_file = self._folder / _ID_FILE
        operations: Optional[List[Operation]] = None
        if id_file.exists():
            experiment = int(id_file.read_text())
            operations = self._load(experiment)
            _log.info("going on with the search of experiment %d", experiment)
        else:
            experiment = create_experiment(self._session, exp_config, model_dir or os.getcwd(), self._own_files())
            self._save(experiment, [])
            _replace(id_file, str(experiment))
            _log.info("experiment %d was created", experiment)
        self._follow(experiment, operations)
        return experiment

    def _follow(self, experiment: int, saved: Optional[List[Operation]]) -> None:
        while True:
            answer = self._session.call("GET", f"/experiments/{experiment}/searcher_events", timeout_s=_POLL_S)
            for event in answer.get("searcherEvents", []):
                if "experimentInactive" in event:
                    self._end(event["experimentInactive"]["experimentState"])
                    return
                if event["id"] <= self.state.last_event_id:
                    if saved is None:
                        continue  # answered: the answer is on its way
                    operations = saved  # decided upon before a crash, perhaps not posted
                else:
                    operations = self._decide(event)
                    self.state.last_event_id = event["id"]
                    self._save(experiment, operations)
                saved = None
                self._session.call("POST", f"/experiments/{experiment}/searcher_operations",
                                   {"experimentId": experiment, "triggeredByEvent": {"id": event["id"]},
                                    "searcherOperations": [operation.message() for operation in operations]})

    def _end(self, state: str) -> None:
        self.state.experiment_completed = state == "STATE_COMPLETED"
        self.state.experiment_failed = state == "STATE_ERROR"
        _log.info("the experiment has ended: %s", state)

    def _decide(self, event: Mapping[str, Any]) -> List[Operation]:
        method, state = self.search_method, self.state
        if "initialOperations" in event:
            return method.initial_operations(state)
        if "trialCreated" in event:
            trial = uuid.UUID(event["trialCreated"]["requestId"])
            state.trials_created.add(trial)
            state.trial_progress[trial] = 0.0
            return method.on_trial_created(state, trial)
        if "validationCompleted" in event:
            told = event["validationCompleted"]
            operations = method.on_validation_completed(state, uuid.UUID(told["requestId"]), _number(told["metric"]),
                                                        int(told["validateAfterLength"]))
        elif "trialClosed" in event:
            trial = uuid.UUID(event["trialClosed"]["requestId"])
            state.trials_closed.add(trial)
            state.trial_progress[trial] = 1.0
            operations = method.on_trial_closed(state, trial)
        elif "trialExitedEarly" in event:
            told = event["trialExitedEarly"]
            trial = uuid.UUID(told["requestId"])
            reason = reason_of(told.get("exitedReason"))
            if reason.name == "ERRORED":
                state.failures.add(trial)
            operations = method.on_trial_exited_early(state, trial, reason)
        else:
            raise ControllerError(f"an event of an unknown kind: {', '.join(event)}; use the package of the controller's version")
        return [*operations, Progress(min(max(method.progress(state), 0.0), 1.0))]

    # ---- what is remembered ----

    def _own_files(self) -> List[pathlib.Path]:
        """What the runner keeps, which is no code: its folder, or what it writes into the working directory."""
        if self._folder.resolve() != pathlib.Path.cwd():
            return [self._folder]
        return [self._folder / _ID_FILE, *self._folder.glob("exp_*")]

    def _state_folder(self, experiment: int) -> pathlib.Path:
        return self._folder / f"exp_{experiment}"

    def _save(self, experiment: int, operations: List[Operation]) -> None:
        folder = self._state_folder(experiment)
        state = folder / f"event_{self.state.last_event_id}"
        state.mkdir(parents=True, exist_ok=True)
        self.search_method.save(self.state, state, experiment_id=experiment)
        (state / "ops").write_bytes(pickle.dumps(operations))
        _replace(folder / _EVENT_FILE, str(self.state.last_event_id))

    def _load(self, experiment: int) -> List[Operation]:
        folder = self._state_folder(experiment)
        state = folder / f"event_{int((folder / _EVENT_FILE).read_text())}"
        self.state, known = self.search_method.load(state)
        if known != experiment:
            raise ValueError(f"{state} is about experiment {known}, and {self._folder / _ID_FILE} about {experiment}; "
                             "give each search a folder of its own")
        operations: List[Operation] = pickle.loads((state / "ops").read_bytes())
        return operations


def _number(metric: Any) -> Any:
    """NaN and infinities come as texts."""
    return float(metric) if isinstance(metric, str) else metric


def _replace(path: pathlib.Path, text: str) -> None:
    fresh = path.with_name(path.name + ".new")
    with fresh.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)


def _session_of(variables: Mapping[str, str]) -> Session:
    """To the controller that `muster env` names."""
    missing = [name for name in ("DET_MASTER", "DET_USER_TOKEN") if not variables.get(name)]
    if missing:
        raise ValueError(f"{' and '.join(missing)} not set: which controller? In a shell: eval \"$(muster env)\"")
    return Session(variables["DET_MASTER"], variables["DET_USER_TOKEN"], _RETRY_TIMEOUT_S, is_user=True)
