"""Folders on this node's own disk for as long as somebody holds them: what is on its way to a store or came from one.

    <temporary folder>/muster-<uid>/<name>/        held while a process has a lock on <name>.lock
    <temporary folder>/muster-<uid>/<name>.filling/

Whoever takes a folder first removes those that nobody holds any more, such as a killed process's. The temporary folder is
TMPDIR's, else /tmp.
"""
from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Callable, Iterator
from uuid import uuid4

from muster.core import durable
from muster.core.errors import StorageError

FILL_TIMEOUT_S = 3600.0  # for another process of this node to fill a folder
_POLL_S = 0.05


class HeldFolder:
    """A folder that stays until the last process that holds it has released it, or died."""

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path
        self._lock = lock

    def release(self) -> None:
        """May be called again. What cannot be removed is removed by whoever comes next."""
        if self._lock < 0:
            return
        lock, self._lock = self._lock, -1
        try:
            _remove_if_free(self.path, lock)
        finally:
            os.close(lock)


def private_folder() -> HeldFolder:
    """A new one, empty, of this process alone. Errors: StorageError."""
    with _errors():
        folder = _swept_folder()
        while True:
            path = folder / uuid4().hex
            lock = _opened_lock(path)
            if _is_locked(lock, fcntl.LOCK_EX) and _is_current(path, lock):
                path.mkdir()
                return HeldFolder(path, lock)
            os.close(lock)  # a sweep came in between


def shared_folder(name: str, fill: Callable[[Path], None]) -> HeldFolder:
    """The one of this name, which processes of this user and node share; `fill` puts its contents into an empty folder
    if none of them has. Errors: StorageError, also when another takes longer than FILL_TIMEOUT_S; those of `fill`."""
    deadline = time.monotonic() + FILL_TIMEOUT_S
    with _errors():
        path = _swept_folder() / name
    while True:
        with _errors():
            lock = _opened_lock(path)
        try:
            if _is_held(path, lock):
                return HeldFolder(path, lock)
            if _is_locked(lock, fcntl.LOCK_EX) and _is_current(path, lock) and not path.is_dir():
                _fill(path, fill)
                if _is_held(path, lock):  # taking the lesser lock lets go of the greater one for a moment
                    return HeldFolder(path, lock)
        except BaseException:
            os.close(lock)
            raise
        os.close(lock)
        if time.monotonic() > deadline:
            raise StorageError(f"another process has been filling {path} for {FILL_TIMEOUT_S:g} s; see whether it hangs")
        time.sleep(_POLL_S)


def _fill(path: Path, fill: Callable[[Path], None]) -> None:
    filling = path.with_name(path.name + ".filling")
    with _errors():
        shutil.rmtree(filling, ignore_errors=True)
        filling.mkdir()
    try:
        fill(filling)
        with _errors():
            filling.rename(path)
    except BaseException:
        shutil.rmtree(filling, ignore_errors=True)
        raise


@contextmanager
def _errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise durable.storage_error("keep checkpoints on their way", Path(tempfile.gettempdir()), error) from error


def _swept_folder() -> Path:
    folder = Path(tempfile.gettempdir(), f"muster-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if found.st_uid != os.getuid() or found.st_mode & 0o077 or not folder.is_dir() or folder.is_symlink():
        raise StorageError(f"{folder} is not this user's alone, who keeps checkpoints there; set TMPDIR to another place")
    for lock_file in folder.glob("*.lock"):
        _sweep(lock_file.with_suffix(""))
    return folder


def _sweep(path: Path) -> None:
    try:
        lock = os.open(_lock_file(path), os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        _remove_if_free(path, lock)
    finally:
        os.close(lock)


def _remove_if_free(path: Path, lock: int) -> None:
    if _is_locked(lock, fcntl.LOCK_EX) and _is_current(path, lock):
        shutil.rmtree(path, ignore_errors=True)
        shutil.rmtree(path.with_name(path.name + ".filling"), ignore_errors=True)
        os.unlink(_lock_file(path))


def _lock_file(path: Path) -> Path:
    return path.with_name(path.name + ".lock")


def _opened_lock(path: Path) -> int:
    return os.open(_lock_file(path), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _is_locked(lock: int, kind: int) -> bool:
    """Whether this process has got it; it does not wait."""
    try:
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_held(path: Path, lock: int) -> bool:
    """Whether there is a filled folder, and this process now shares it."""
    return _is_locked(lock, fcntl.LOCK_SH) and _is_current(path, lock) and path.is_dir()


def _is_current(path: Path, lock: int) -> bool:
    """Whether the lock is on the file of that name, rather than on one that a sweep removed."""
    try:
        return os.path.samestat(os.fstat(lock), os.stat(_lock_file(path)))
    except FileNotFoundError:
        return False
