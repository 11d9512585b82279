"""What the GPUs of this node do, as nvidia-smi tells. Where there is none, there is nothing to tell.

    {"GPU-<uuid>": {"gpu_util": 0..100, "gpu_free_memory": bytes}}

Names and units are Determined's. What a GPU does not tell, such as one that is divided (MIG), is left out. Source: nvidia-smi
--help-query-gpu.
"""
from __future__ import annotations

import logging
import shutil
import subprocess
from typing import Dict, List, Mapping, Sequence

TIMEOUT_S = 5.0     # of one question
FAILURES_MAX = 3    # in a row, then nobody asks any more
_MIB = 1 << 20
_WORDS = ("--query-gpu=uuid,utilization.gpu,memory.free", "--format=csv,noheader,nounits")

_log = logging.getLogger("muster")

GpuValues = Dict[str, Dict[str, float]]  # by uuid


def parse_gpus(csv: str) -> GpuValues:
    """Of nvidia-smi's lines. Errors: ValueError for a line of another form."""
    found: GpuValues = {}
    for line in filter(None, map(str.strip, csv.splitlines())):
        uuid, utilization, free_mib = (word.strip() for word in line.split(","))
        values = {"gpu_util": utilization, "gpu_free_memory": free_mib}
        found[uuid] = {name: float(word) * (_MIB if name == "gpu_free_memory" else 1)
                       for name, word in values.items() if not word.startswith("[")}  # [N/A], [Not Supported]
    return found


def mean_of_gpus(samples: Sequence[Mapping[str, Mapping[str, float]]]) -> GpuValues:
    """Of each GPU and name over the samples that have it."""
    lists: Dict[str, Dict[str, List[float]]] = {}
    for sample in samples:
        for uuid, values in sample.items():
            for name, value in values.items():
                lists.setdefault(uuid, {}).setdefault(name, []).append(value)
    return {uuid: {name: sum(each) / len(each) for name, each in values.items()} for uuid, values in lists.items()}


class Gpus:
    """Asks for a sample. One thread."""

    def __init__(self) -> None:
        """Finds nvidia-smi on PATH, if there is one that answers."""
        self._command = shutil.which("nvidia-smi")
        self._failures = FAILURES_MAX - 1  # one is enough to show that there is none
        self.sample()

    def sample(self) -> GpuValues:
        """{} where nothing is told. Cost: a process, for at most TIMEOUT_S."""
        if self._command is None:
            return {}
        try:
            done = subprocess.run([self._command, *_WORDS], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  timeout=TIMEOUT_S, check=True)
            found = parse_gpus(done.stdout)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            self._failed(error)
            return {}
        self._failures = 0
        return found

    def _failed(self, error: Exception) -> None:
        self._failures += 1
        if self._failures < FAILURES_MAX:
            return
        _log.info("the GPUs are not profiled: %s", error)
        self._command = None
