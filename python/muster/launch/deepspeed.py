"""Starts a script's ranks as DeepSpeed's launcher does: torchrun's variables, and --local_rank=N among the arguments.

    python -m muster.launch.deepspeed --nproc-per-node 2 train.py --deepspeed_config ds.json

DeepSpeed's own launcher reaches other nodes by ssh; here srun does, or starts this once per node.
"""
from __future__ import annotations

import importlib.util
import os
import sys
from typing import Sequence

from muster.launch import torch_distributed
from muster.launch.topology import is_batch_script_of_many_nodes

MODULE = "muster.launch.deepspeed"


def main(arguments: Sequence[str]) -> int:
    found = torch_distributed.parser(MODULE, __doc__ or "")
    found.add_argument("--no-local-rank", "--no_local_rank", action="store_true",
                       help="leave --local_rank out; the script reads LOCAL_RANK")
    options = found.parse_args(arguments)
    if importlib.util.find_spec("deepspeed") is None:
        found.error("DeepSpeed is not installed (no module named deepspeed); muster.launch.torch_distributed does without")
    try:
        if is_batch_script_of_many_nodes(os.environ) and options.nnodes is None:
            command = torch_distributed.srun_command(arguments, os.environ, MODULE)
        else:
            topology = torch_distributed.topology_of(options, os.environ)
            os.environ.update(CROSS_RANK=str(topology.node_rank), CROSS_SIZE=str(topology.nodes),
                              LOCAL_SIZE=str(topology.local_size))
            extra = [[] if options.no_local_rank else [f"--local_rank={topology.first_local_rank + index}"]
                     for index in range(topology.ranks_here)]
            return torch_distributed.launch(options, topology, extra)
    except ValueError as error:
        found.error(str(error))
    sys.stdout.flush()
    os.execv(command[0], command)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
