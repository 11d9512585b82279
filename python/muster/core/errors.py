"""What can go wrong, named by what the caller should do. Wrong arguments are ValueError and TypeError, as everywhere."""


from __future__ import annotations

from typing import Optional


class MusterError(RuntimeError):
    """The root of all of them."""


class StorageError(MusterError):
    """A disk refused: full, gone, read-only; or a store: no right, nobody there. The message names the place and the way
    out. Make room or mend it, start again."""


class CorruptionError(MusterError):
    """A file does not hold what was written to it. Stop; a person must look. The message names file and line."""


class RunFolderInUseError(MusterError):
    """Another process uses the run folder. End it, or take another folder. The message names its pid."""


class StaleRunError(MusterError):
    """A newer run of the same folder has begun: this process is a leftover and must end."""


class MetricConflictError(MusterError):
    """The same metric of the same run, group and step was reported with another value. A bug of the script."""


class NotChiefError(MusterError):
    """Only rank 0 may do this. Guard the call with `context.distributed.rank == 0`."""


class CheckpointError(MusterError):
    """A checkpoint could not be written or read whole."""


class CheckpointNotFoundError(CheckpointError):
    """There is no whole checkpoint of this name."""


class ControllerError(MusterError):
    """The controller refused a request, or did not answer for long. The message names the request and what was said.

    `status` is that of its answer, None when there was none; `words` are what it said, for people. `cause` names what
    exactly has failed where a program acts on it, such as "stale_run".
    """

    def __init__(self, text: str, status: Optional[int] = None, words: str = "", cause: str = "") -> None:
        super().__init__(text)
        self.status = status
        self.words = words
        self.cause = cause


class DistributedError(MusterError):
    """Ranks lost each other, came too late or disagree about what they do together. The message names the ranks."""
