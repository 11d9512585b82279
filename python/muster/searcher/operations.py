"""What a search method may ask for."""
from __future__ import annotations

import json
import uuid
from typing import Any, Dict, Mapping, Optional, Protocol


class HasUuid(Protocol):
    """A checkpoint, as far as it matters here."""

    uuid: str


class Operation:
    """One of those below."""

    def message(self) -> Dict[str, Any]:
        """As the controller takes it."""
        raise NotImplementedError


class Create(Operation):
    """A new trial with these hyperparameters. It begins once `ValidateAfter` says how far it is to train."""

    def __init__(self, request_id: uuid.UUID, hparams: Mapping[str, Any], checkpoint: Optional[HasUuid] = None) -> None:
        """`request_id`: what the trial is called from now on. `checkpoint`: what it begins with."""
        self.request_id = request_id
        self.hparams = json.dumps(hparams)
        self.checkpoint = checkpoint

    def message(self) -> Dict[str, Any]:
        create = {"requestId": str(self.request_id), "hyperparams": self.hparams}
        if self.checkpoint is not None:
            create["checkpointUuid"] = self.checkpoint.uuid
        return {"createTrial": create}


class ValidateAfter(Operation):
    """The trial trains until it has had `length` units since its beginning, and validates."""

    def __init__(self, request_id: uuid.UUID, length: int) -> None:
        self.request_id = request_id
        self.length = length

    def message(self) -> Dict[str, Any]:
        return {"trialOperation": {"validateAfter": {"requestId": str(self.request_id), "length": str(self.length)}}}


class Close(Operation):
    """The trial ends when it has done what it was told to."""

    def __init__(self, request_id: uuid.UUID) -> None:
        self.request_id = request_id

    def message(self) -> Dict[str, Any]:
        return {"closeTrial": {"requestId": str(self.request_id)}}


class Progress(Operation):
    """How far the search is, from 0 to 1."""

    def __init__(self, progress: float) -> None:
        self.progress = progress

    def message(self) -> Dict[str, Any]:
        return {"setSearcherProgress": {"progress": self.progress}}


class Shutdown(Operation):
    """The experiment ends: COMPLETED, CANCELED (`cancel`) or ERROR (`failure`). Trials that train save and stop."""

    def __init__(self, cancel: bool = False, failure: bool = False) -> None:
        self.cancel = cancel
        self.failure = failure

    def message(self) -> Dict[str, Any]:
        return {"shutDown": {"cancel": self.cancel, "failure": self.failure}}
