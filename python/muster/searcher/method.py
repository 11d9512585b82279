"""What a search method is: told what happens, it answers with operations."""
from __future__ import annotations

import abc
import enum
import json
import pathlib
import uuid
from typing import Any, Dict, List, Optional, Set, Tuple

from muster.searcher.operations import Operation

_STATE_FILE = "state"


class ExitedReason(enum.Enum):
    """Why a trial ended that was not closed."""

    ERRORED = "ERRORED"
    USER_CANCELED = "USER_CANCELED"
    INVALID_HP = "INVALID_HP"


class SearcherState:
    """What is known of the trials. The runner keeps it up to date; methods read it."""

    def __init__(self) -> None:
        self.experiment_id = 0
        self.failures: Set[uuid.UUID] = set()
        self.trial_progress: Dict[uuid.UUID, float] = {}
        self.trials_closed: Set[uuid.UUID] = set()
        self.trials_created: Set[uuid.UUID] = set()
        self.last_event_id = 0
        self.experiment_completed = False
        self.experiment_failed = False

    def to_dict(self) -> Dict[str, Any]:
        return {"failures": sorted(map(str, self.failures)),
                "trialProgress": {str(trial): value for trial, value in self.trial_progress.items()},
                "trialsClosed": sorted(map(str, self.trials_closed)),
                "trialsCreated": sorted(map(str, self.trials_created)),
                "lastEventId": self.last_event_id,
                "experimentId": self.experiment_id,
                "experimentCompleted": self.experiment_completed,
                "experimentFailed": self.experiment_failed}

    def from_dict(self, told: Dict[str, Any]) -> None:
        self.failures = set(map(uuid.UUID, told.get("failures", [])))
        self.trial_progress = {uuid.UUID(trial): value for trial, value in told.get("trialProgress", {}).items()}
        self.trials_closed = set(map(uuid.UUID, told.get("trialsClosed", [])))
        self.trials_created = set(map(uuid.UUID, told.get("trialsCreated", [])))
        self.last_event_id = told.get("lastEventId", 0)
        self.experiment_id = told.get("experimentId", 0)
        self.experiment_completed = told.get("experimentCompleted", False)
        self.experiment_failed = told.get("experimentFailed", False)


class SearchMethod(abc.ABC):
    """An algorithm of your own. Each event is told once; what it returns is done. What the method must remember beyond
    `SearcherState` it writes in `save_method_state` and reads in `load_method_state`."""

    @abc.abstractmethod
    def initial_operations(self, searcher_state: SearcherState) -> List[Operation]:
        """The first trials."""

    @abc.abstractmethod
    def on_trial_created(self, searcher_state: SearcherState, request_id: uuid.UUID) -> List[Operation]:
        """A trial is known to the controller."""

    @abc.abstractmethod
    def on_validation_completed(self, searcher_state: SearcherState, request_id: uuid.UUID, metric: Any,
                                train_length: int) -> List[Operation]:
        """A trial has validated after `train_length` units of training. `metric`: a number; NaN and infinities as they are."""

    @abc.abstractmethod
    def on_trial_closed(self, searcher_state: SearcherState, request_id: uuid.UUID) -> List[Operation]:
        """A trial has ended."""

    @abc.abstractmethod
    def on_trial_exited_early(self, searcher_state: SearcherState, request_id: uuid.UUID,
                              exited_reason: ExitedReason) -> List[Operation]:
        """A trial ended that was not closed. `on_trial_closed` follows."""

    @abc.abstractmethod
    def progress(self, searcher_state: SearcherState) -> float:
        """From 0 to 1."""

    def save(self, searcher_state: SearcherState, path: pathlib.Path, *, experiment_id: int) -> None:
        """Writes everything into the folder `path`."""
        searcher_state.experiment_id = experiment_id
        path.joinpath(_STATE_FILE).write_text(json.dumps(searcher_state.to_dict()))
        self.save_method_state(path)

    def load(self, path: pathlib.Path) -> Tuple[SearcherState, int]:
        """Reads what `save` wrote: the state, and the experiment's id."""
        state = SearcherState()
        state.from_dict(json.loads(path.joinpath(_STATE_FILE).read_text()))
        self.load_method_state(path)
        return state, state.experiment_id

    def save_method_state(self, path: pathlib.Path) -> None:
        """Writes what the method must remember into the folder `path`."""

    def load_method_state(self, path: pathlib.Path) -> None:
        """Reads it again."""


def reason_of(name: Optional[str]) -> ExitedReason:
    """Of the name that the controller has for it."""
    if name == "EXITED_REASON_INVALID_HP":
        return ExitedReason.INVALID_HP
    if name in ("EXITED_REASON_USER_REQUESTED_STOP", "EXITED_REASON_USER_CANCELED"):
        return ExitedReason.USER_CANCELED
    return ExitedReason.ERRORED
