"""What a run folder tells, from outside, while a script writes to it and afterwards."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Set

from muster.core import durable


class _Tail:
    """The whole lines that were added to a file since the last look."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._place = 0

    def lines(self) -> Iterator[Dict[str, Any]]:
        try:
            with open(self._path, "rb") as file:
                file.seek(self._place)
                block = file.read()
        except FileNotFoundError:
            return
        end = block.rfind(b"\n") + 1
        self._place += end
        for line in block[:end].splitlines():
            yield json.loads(line)


class RunWatch:
    """Of what is written after this watch was made. `look` brings the fields up to date."""

    def __init__(self, folder: Path) -> None:
        self._metrics = _Tail(folder / "metrics.jsonl")
        self._checkpoints = _Tail(folder / "checkpoints.jsonl")
        self._open: Set[str] = set()
        self.seen: Set[int] = set()
        """All steps of which there was a report or a checkpoint."""
        self.look()
        self.seen = set()

    def look(self) -> None:
        steps: List[int] = [line["steps"] for line in self._metrics.lines() if line.get("steps") is not None]
        for line in self._checkpoints.lines():
            if line["event"] == "announced":
                self._open.add(line["uuid"])
            else:
                self._open.discard(line["uuid"])
                if line["event"] == "completed" and line.get("steps_completed") is not None:
                    steps.append(line["steps_completed"])
        self.seen.update(steps)

    @property
    def steps(self) -> int:
        """The furthest of them; -1 before the first."""
        return max(self.seen, default=-1)

    @property
    def is_saving(self) -> bool:
        return bool(self._open)


class LastCheckpoint(NamedTuple):
    folder: Path
    steps_completed: Optional[int]


def last_checkpoint(folder: Path) -> Optional[LastCheckpoint]:
    """The one completed last that is still there. Errors: CorruptionError."""
    storages: Dict[str, Path] = {}
    found: Optional[LastCheckpoint] = None
    if not (folder / "checkpoints.jsonl").exists():
        return None
    for line in durable.read_lines(folder / "checkpoints.jsonl"):
        if line["event"] == "announced":
            storages[line["uuid"]] = folder / line["storage"]
        elif line["event"] == "completed":
            path = storages[line["uuid"]] / line["uuid"]
            if (path / "metadata.json").is_file():
                found = LastCheckpoint(path, line.get("steps_completed"))
    return found
