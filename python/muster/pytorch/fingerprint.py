"""What must be the same for a resumed training to be bit for bit its uninterrupted twin, and what differs when it is not."""
from __future__ import annotations

import hashlib
import platform
import sys
from pathlib import Path
from typing import Any, Dict, List, Mapping, Sequence, Tuple

import torch


def cpu_kind(cpuinfo: str) -> Dict[str, str]:
    """Model and instruction sets from /proc/cpuinfo; kernels are chosen by the latter. Pure."""
    fields: Dict[str, str] = {}
    for line in cpuinfo.splitlines():
        name, _, value = line.partition(":")
        fields.setdefault(name.strip(), value.strip())
    flags = fields.get("flags") or fields.get("Features") or ""
    return {"model": fields.get("model name") or fields.get("CPU part") or platform.machine(),
            "instructions": hashlib.sha256(" ".join(sorted(flags.split())).encode()).hexdigest()[:16]}


def of_process(device: torch.device) -> Dict[str, Any]:
    """Of this rank: hardware, threads and library versions."""
    try:
        cpuinfo = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        cpuinfo = ""
    cpu = cpu_kind(cpuinfo)
    found: Dict[str, Any] = {
        "cpu model": cpu["model"], "cpu instructions": cpu["instructions"], "threads": torch.get_num_threads(),
        "python": platform.python_version(), "torch": str(torch.__version__),
        "torch build": hashlib.sha256(torch.__config__.show().encode()).hexdigest()[:16],
        "deterministic algorithms": torch.are_deterministic_algorithms_enabled(), "device": device.type}
    if "numpy" in sys.modules:
        found["numpy"] = str(sys.modules["numpy"].__version__)
    if device.type == "cuda":
        found.update({"gpu": torch.cuda.get_device_name(device), "cuda": torch.version.cuda,
                      "cudnn": torch.backends.cudnn.version(), "cudnn benchmark": torch.backends.cudnn.benchmark,
                      "tf32": [torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32]})
    return found


def of_ranks(ranks: Sequence[Tuple[Mapping[str, Any], int]], training: Mapping[str, Any]) -> Dict[str, Any]:
    """Of the whole training. `ranks`, in their order: what `of_process` says of each, and its node's number. Pure.

    What all ranks have in common stands once, as a plain value; what they do not, as a list in the order of ranks.
    """
    processes, nodes = [process for process, _ in ranks], [node for _, node in ranks]
    found: Dict[str, Any] = {"world size": len(ranks), "ranks per node": [nodes.count(node) for node in sorted(set(nodes))]}
    for name in dict.fromkeys(name for process in processes for name in process):
        values = [process.get(name) for process in processes]
        found[name] = values[0] if all(value == values[0] for value in values) else values
    found.update(training)
    return found


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> List[str]:
    """One line for each thing that is not the same, in the order of `now`. Pure."""
    return [f"{name} was {before.get(name)!r}, is {now.get(name)!r}" for name in dict.fromkeys([*now, *before])
            if before.get(name) != now.get(name)]


def limits(now: Mapping[str, Any]) -> List[str]:
    """Why a training like this cannot promise to repeat itself at all; [] when it can. Pure."""
    found = []
    devices = now.get("device")
    if "cuda" in (devices if isinstance(devices, list) else [devices]):
        if now.get("deterministic algorithms") is not True:
            found.append("GPU kernels may sum in any order: pass deterministic=True to pytorch.init()")
        if now.get("cudnn benchmark") not in (False, None):
            found.append("torch.backends.cudnn.benchmark picks kernels by their speed of the moment: set it to False")
    if now.get("seeded samples") is False and now.get("loader workers"):
        found.append("loader workers draw random numbers from where they stand: leave seed_samples=True")
    return found
