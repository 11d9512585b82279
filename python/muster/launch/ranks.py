"""Processes that live and die together: started, told of signals, heard line by line, ended when one of them fails.

Unlike torchrun it hands on every signal that asks for a stop, leaves the ranks the time that whoever sent it gives, and
ends with the script's own exit code.
"""
from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from types import FrameType
from typing import Any, BinaryIO, Dict, List, Mapping, Optional, Sequence

KILL_GRACE_S = 30.0  # for the other ranks, after one has failed
FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_POLL_S = 0.02
_PR_SET_PDEATHSIG = 1

_libc = ctypes.CDLL(None, use_errno=True)


class Ranks:
    """`run` once. Signals are caught in the main thread, from there to its end."""

    def __init__(self, is_prefixed: bool, kill_grace_s: float = KILL_GRACE_S) -> None:
        """`is_prefixed`: every line that a rank writes begins with [rank=N]."""
        self._is_prefixed = is_prefixed
        self._kill_grace_s = kill_grace_s
        self._processes: List["subprocess.Popen[bytes]"] = []
        self._readers: List[threading.Thread] = []
        self._lock = threading.Lock()  # a line at a time

    def run(self, commands: Sequence[Sequence[str]], variables: Sequence[Mapping[str, str]], ranks: Sequence[int]) -> int:
        """One process per command, each with its own variables. The answer is the exit code: 0 when all ended with 0, else
        that of the first to fail, 128+n for one that signal n ended. Errors: OSError when a command cannot be started.
        """
        before: Dict[int, Any] = {number: signal.signal(number, self._forward) for number in FORWARDED}
        try:
            for command, environment in zip(commands, variables):
                self._processes.append(self._begun(command, environment))
            for process, rank in zip(self._processes, ranks):
                self._listen(process, rank)
            return self._waited()
        finally:
            self._end()
            for number, handler in before.items():
                signal.signal(number, handler)

    def _begun(self, command: Sequence[str], environment: Mapping[str, str]) -> "subprocess.Popen[bytes]":
        pipe = subprocess.PIPE if self._is_prefixed else None
        return subprocess.Popen(list(command), env=dict(environment), stdout=pipe, stderr=pipe,
                                preexec_fn=_die_with_parent)  # pylint: disable=subprocess-popen-preexec-fn

    def _forward(self, number: int, _frame: Optional[FrameType]) -> None:
        for process in self._processes:
            if process.poll() is None:
                process.send_signal(number)

    def _listen(self, process: "subprocess.Popen[bytes]", rank: int) -> None:
        for pipe, target in ((process.stdout, sys.stdout), (process.stderr, sys.stderr)):
            if pipe is not None:
                prefix = f"[rank={rank}] ".encode()
                reader = threading.Thread(target=self._copy, args=(pipe, target.buffer, prefix), daemon=True)
                reader.start()
                self._readers.append(reader)

    def _copy(self, pipe: Any, target: BinaryIO, prefix: bytes) -> None:
        for line in pipe:
            with self._lock:
                target.write(prefix + (line if line.endswith(b"\n") else line + b"\n"))
                target.flush()

    def _waited(self) -> int:
        while True:
            codes = [process.poll() for process in self._processes]
            failed = next((code for code in codes if code), None)
            if failed is not None:
                return failed if failed > 0 else 128 - failed
            if all(code == 0 for code in codes):
                return 0
            time.sleep(_POLL_S)

    def _end(self) -> None:
        """Those that are left are asked to end, and killed when they do not."""
        self._forward(signal.SIGTERM, None)
        deadline = time.monotonic() + self._kill_grace_s
        for process in self._processes:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for reader in self._readers:
            reader.join(5.0)  # a grandchild may hold the pipe open for as long as it likes


def _die_with_parent() -> None:
    """In the child: no rank is left behind when the launcher is killed."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def script_command(words: Sequence[str]) -> List[str]:
    """"train.py --lr 1" by this Python, "-m module" too; anything else is a command of its own. Errors: ValueError."""
    if not words:
        raise ValueError("which script? give it after the options")
    if words[0] == "-m" and len(words) > 1 or words[0].endswith(".py"):
        return [sys.executable, *words]
    return list(words)


def environment_of(base: Mapping[str, str], own: Mapping[str, str], ranks_here: int) -> Dict[str, str]:
    """A rank's variables. Without OMP_NUM_THREADS, ranks that share a node get a thread each, as under torchrun."""
    environment = {**base, **own}
    environment.pop("TORCHELASTIC_USE_AGENT_STORE", None)  # no torchrun listens on the port: rank 0 does
    if ranks_here > 1:
        environment.setdefault("OMP_NUM_THREADS", "1")
    return environment


def device_files() -> List[str]:
    return os.listdir("/dev") if os.path.isdir("/dev") else []
