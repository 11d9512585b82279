"""`context.profiler`: what the machine does meanwhile: CPU, memory, disk and network of rank 0's node, from /proc, and its GPUs.

Reported as system metrics, each the mean over one report's samples:
    cpu      utilization_ratio 0..1 of all CPUs
    memory   used_bytes, available_bytes
    disk     read_bytes_per_s, written_bytes_per_s, whole disks only
    network  received_bytes_per_s, sent_bytes_per_s, without the loopback
    trial    cpu_cores, rss_bytes, read_bytes_per_s, written_bytes_per_s, processes: this run's own share of it (own_use.py)
    gpu      {node: {uuid: {gpu_util, gpu_free_memory}}} in Determined's shape; only where nvidia-smi answers (gpus.py)
"""
from __future__ import annotations

import logging
import re
import socket
import threading
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional

from muster.core import own_use
from muster.core.environment import Profiling
from muster.core.gpus import Gpus, GpuValues, mean_of_gpus
from muster.core.train import TrainContext

SECTOR_BYTES = 512  # of /proc/diskstats, whatever the disk's own are
_NO_DISK = re.compile(r"(loop|ram|zram|dm-|md|sr|fd)\d")
_PART = re.compile(r"((sd|hd|vd|xvd)[a-z]+\d+|(nvme\d+n\d+|mmcblk\d+)p\d+)$")

_log = logging.getLogger("muster")

Values = Dict[str, float]


class Counters(NamedTuple):
    """Readings that only grow; rates come from two of them. Ticks, bytes."""
    busy_ticks: int = 0
    all_ticks: int = 0
    read_bytes: int = 0
    written_bytes: int = 0
    received_bytes: int = 0
    sent_bytes: int = 0


def cpu_ticks(stat: str) -> "tuple[int, int]":
    """Of /proc/stat: busy and all. Guest time stands in user time already; waiting for disks is idle."""
    ticks = [int(word) for word in stat.split("\n", 1)[0].split()[1:9]]
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)


def memory_bytes(meminfo: str) -> Values:
    kib = {line.split(":")[0]: int(line.split()[1]) for line in meminfo.splitlines() if len(line.split()) > 1}
    available = kib.get("MemAvailable", kib["MemFree"])
    return {"used_bytes": (kib["MemTotal"] - available) * 1024, "available_bytes": available * 1024}


def disk_bytes(diskstats: str) -> "tuple[int, int]":
    """Read and written, of disks, not of their partitions or what is built of them."""
    read = written = 0
    for words in map(str.split, diskstats.splitlines()):
        if len(words) > 9 and not _NO_DISK.match(words[2]) and not _PART.match(words[2]):
            read += int(words[5]) * SECTOR_BYTES
            written += int(words[9]) * SECTOR_BYTES
    return read, written


def network_bytes(net_dev: str) -> "tuple[int, int]":
    received = sent = 0
    for line in net_dev.splitlines():
        name, colon, rest = line.partition(":")
        words = rest.split()
        if colon and name.strip() != "lo" and len(words) >= 9:
            received += int(words[0])
            sent += int(words[8])
    return received, sent


def rates(before: Counters, after: Counters, seconds: float) -> Dict[str, Values]:
    """Per second, between two readings. Requires: seconds > 0."""
    def per_s(name: str) -> float:
        return max(0, getattr(after, name) - getattr(before, name)) / seconds

    ticks = after.all_ticks - before.all_ticks
    return {"cpu": {"utilization_ratio": min(1.0, (after.busy_ticks - before.busy_ticks) / ticks) if ticks > 0 else 0.0},
            "disk": {"read_bytes_per_s": per_s("read_bytes"), "written_bytes_per_s": per_s("written_bytes")},
            "network": {"received_bytes_per_s": per_s("received_bytes"), "sent_bytes_per_s": per_s("sent_bytes")}}


def mean(samples: List[Mapping[str, Values]]) -> Dict[str, Values]:
    """By group and name. Requires: at least one sample, all of the same names."""
    return {group: {name: sum(sample[group][name] for sample in samples) / len(samples) for name in samples[0][group]}
            for group in samples[0]}


class Proc:
    """Reads the files. Errors: OSError."""

    def __init__(self, root: Path = Path("/proc")) -> None:
        self._root = root

    def counters(self) -> Counters:
        return Counters(*cpu_ticks(self._text("stat")), *disk_bytes(self._text("diskstats")),
                        *network_bytes(self._text("net/dev")))

    def memory(self) -> Values:
        return memory_bytes(self._text("meminfo"))

    def _text(self, name: str) -> str:
        return (self._root / name).read_text(encoding="ascii", errors="replace")


class ProfilerContext:
    """Samples in a thread of its own. On ranks other than 0 it does nothing.

    Where the experiment's file says `profiling: {enabled: true}` it goes on and off by itself, with the batches that the
    training reports; a training that calls `on` or `off` itself decides from then on.
    """

    def __init__(self, train: TrainContext, rank: int, proc: Optional[Proc] = None,
                 clock: Callable[[], float] = time.monotonic, node: str = "", wish: Optional[Profiling] = None) -> None:
        """`node`: what rank 0's is called. `wish`: what the experiment's file says."""
        self._wish = wish
        self._following = threading.Lock()
        self._train = train
        self._rank = rank
        self._proc = proc or Proc()
        self._clock = clock
        self._node = node or socket.gethostname()
        self._end = threading.Event()
        self._thread: Optional[threading.Thread] = None
        self._has_warned = False
        self.follow(0)

    def follow(self, batches: int) -> None:
        """So many batches are trained: what the experiment's file wants from here on. Any thread."""
        with self._following:
            wish = self._wish
            if wish is None or self._rank != 0:
                return
            if wish.end_after_batch is not None and batches > wish.end_after_batch:
                self._wish = None
                self._stop()
            elif self._thread is None and batches >= wish.begin_on_batch:
                self._start(1, 10)

    def on(self, sampling_interval_s: float = 1, samples_per_report: int = 10) -> None:
        """Errors: ValueError; RuntimeError when it is on already. Without /proc it says so once and does nothing."""
        if not 0.01 <= sampling_interval_s <= 3600 or samples_per_report < 1:
            raise ValueError(f"sampling every {sampling_interval_s!r} s, {samples_per_report!r} samples per report: the "
                             "first lies in 0.01..3600, the second is 1 or more")
        if self._wish is not None:  # on by itself so far
            self._wish = None
            self._stop()
        if self._thread is not None:
            raise RuntimeError("the profiler is on already")
        if self._rank == 0:
            self._start(sampling_interval_s, samples_per_report)

    def _start(self, sampling_interval_s: float, samples_per_report: int) -> None:
        try:
            first = self._proc.counters()
            self._proc.memory()
            own = own_use.OwnUse()
        except (OSError, ValueError, LookupError) as error:
            if not self._has_warned:
                _log.warning("the profiler stays off, for this system does not tell what it does: %s", error)
            self._has_warned = True
            self._wish = None
            return
        self._end.clear()
        self._thread = threading.Thread(target=self._run, args=(first, own, sampling_interval_s, samples_per_report),
                                        name="muster-profiler", daemon=True)
        self._thread.start()

    def off(self) -> None:
        """Reports what was sampled since the last report. Nothing when it is off."""
        self._wish = None
        self._stop()

    def _stop(self) -> None:
        if self._thread is None:
            return
        self._end.set()
        self._thread.join(60.0)
        self._thread = None

    def _run(self, before: Counters, own: own_use.OwnUse, interval_s: float, samples_per_report: int) -> None:
        samples: List[Dict[str, Values]] = []
        gpu_samples: List[GpuValues] = []
        begin = self._clock()
        try:
            gpus = Gpus()
            used = own.read()
            while not self._end.wait(interval_s):
                after, uses, end = self._proc.counters(), own.read(), self._clock()
                seconds = max(1e-6, end - begin)
                samples.append({**rates(before, after, seconds), "memory": self._proc.memory(),
                                "trial": own_use.rates(used, uses, seconds, own.ticks_per_s)})
                gpu_samples.append(gpus.sample())
                before, used, begin = after, uses, end
                if len(samples) == samples_per_report:
                    self._report(samples, gpu_samples)
                    samples, gpu_samples = [], []
            if samples:
                self._report(samples, gpu_samples)
        except Exception as error:  # pylint: disable=broad-except
            _log.warning("the profiler ends: %s", error)

    def _report(self, samples: List[Dict[str, Values]], gpu_samples: List[GpuValues]) -> None:
        groups: Dict[str, Dict[str, Any]] = {**mean(list(samples))}
        gpus = mean_of_gpus(gpu_samples)
        if gpus:
            groups["gpu"] = {self._node: gpus}
        for group, values in sorted(groups.items()):
            self._train.report_system_metrics(group, values)
