"""Starts a script's ranks with torchrun's variables: on this node, or on all nodes of a job.

    python -m muster.launch.torch_distributed --nproc-per-node 2 train.py --lr 0.1
    srun python -m muster.launch.torch_distributed train.py     # one task per node, or one per rank
"""
from __future__ import annotations

import argparse
import os
import shutil
import sys
from typing import List, Mapping, Optional, Sequence

from muster.launch.ranks import KILL_GRACE_S, Ranks, device_files, environment_of, script_command
from muster.launch.topology import (Topology, Wishes, free_port, is_batch_script_of_many_nodes, rank_variables,
                                    read_topology, visible_gpus)

MODULE = "muster.launch.torch_distributed"


def parser(module: str = MODULE, description: str = __doc__ or "") -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(prog=f"python -m {module}", description=description, allow_abbrev=False,
                                    formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("--nproc-per-node", "--nproc_per_node", type=_count, metavar="N",
                       help="ranks on each node; default one for each GPU, else one")
    found.add_argument("--nnodes", type=int, metavar="N", help="nodes, where neither srun nor mpirun tells")
    found.add_argument("--node-rank", "--node_rank", type=int, metavar="N", help="which of them this is, from 0")
    found.add_argument("--master-addr", "--master_addr", metavar="HOST", help="where rank 0 is; default the first node")
    found.add_argument("--master-port", "--master_port", type=int, metavar="PORT", help="default derived from the job's id")
    found.add_argument("--prefix", action="store_true", help="begin every line of a rank's output with [rank=N]")
    found.add_argument("--kill-grace", type=float, default=KILL_GRACE_S, metavar="SECONDS",
                       help="how long other ranks have to end after one failed (default %(default)s)")
    found.add_argument("script", nargs=argparse.REMAINDER, help="script.py, -m module or a command, with its arguments")
    return found


def _count(text: str) -> Optional[int]:
    if text == "auto":
        return None
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is neither auto nor a number above 0")
    return int(text)


def topology_of(options: argparse.Namespace, variables: Mapping[str, str]) -> Topology:
    """Errors: ValueError."""
    wishes = Wishes(options.nproc_per_node, options.nnodes, options.node_rank, options.master_addr, options.master_port)
    return read_topology(wishes, variables, visible_gpus(variables, device_files()))


def srun_command(arguments: Sequence[str], variables: Mapping[str, str], module: str) -> List[str]:
    """From the batch script of a job with several nodes: once on each. Errors: ValueError when there is no srun."""
    srun = shutil.which("srun", path=variables.get("PATH"))
    nodes = variables.get("SLURM_JOB_NUM_NODES", variables.get("SLURM_NNODES", ""))
    if srun is None:
        raise ValueError(f"this job has {nodes} nodes, and there is no srun in PATH to reach the others")
    return [srun, f"--nodes={nodes}", f"--ntasks={nodes}", "--ntasks-per-node=1", sys.executable, "-m", module, *arguments]


def launch(options: argparse.Namespace, topology: Topology, extra_of_rank: Sequence[Sequence[str]] = ()) -> int:
    """Starts this launcher's ranks; the answer is the exit code. `extra_of_rank`: more arguments for each of them."""
    command = script_command(options.script)
    port = topology.port or free_port()
    restarts = os.environ.get("SLURM_RESTART_COUNT", "0")
    count = topology.ranks_here
    variables = [environment_of(os.environ, rank_variables(topology, index, port, restarts), count)
                 for index in range(count)]
    commands = [[*command, *(extra_of_rank[index] if extra_of_rank else ())] for index in range(count)]
    return Ranks(options.prefix, options.kill_grace).run(
        commands, variables, [topology.first_rank + index for index in range(count)])


def torchrun_command(options: argparse.Namespace, topology: Topology) -> List[str]:
    """The same ranks by torchrun itself. Errors: ValueError for what torchrun cannot do."""
    if options.prefix:
        raise ValueError("--prefix is not torchrun's; leave out --torchrun")
    if topology.ranks_here != topology.local_size:
        raise ValueError("--torchrun starts all ranks of a node: start one task per node (srun --ntasks-per-node=1)")
    words = script_command(options.script)
    if words[0] == sys.executable:
        words = words[1:]
    else:
        words = ["--no_python", *words]
    where = [f"--nnodes={topology.nodes}", f"--node_rank={topology.node_rank}", f"--master_addr={topology.master_addr}",
             f"--master_port={topology.port or free_port()}"]
    return [sys.executable, "-m", "torch.distributed.run", f"--nproc_per_node={topology.local_size}", *where,
            "--redirects", "1", "--tee", "1", *words]  # Debian's torchrun needs these two under Python 3.11


def main(arguments: Sequence[str]) -> int:
    found = parser()
    found.add_argument("--torchrun", action="store_true",
                       help="start the ranks by torch's own launcher, which ends with 1 whatever the script ended with")
    options = found.parse_args(arguments)
    try:
        if is_batch_script_of_many_nodes(os.environ) and options.nnodes is None:
            command = srun_command(arguments, os.environ, MODULE)
        else:
            topology = topology_of(options, os.environ)
            if not options.torchrun:
                return launch(options, topology)
            command = torchrun_command(options, topology)
    except ValueError as error:
        found.error(str(error))
    sys.stdout.flush()
    os.execv(command[0], command)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
