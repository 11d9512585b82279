"""A trial's folder on disk: who may write to it, and which run of the trial this is.

    lock               flock of the one process that writes; its pid and host inside
    runs.jsonl         {"run", "job_id", "pid", "host", "time"}: one line per run that began
    metrics.jsonl      see metrics.py
    checkpoints.jsonl  see local.py
    checkpoints/       see storage.py
    status.json, metadata.json
    tensorboard/       see tensorboard.py
"""
from __future__ import annotations

import fcntl
import os
import socket
import time
import weakref
from pathlib import Path
from typing import Optional

from muster.core import durable
from muster.core.environment import Environment
from muster.core.errors import RunFolderInUseError, StaleRunError

ORPHAN_TIMEOUT_S = 10.0  # for a dead holder's forked child to let go of the lock

_open_folders: "weakref.WeakSet[RunFolder]" = weakref.WeakSet()


def _forget_in_child() -> None:
    """A forked child must not hold the lock after its parent's death."""
    for folder in list(_open_folders):
        folder.forget()


os.register_at_fork(after_in_child=_forget_in_child)


def default_path(environment: Environment) -> Path:
    """A job's requeues find the same folder; elsewhere every start gets a new one."""
    if environment.run_dir is not None:
        return environment.run_dir
    if environment.job_id is not None:
        mark = f"-{environment.cluster_id[:8]}" if environment.cluster_id else ""
        return Path("muster-runs") / f"job-{environment.job_id}{mark}"
    return Path("muster-runs") / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"


class RunFolder:
    """An open and locked folder, of rank 0. `run` is this run's number, from 1; `is_new_run` if it had none before."""

    def __init__(self, path: Path, environment: Environment) -> None:
        """Errors: RunFolderInUseError, StaleRunError, StorageError."""
        self.path = path.absolute()
        self._lock = -1
        self._log: Optional[durable.AppendLog] = None
        try:
            durable.make_folder(self.path)
            self._lock = _locked(self.path)
        except OSError as error:
            raise durable.storage_error("open a run", self.path, error) from error
        _open_folders.add(self)
        try:
            self._begin_run(environment)
        except BaseException:
            self.close()
            raise

    def _begin_run(self, environment: Environment) -> None:
        self._runs = self.path / "runs.jsonl"
        self._log = durable.AppendLog(self._runs)
        newest = newest_run(self._runs)
        self.run = run_number(environment, newest)
        self.is_new_run = self.run > newest
        if self.is_new_run:
            self._log.append([{"run": self.run, "job_id": environment.job_id, "pid": os.getpid(),
                               "host": socket.gethostname(), "time": time.time()}])
        self._runs_size_bytes = self._runs.stat().st_size

    def check_current(self) -> None:
        """Errors: StaleRunError when a newer run began although this one has the lock, as a broken network disk allows."""
        try:
            size_bytes = self._runs.stat().st_size
        except OSError as error:
            raise durable.storage_error("find the run", self.path, error) from error
        if size_bytes == self._runs_size_bytes:
            return
        newest = newest_run(self._runs)
        if newest > self.run:
            raise StaleRunError(f"run {self.run} of {self.path} is stale: run {newest} has begun; end this process")
        self._runs_size_bytes = size_bytes

    def forget(self) -> None:
        """Leaves the lock to the parent process."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def close(self) -> None:
        if self._log is not None:
            self._log.close()
        self.forget()


def newest_run(runs: Path) -> int:
    """0 before the first."""
    return max((line["run"] for line in durable.read_lines(runs)), default=0)


def run_number(environment: Environment, newest: int) -> int:
    """MUSTER_RUN_ID as it is; else Slurm's restart count + 1, or the next number if that one has been used.

    Errors: StaleRunError when MUSTER_RUN_ID lies below a run that has begun.
    """
    if environment.run_id is not None:
        if environment.run_id < newest:
            raise StaleRunError(f"MUSTER_RUN_ID is {environment.run_id}, but run {newest} of this folder has begun")
        return environment.run_id
    restarts = environment.restart_count
    return max(newest + 1, restarts + 1 if restarts is not None else 1)


def _locked(folder: Path) -> int:
    """A descriptor that holds the lock. Errors: RunFolderInUseError, OSError.

    A holder that was killed may have left a child which was just being forked and is about to let go: that is waited for.
    """
    deadline = time.monotonic() + ORPHAN_TIMEOUT_S
    while True:
        try:
            return _lock_at_once(folder)
        except RunFolderInUseError:
            if not _is_holder_dead(folder) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _is_holder_dead(folder: Path) -> bool:
    holder = (folder / "lock").read_text(errors="replace").split()
    if len(holder) < 2 or holder[1] != socket.gethostname():
        return False
    try:
        os.kill(int(holder[0]), 0)
    except ProcessLookupError:
        return True
    except (PermissionError, ValueError):
        pass
    return False


def _lock_at_once(folder: Path) -> int:
    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()} {socket.gethostname()}\n".encode(), 0)
    except BlockingIOError:
        holder = os.pread(lock, 256, 0).decode(errors="replace").split()
        os.close(lock)
        raise RunFolderInUseError(_in_use_text(folder, holder)) from None
    except OSError:
        os.close(lock)
        raise
    return lock


def _in_use_text(folder: Path, holder: "list[str]") -> str:
    if len(holder) < 2:
        return f"{folder} is in use by a process that is just starting"
    mine = " (this very process)" if holder[0] == str(os.getpid()) and holder[1] == socket.gethostname() else ""
    return f"{folder} is in use by pid {holder[0]}{mine} on {holder[1]}; end it, or set MUSTER_RUN_DIR to another folder"


