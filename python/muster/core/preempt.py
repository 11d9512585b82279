"""`context.preempt`: whether this run is asked to stop, so that it can checkpoint and leave in good order."""
from __future__ import annotations

import enum
import logging
import os
import signal
import threading
import time
import weakref
from types import FrameType
from typing import Any, Callable, List, Optional

from muster.core.backend import RunRecord, StopSource
from muster.core.distributed import DistributedContext
from muster.core.environment import Environment
from muster.core.errors import NotChiefError

_log = logging.getLogger("muster")

_installed: "weakref.WeakSet[SignalSource]" = weakref.WeakSet()


def _before_fork() -> None:
    for source in list(_installed):
        source.hold()


def _after_fork() -> None:
    for source in list(_installed):
        source.release()


def _restore_in_child() -> None:
    """A forked child, such as a data loader's worker, is not asked to stop but ended: by the signal's earlier handler."""
    for source in list(_installed):
        source.close()
        source.release()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_restore_in_child)


class PreemptMode(enum.Enum):
    """Who calls should_preempt() and what it costs. The names are those of Determined's Core API."""
    WorkersAskChief = "WorkersAskChief"
    """All ranks call it, at the same steps; all get the same answer. One exchange of a few bytes among all ranks."""
    ChiefOnly = "ChiefOnly"
    """Rank 0 alone calls it, and tells the others itself if they need to know. No exchange."""
    WorkersAskMaster = "WorkersAskMaster"
    """Any rank calls it at any time; ranks may hear at different steps. No exchange."""


class SignalSource:
    """A signal, caught from construction to close. In another thread than the main one nothing is caught, with a warning.

    A handler that was there before is called too. Handlers set later stay; this one then only passes signals on.
    """

    def __init__(self, name: str) -> None:
        self._number = signal.Signals[name]
        self._reason: Optional[str] = None
        self._before: Any = None
        self._is_installed = False
        self._forking = threading.local()  # per thread, while it forks: whether it had the signal blocked before
        if threading.current_thread() is not threading.main_thread():
            _log.warning("init() runs outside the main thread, where %s cannot be caught: stop file and deadline remain",
                         name)
            return
        self._before = signal.getsignal(self._number)
        if self._before is None:
            _log.warning("%s has a handler that Python did not set and cannot restore: stop file and deadline remain", name)
            return
        signal.signal(self._number, self._catch)
        self._is_installed = True
        _installed.add(self)

    def _catch(self, number: int, frame: Optional[FrameType]) -> None:
        self._reason = self._reason or self._number.name
        # The default handler of SIGINT raises KeyboardInterrupt: a stop that was asked for must not.
        if callable(self._before) and self._before is not signal.default_int_handler:
            self._before(number, frame)

    def reason(self) -> Optional[str]:
        return self._reason

    def hold(self) -> None:
        """Keeps the signal pending in this thread until `release`: a child gets it with the handler it is to have."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {self._number})
        self._forking.was_blocked = self._number in before

    def release(self) -> None:
        if not getattr(self._forking, "was_blocked", True):
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {self._number})

    def close(self) -> None:
        if self._is_installed and signal.getsignal(self._number) == self._catch \
                and threading.current_thread() is threading.main_thread():
            signal.signal(self._number, self._before)
            self._is_installed = False


class EnvironmentSource:
    """The stop file and the deadline of the environment contract."""

    def __init__(self, environment: Environment, clock: Callable[[], float] = time.time) -> None:
        self._stop_file = None if environment.stop_file is None else environment.stop_file.absolute()
        self._stop_time = None if environment.deadline is None else environment.deadline - environment.deadline_margin_s
        self._clock = clock

    def reason(self) -> Optional[str]:
        if self._stop_file is not None and self._stop_file.exists():
            return f"stop file {self._stop_file}"
        if self._stop_time is not None and self._clock() >= self._stop_time:
            return "deadline"
        return None

    def close(self) -> None:
        pass


class PreemptContext:
    """Once it has said True it says True for ever."""

    def __init__(self, distributed: DistributedContext, mode: PreemptMode, sources: List[StopSource],
                 record: Optional[RunRecord]) -> None:
        """`record` is rank 0's: where the acknowledgement goes."""
        self._distributed = distributed
        self._mode = mode
        self._sources = sources
        self._record = record
        self._reason: Optional[str] = None
        self._is_acknowledged = False

    @property
    def reason(self) -> Optional[str]:
        """Why should_preempt() said True, for people to read; None before."""
        return self._reason

    def should_preempt(self, auto_ack: bool = True) -> bool:
        """Whether to checkpoint and end now. `auto_ack`: the first True also acknowledges.

        Errors: NotChiefError with ChiefOnly on another rank; DistributedError with WorkersAskChief.
        """
        if self._mode is PreemptMode.ChiefOnly and self._distributed.rank != 0:
            raise NotChiefError(f"rank {self._distributed.rank} asks should_preempt(), but the mode is ChiefOnly: only "
                                "rank 0 does")
        if self._reason is None:
            self._reason = self._asked()
            if self._reason is not None:
                _log.info("asked to stop: %s", self._reason)
        if self._reason is not None and auto_ack:
            self.acknowledge_preemption_signal()
        return self._reason is not None

    def _asked(self) -> Optional[str]:
        mine = next(filter(None, (source.reason() for source in self._sources)), None)
        if self._mode is not PreemptMode.WorkersAskChief or self._distributed.size == 1:
            return mine
        # Any rank's word counts: a signal may reach one of them alone.
        reasons = self._distributed.allgather(mine)
        return next((f"{reason} on rank {rank}" for rank, reason in enumerate(reasons) if reason is not None), None)

    def acknowledge_preemption_signal(self) -> None:
        """Says that the stop was heard and this run is about to end. Any rank may; rank 0's word is kept."""
        if self._record is not None and not self._is_acknowledged:
            self._is_acknowledged = True
            self._record.acknowledge_stop(self._reason or "by the script itself")

    def close(self) -> None:
        for source in self._sources:
            source.close()
