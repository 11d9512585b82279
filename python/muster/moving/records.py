"""What every reader makes: values in the forms of README.md, sections of records, and which states have an end. Pure."""
from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any, Callable, Dict, Iterator, Mapping, Optional, Protocol

FORMAT = 1
ENDED = ("COMPLETED", "CANCELED", "ERROR")
CHECKPOINT_STATES = ("COMPLETED", "PARTIALLY_DELETED", "DELETED", "ERROR")
PROFILING_GROUPS = ("cpu", "disk", "gpu", "memory", "network")
GROUP_NAMES = {"avg_metrics": "training", "validation_metrics": "validation"}  # as summaries and rows of Determined spell them

_KEYS = ("access_key", "secret_key", "connection_string", "credential")
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d+))?(?:Z|([+-]\d\d):?(\d\d)?)?$")

Record = Dict[str, Any]


class MovingError(Exception):
    """What keeps an import from going on, in words for whoever runs it."""


@dataclass(frozen=True)
class Section:
    """A part of the stream that is always read in the same order, so that its name and a count of records are a place."""
    name: str
    records: Callable[[], Iterator[Record]]


class Reader(Protocol):
    """One source. `left_out` counts by reason what the records lack, as far as it has been read."""
    left_out: Dict[str, int]

    def source(self) -> Record:
        """Errors: MovingError."""

    def sections(self, begin: Optional[str]) -> Iterator[Section]:
        """In order, from the one of that name on. Errors: MovingError."""


def line_of(record: Mapping[str, Any]) -> bytes:
    """One line of the stream, with its end. Members that are None are left out."""
    known = {name: spelled(value) for name, value in record.items() if value is not None}
    return json.dumps(known, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"


def spelled(value: Any) -> Any:
    """With the numbers that JSON lacks as texts."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {name: spelled(item) for name, item in value.items()}
    if isinstance(value, list):
        return [spelled(item) for item in value]
    return value


def time_of(text: Any) -> Optional[str]:
    """A time as JSON or PostgreSQL has it, in UTC with microseconds; without a zone it is UTC. None of none.

    Errors: MovingError.
    """
    if not text:
        return None
    match = _TIME.fullmatch(str(text))
    if not match:
        raise MovingError(f"{text!r} is no time")
    day, clock, fraction, hours, minutes = match.groups()
    micros = ((fraction or "") + "000000")[:6]
    if not int(hours or 0) and not int(minutes or 0):
        return f"{day}T{clock}.{micros}Z"
    offset = timedelta(hours=abs(int(hours)), minutes=int(minutes or 0)) * (-1 if hours.startswith("-") else 1)
    moment = datetime.fromisoformat(f"{day}T{clock}.{micros}") - offset
    return moment.replace(tzinfo=timezone.utc).isoformat(timespec="microseconds").replace("+00:00", "Z")


def state_of(text: Any) -> str:
    """Without STATE_."""
    return str(text or "").replace("STATE_", "", 1)


def trial_state(text: Any) -> str:
    """A trial that never ended although its experiment has was canceled with it."""
    state = state_of(text)
    return state if state in ENDED else "CANCELED"


def whole(value: Any) -> Optional[int]:
    """A number that may be a text. Errors: ValueError."""
    return None if value in (None, "") else int(value)


def run_in(allocation: Any) -> Optional[int]:
    """Of "<task>.<run>"."""
    last = str(allocation or "").rpartition(".")[2]
    return int(last) if last.isdigit() and int(last) > 0 else None


def object_of(value: Any) -> Dict[str, Any]:
    return value if isinstance(value, dict) else {}


def storage_location(storage: Any) -> Optional[Dict[str, Any]]:
    """A checkpoint_storage without keys and without what is kept; None when it does not say where."""
    kept = {name: value for name, value in object_of(storage).items()
            if value not in (None, "") and name not in _KEYS and not name.startswith("save_") and name != "propagation"}
    return kept if "type" in kept else None


def sizes_of(resources: Any) -> Dict[str, int]:
    """Bytes by path; on the wire they are texts."""
    return {path: int(size) for path, size in object_of(resources).items()}


def metrics_of(body: Any) -> Dict[str, Any]:
    """`metrics` and `batch_metrics` of a row: under the names that its group has in Determined."""
    body = object_of(body)
    named = next((body[name] for name in ("avg_metrics", "avgMetrics", "validation_metrics") if name in body), None)
    batches = body.get("batch_metrics", body.get("batchMetrics"))
    if named is None:
        named = {name: value for name, value in body.items() if name not in ("batch_metrics", "batchMetrics", "num_inputs")}
    return {"metrics": object_of(named), "batch_metrics": batches or None}
