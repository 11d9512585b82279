"""Brings records to a controller, or into a file: in bodies of at most 4 MiB, each repeated until it is answered, from where the
last one that was answered had come to. The README beside this file has what is sent and answered."""
from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Protocol, Tuple
from urllib.parse import urlsplit

from muster.core.errors import ControllerError
from muster.core.session import Session
from muster.moving.records import MovingError, Reader, Record, line_of

BODY_MAX = 4 << 20
RECORDS_MAX = 5000  # in a body, so that an answer comes in good time
RETRY_TIMEOUT_S = 600.0
TIMEOUT_S = 600.0
REASONS_SHOWN = 50
REPEATED = frozenset({"user", "workspace", "project"})  # in every body after their own: the controller keeps no table of them


@dataclass
class Counts:
    """By kind."""
    read: Dict[str, int] = field(default_factory=dict)
    imported: Dict[str, int] = field(default_factory=dict)
    skipped: Dict[str, int] = field(default_factory=dict)
    refused: int = 0
    too_long: int = 0

    def add(self, name: str, more: Mapping[str, Any]) -> None:
        counts: Dict[str, int] = getattr(self, name)
        for kind, count in more.items():
            counts[kind] = counts.get(kind, 0) + int(count)


class Target(Protocol):
    def send(self, body: bytes) -> Dict[str, Any]:
        """Durable when it returns; the answer is as the controller's. Errors: MovingError."""


class Nowhere:
    """For a summary alone."""

    def send(self, body: bytes) -> Dict[str, Any]:
        return {}


class FileTarget:
    """A file of records: one `source` line, then the rest."""

    def __init__(self, path: Path, is_begun: bool) -> None:
        """`is_begun`: goes on with what is there. Errors: MovingError."""
        self._has_source = is_begun
        try:
            self._file = open(path, "ab" if is_begun else "xb")
        except OSError as error:
            raise MovingError(f"{path}: {error.strerror}") from error

    def send(self, body: bytes) -> Dict[str, Any]:
        source, *lines = body.splitlines(keepends=True)
        kept = [line for line in lines if not json.loads(line).get("again")]
        self._file.write(b"".join(kept if self._has_source else [source, *kept]))
        self._has_source = True
        self._file.flush()
        os.fsync(self._file.fileno())
        return {}


class ControllerTarget:
    """POST {url}/api/v1/muster/import."""

    def __init__(self, url: str, token: str) -> None:
        """Errors: MovingError."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise MovingError(f"{url!r} is no controller's URL; it has the form http://host:port")
        self._url = url
        self._session = Session(url, token, RETRY_TIMEOUT_S, is_user=True)

    def send(self, body: bytes) -> Dict[str, Any]:
        try:
            return self._session.call("POST", "/muster/import", body, TIMEOUT_S)
        except ControllerError as error:
            raise MovingError(self._advice(error)) from error

    def _advice(self, error: ControllerError) -> str:
        if error.status is None:
            return f"{error}: what it has taken stays"
        if error.status == 501:
            return f"the controller at {self._url} takes no imports: {error.words}; is it an older one?"
        way_out = "; give an operator's token (muster token)" if error.status in (401, 403) else ""
        return f"the controller at {self._url} refuses with {error.status}: {error.words or error}{way_out}"


@dataclass(frozen=True)
class Position:
    """How far the target has come: records of a section, and sections before it."""
    section: str
    records: int


class StateFile:
    """Which source is being read for which target, and how far it is. JSON; replaced whole."""

    def __init__(self, path: Path, source: str, target: str) -> None:
        """Errors: MovingError when the file is of another import."""
        self._path = path
        self._facts = {"source": source, "target": target}
        self.place: Optional[Position] = None
        self.context: List[Record] = []
        if not path.exists():
            return
        try:
            known = json.loads(path.read_text())
            self.place = Position(known["section"], known["records"])
            self.context = list(known["context"])
            facts = {name: known[name] for name in self._facts}
        except (ValueError, KeyError, TypeError) as error:
            raise MovingError(f"{path} is no state of an import: {error}; remove it to begin anew") from error
        if facts != self._facts:
            raise MovingError(f"{path} is the state of an import from {facts['source']} to {facts['target']}; name another file with --state, or "
                              "remove it")

    def save(self, place: Position, context: List[Record]) -> None:
        """`context`: what every body has to repeat."""
        self.place, self.context = place, context
        fresh = self._path.with_name(self._path.name + ".new")
        with open(fresh, "w", encoding="utf-8") as file:
            json.dump({**self._facts, "section": place.section, "records": place.records, "context": context}, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, self._path)

    def remove(self) -> None:
        """All is done: the same command reads all again, and finds what is new."""
        self._path.unlink(missing_ok=True)


def placed_records(reader: Reader, begin: Optional[Position]) -> Iterator[Tuple[Position, Record]]:
    """Each record with the place that is reached when it has been taken."""
    for section in reader.sections(begin and begin.section):
        skipped = begin.records if begin is not None and section.name == begin.section else 0
        for number, record in enumerate(section.records(), start=1):
            if number > skipped:
                yield Position(section.name, number), record


class Transfer:
    """From records to bodies, and what became of them."""

    def __init__(self, source: Record, target: Target, state: Optional[StateFile], log: Callable[[str], None]) -> None:
        self.counts = Counts()
        self._target = target
        self._state = state
        self._log = log
        self._source_line = line_of(source)
        self._context: List[Record] = list(state.context) if state is not None else []
        self._place: Optional[Position] = None
        self._begin_body()

    def _begin_body(self) -> None:
        self._lines = [self._source_line, *(line_of({**record, "again": True}) for record in self._context)]
        self._size = sum(map(len, self._lines))
        self._repeated = len(self._lines)

    def run(self, records: Iterable[Tuple[Position, Record]]) -> None:
        """Errors: MovingError."""
        for place, record in records:
            line = line_of(record)
            self.counts.add("read", {record["kind"]: 1})
            if len(line) + sum(map(len, self._lines[:self._repeated])) > BODY_MAX:
                self.counts.too_long += 1
                self._log(f"left out, as it has {len(line)} bytes alone: {_shown(record)}")
                self._place = place
                continue
            if self._size + len(line) > BODY_MAX or len(self._lines) - self._repeated >= RECORDS_MAX:
                self._send()
            if record["kind"] in REPEATED:
                self._context.append(record)
            self._lines.append(line)
            self._size += len(line)
            self._place = place
        self._send()

    def _send(self) -> None:
        if len(self._lines) > self._repeated:
            answer = self._target.send(b"".join(self._lines))
            self.counts.add("imported", answer.get("imported") or {})
            self.counts.add("skipped", answer.get("skipped") or {})
            for refused in answer.get("refused") or []:
                self._report_refused(int(refused.get("line") or 0), refused.get("reason"))
        if self._place is not None and self._state is not None:
            self._state.save(self._place, self._context)
        self._begin_body()

    def _report_refused(self, number: int, reason: Any) -> None:
        self.counts.refused += 1
        if self.counts.refused > REASONS_SHOWN:
            return
        line = self._lines[number - 1] if 0 < number <= len(self._lines) else b"{}"
        self._log(f"refused: {_shown(json.loads(line))}: {reason}")
        if self.counts.refused == REASONS_SHOWN:
            self._log("further refusals are only counted")


def _shown(record: Mapping[str, Any]) -> str:
    """What a record is called."""
    named = {"metrics": ("trial", "run", "group", "steps"), "checkpoint": ("uuid",), "model_version": ("model", "version")}
    kind = str(record.get("kind"))
    return f"{kind} " + " ".join(str(record.get(name)) for name in named.get(kind, ("id",)))


class Progress:
    """Lines on standard error: notes at once, counts now and then."""

    def __init__(self, period_s: float = 5.0) -> None:
        self._period_s = period_s
        self._next = time.monotonic() + period_s
        self._count = 0

    def log(self, text: str) -> None:
        print(f"muster: {text}", file=sys.stderr, flush=True)

    def watch(self, records: Iterable[Tuple[Position, Record]]) -> Iterator[Tuple[Position, Record]]:
        for place, record in records:
            self._count += 1
            if time.monotonic() >= self._next:
                self._next = time.monotonic() + self._period_s
                self.log(f"{self._count} records read, now {place.section}")
            yield place, record
