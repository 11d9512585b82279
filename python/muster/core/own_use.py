"""What the processes of this trial's run use on this node, from /proc: the trial's own share of what the machine does.

Its processes are those of its step's cgroup; where there is none, those of this process's session. What a process has used stays
with its parent when it ends, so that sums over the living ones miss little.

    cpu_cores           CPUs kept busy: 2.5 is two and a half
    rss_bytes           memory resident, pages that processes share counted for each
    read_bytes_per_s, written_bytes_per_s   of storage; what the page cache answers is not counted
    processes           how many there are
"""
from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Callable, Dict, Iterator, NamedTuple, Optional

_STEP = re.compile(r"(?:^|/)muster-[^/]*-[0-9a-f]{16}/[^/]+")


class Use(NamedTuple):
    """Of all processes together. The first three only grow, as long as their processes live."""
    cpu_ticks: int = 0
    read_bytes: int = 0
    written_bytes: int = 0
    rss_bytes: int = 0
    processes: int = 0


def step_of(cgroup: str) -> Optional[str]:
    """Of /proc/<pid>/cgroup: the step that the process belongs to; None: it is not confined to one."""
    for line in cgroup.splitlines():
        found = _STEP.search(line.rpartition(":")[2])
        if found is not None:
            return found.group()
    return None


def session_of(stat: str) -> int:
    """Of /proc/<pid>/stat. The name in it may hold blanks and brackets."""
    return int(stat.rpartition(")")[2].split()[3])


def ticks_of(stat: str) -> int:
    """User and system time, its own and that of the children it has waited for."""
    return sum(int(word) for word in stat.rpartition(")")[2].split()[11:15])


def storage_bytes(io: str) -> "tuple[int, int]":
    """Of /proc/<pid>/io: read and written."""
    values = {name: int(value) for name, _, value in (line.partition(":") for line in io.splitlines())}
    return values["read_bytes"], values["write_bytes"]


def rates(before: Use, after: Use, seconds: float, ticks_per_s: int) -> Dict[str, float]:
    """Requires: seconds > 0. A process that ended and that nobody waited for takes its sums with it: never less than none."""
    def per_s(name: str) -> float:
        return max(0, getattr(after, name) - getattr(before, name)) / seconds

    return {"cpu_cores": per_s("cpu_ticks") / ticks_per_s, "rss_bytes": float(after.rss_bytes),
            "read_bytes_per_s": per_s("read_bytes"), "written_bytes_per_s": per_s("written_bytes"),
            "processes": float(after.processes)}


class OwnUse:
    """Reads the files. A process that ends meanwhile, or that may not be looked at, is passed over."""

    def __init__(self, root: Path = Path("/proc"), pid: Optional[int] = None) -> None:
        self._root = root
        self._page_bytes = os.sysconf("SC_PAGE_SIZE")
        self.ticks_per_s = os.sysconf("SC_CLK_TCK")
        own = str(pid or os.getpid())
        step = step_of(self._text(own, "cgroup"))
        session = session_of(self._text(own, "stat"))
        self._is_own: Callable[[str, str], bool] = (
            (lambda process, _: step_of(self._text(process, "cgroup")) == step) if step is not None else
            (lambda _, stat: session_of(stat) == session))

    def read(self) -> Use:
        """Cost: some file reads for each process of the machine."""
        total = Use()
        for one in self._each():
            total = Use(*(mine + its for mine, its in zip(total, one)))
        return total

    def _each(self) -> Iterator[Use]:
        for process in os.listdir(self._root):
            if not process.isdigit():
                continue
            try:
                stat = self._text(process, "stat")
                if not self._is_own(process, stat):
                    continue
                resident = int(self._text(process, "statm").split()[1]) * self._page_bytes
                yield Use(ticks_of(stat), *self._storage(process), resident, 1)
            except (OSError, LookupError, ValueError):
                continue

    def _storage(self, process: str) -> "tuple[int, int]":
        try:
            return storage_bytes(self._text(process, "io"))
        except (OSError, LookupError, ValueError):
            return 0, 0  # another user's, or a kernel that does not count it

    def _text(self, process: str, name: str) -> str:
        return (self._root / process / name).read_text(encoding="ascii", errors="replace")
