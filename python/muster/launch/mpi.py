"""Starts a script's ranks by Open MPI's mpirun, each with torchrun's variables too.

    python -m muster.launch.mpi --np 4 train.py

On a job's nodes by its node list; from one's own mpirun line, start `python -m muster.launch.torch_distributed train.py`.
"""
from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from typing import List, Mapping, Optional, Sequence

from muster.core.placement import tasks_per_node
from muster.launch.ranks import device_files
from muster.launch.topology import hosts_of, visible_gpus


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(prog="python -m muster.launch.mpi", description=__doc__, allow_abbrev=False,
                                    formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("--np", type=int, metavar="N", help="ranks in all; default as many as all nodes have room for")
    found.add_argument("--nproc-per-node", "--nproc_per_node", type=int, metavar="N",
                       help="ranks on each node; default the job's tasks per node, else one for each GPU, else one")
    found.add_argument("--prefix", action="store_true", help="begin every line of a rank's output with [rank=N]")
    found.add_argument("script", nargs=argparse.REMAINDER, help="script.py, -m module or a command, with its arguments")
    return found


def slots(per_node: Optional[int], variables: Mapping[str, str], gpu_count: int) -> "dict[str, int]":
    """Ranks by host, in the order of the job's node list; {"localhost": n} outside jobs. Errors: ValueError."""
    hosts = hosts_of(variables.get("SLURM_JOB_NODELIST", "")) or ["localhost"]
    told = tasks_per_node(variables.get("SLURM_TASKS_PER_NODE", ""))
    if per_node is None and len(told) == len(hosts):
        return dict(zip(hosts, told))
    return {host: per_node or gpu_count or 1 for host in hosts}


def mpirun_command(mpirun: str, options: argparse.Namespace, room: Mapping[str, int]) -> List[str]:
    """Errors: ValueError when there is less room than ranks."""
    total = sum(room.values())
    count = options.np or total
    if options.np and options.nproc_per_node is None and list(room) == ["localhost"]:
        room = {"localhost": count}
    elif not 0 < count <= total:
        raise ValueError(f"--np {count}, but {', '.join(f'{host} has room for {n}' for host, n in room.items())}")
    if not options.script:
        raise ValueError("which script? give it after the options")
    prefix = ["--prefix"] if options.prefix else []
    return [mpirun, "-np", str(count), "--host", ",".join(f"{host}:{n}" for host, n in room.items()),
            sys.executable, "-m", "muster.launch.torch_distributed", *prefix, *options.script]


def main(arguments: Sequence[str]) -> int:
    found = parser()
    options = found.parse_args(arguments)
    mpirun = shutil.which("mpirun")
    if mpirun is None:
        found.error("there is no mpirun in PATH; install Open MPI, or use muster.launch.torch_distributed")
    version = subprocess.run([mpirun, "--version"], capture_output=True, text=True, check=False).stdout
    if "Open MPI" not in version and "OpenRTE" not in version:
        found.error(f"{mpirun} is not Open MPI's ({(version.splitlines() or ['it says nothing'])[0]}); its ranks' variables "
                    "are not known here")
    try:
        command = mpirun_command(mpirun, options, slots(options.nproc_per_node, os.environ,
                                                        visible_gpus(os.environ, device_files())))
    except ValueError as error:
        found.error(str(error))
    sys.stdout.flush()
    os.execv(mpirun, command)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
