"""Files that survive a crash: whole replacement, and append-only logs of JSON lines. Nothing here knows what they mean.

A log's line counts once its line feed is on disk. Whoever opens a log to write cuts off a torn last line; readers pass
over it. Writers need the run folder's lock, readers need nothing.
"""
from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Dict, Iterator, Sequence

from muster.core.errors import CorruptionError, StorageError


def sync_folder(folder: Path) -> None:
    """Makes the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_file(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(path: Path) -> None:
    """Makes it and what is missing above it, durably. Errors: OSError."""
    if path.is_dir():
        return
    make_folder(path.parent)
    path.mkdir(exist_ok=True)
    sync_folder(path.parent)


def storage_error(attempt: str, folder: Path, error: OSError) -> StorageError:
    return StorageError(f"cannot {attempt} in {folder}: {error.strerror or error}; make room there or choose another folder")


def replace_file(path: Path, document: Any) -> None:
    """Writes a JSON document, durably, so that a reader sees the old or the new one whole. Errors: StorageError."""
    temporary = path.with_name(path.name + ".new")
    try:
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump(document, file, allow_nan=False, indent=1)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        sync_folder(path.parent)
    except OSError as error:
        try:
            temporary.unlink()
        except OSError:
            pass
        raise storage_error(f"write {path.name}", path.parent, error) from error


def read_document(path: Path) -> Dict[str, Any]:
    """An object written by `replace_file`; {} when there is none. Errors: CorruptionError."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    try:
        document = json.loads(text)
    except ValueError as error:
        raise CorruptionError(f"{path} is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise CorruptionError(f"{path} is not a JSON object")
    return document


def read_lines(path: Path) -> Iterator[Dict[str, Any]]:
    """The objects of a log, in the order written; none when there is no file. A torn last line is passed over.

    Errors: CorruptionError when any other line is not an object. Memory: one line at a time.
    """
    try:
        file = open(path, "rb")
    except FileNotFoundError:
        return
    with file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                row = json.loads(line)
            except ValueError as error:
                raise CorruptionError(f"{path}:{number}: not JSON: {error}") from error
            if not isinstance(row, dict):
                raise CorruptionError(f"{path}:{number}: not a JSON object")
            yield row


class AppendLog:
    """A log open for writing. One writer; any thread, one at a time."""

    def __init__(self, path: Path) -> None:
        """Opens or creates it and cuts off a torn last line. Errors: StorageError."""
        self.path = path
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
            try:
                self._size_bytes = _whole_bytes(self._file)
                os.ftruncate(self._file, self._size_bytes)
                sync_folder(path.parent)
            except OSError:
                os.close(self._file)
                raise
        except OSError as error:
            raise storage_error(f"open {path.name}", path.parent, error) from error

    def append(self, rows: Sequence[Dict[str, Any]]) -> None:
        """All rows durable, or none of them there. Errors: StorageError, also when somebody else wrote to the file."""
        block = b"".join(json.dumps(row, allow_nan=False).encode() + b"\n" for row in rows)
        if not block:
            return
        try:
            if os.fstat(self._file).st_size != self._size_bytes:
                raise StorageError(f"{self.path} was changed by another process while this one held its lock")
            _write_all(self._file, block)
            os.fsync(self._file)
        except OSError as error:
            try:
                os.ftruncate(self._file, self._size_bytes)
            except OSError:
                pass  # the torn line is cut off by the next writer
            raise storage_error(f"write {self.path.name}", self.path.parent, error) from error
        self._size_bytes += len(block)

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _write_all(file: int, block: bytes) -> None:
    view = memoryview(block)
    while view:
        view = view[os.write(file, view):]


def _whole_bytes(file: int) -> int:
    """Where the last line feed ends. Cost: as long as the torn line."""
    end = os.fstat(file).st_size
    while end > 0:
        begin = max(0, end - 65536)
        found = os.pread(file, end - begin, begin).rfind(b"\n")
        if found >= 0:
            return begin + found + 1
        end = begin
    return 0
