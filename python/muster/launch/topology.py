"""How many ranks on how many nodes, and where rank 0 is: from options and the environment. Pure but for `free_port`."""
from __future__ import annotations

import re
import socket
from dataclasses import dataclass
from typing import Dict, List, Mapping, Optional

from muster.core.placement import Placement, read_placement


@dataclass(frozen=True)
class Topology:
    """What one launcher starts: ranks `first_rank`.. on node `node_rank` of `nodes`, `ranks_here` of `size` in all.

    `local_size` are the ranks of this node, of which this launcher may start but one, the `first_local_rank`th.
    `port` None: a free one of this node will do, as there is no other. `run_id` is the same for all launchers of a training.
    """
    nodes: int
    node_rank: int
    local_size: int
    first_local_rank: int
    ranks_here: int
    first_rank: int
    size: int
    master_addr: str
    port: Optional[int]
    run_id: str


@dataclass(frozen=True)
class Wishes:
    """The options; None is "not said"."""
    nproc_per_node: Optional[int] = None
    nnodes: Optional[int] = None
    node_rank: Optional[int] = None
    master_addr: Optional[str] = None
    master_port: Optional[int] = None


def read_topology(wishes: Wishes, variables: Mapping[str, str], gpu_count: int) -> Topology:
    """`gpu_count`: GPUs that this process sees. Errors: ValueError that names the option or variable.

    Started once per node, it starts that node's ranks, one for each GPU or a single one; started once per rank, as by
    mpirun or by srun with several tasks per node, it becomes that rank.
    """
    found = read_placement(variables)
    if found is not None and found.source == "RANK and WORLD_SIZE":
        raise ValueError("RANK and WORLD_SIZE are set: another launcher, torchrun perhaps, has started this one; use either")
    if found is None:
        return _by_options(wishes, gpu_count)
    for name, value in (("--nnodes", wishes.nnodes), ("--node-rank", wishes.node_rank)):
        if value is not None:
            raise ValueError(f"{name} is given, but {found.source} tell already; leave it out")
    if found.local_size > 1 or found.source.startswith("OMPI"):
        return _one_rank(found, wishes)
    per_node = wishes.nproc_per_node or gpu_count or 1
    return Topology(found.cross_size, found.cross_rank, per_node, 0, per_node, found.cross_rank * per_node,
                    found.cross_size * per_node, _master(found, wishes),
                    wishes.master_port or (found.ports()[-1] if found.cross_size > 1 else None), found.launch_id)


def _by_options(wishes: Wishes, gpu_count: int) -> Topology:
    nodes, node_rank = wishes.nnodes or 1, wishes.node_rank or 0
    if not 0 <= node_rank < nodes:
        raise ValueError(f"--node-rank {node_rank} does not lie in 0..{nodes - 1}")
    if nodes > 1 and (wishes.master_addr is None or wishes.master_port is None or wishes.node_rank is None):
        raise ValueError(f"--nnodes {nodes} needs --node-rank, --master-addr and --master-port, as no srun or mpirun tells")
    per_node = wishes.nproc_per_node or gpu_count or 1
    address = wishes.master_addr or "127.0.0.1"
    return Topology(nodes, node_rank, per_node, 0, per_node, node_rank * per_node, nodes * per_node, address,
                    wishes.master_port, f"{address}:{wishes.master_port}" if wishes.master_port else "alone")


def _one_rank(found: Placement, wishes: Wishes) -> Topology:
    if wishes.nproc_per_node not in (None, 1):
        raise ValueError(f"--nproc-per-node {wishes.nproc_per_node}, but {found.source} tell of {found.local_size} tasks on "
                         "this node, each of which is a rank; start one task per node (srun --ntasks-per-node=1), or "
                         "leave the option out")
    return Topology(found.cross_size, found.cross_rank, found.local_size, found.local_rank, 1, found.rank, found.size,
                    _master(found, wishes), wishes.master_port or found.ports()[-1], found.launch_id)


def _master(found: Placement, wishes: Wishes) -> str:
    if wishes.master_addr is not None:
        return wishes.master_addr
    if found.local_size == found.size:
        return "127.0.0.1"
    if found.chief_ip is None:
        raise ValueError(f"{found.source} do not tell where rank 0 is: give --master-addr")
    return found.chief_ip


def rank_variables(topology: Topology, index: int, port: int, restarts: str) -> Dict[str, str]:
    """What torchrun says to a rank; `index` counts this launcher's ranks from 0."""
    rank, local_rank = topology.first_rank + index, topology.first_local_rank + index
    return {name: str(value) for name, value in {
        "RANK": rank, "LOCAL_RANK": local_rank, "WORLD_SIZE": topology.size, "LOCAL_WORLD_SIZE": topology.local_size,
        "GROUP_RANK": topology.node_rank, "GROUP_WORLD_SIZE": topology.nodes, "ROLE_NAME": "default", "ROLE_RANK": rank,
        "ROLE_WORLD_SIZE": topology.size, "MASTER_ADDR": topology.master_addr, "MASTER_PORT": port,
        "TORCHELASTIC_RUN_ID": topology.run_id, "TORCHELASTIC_RESTART_COUNT": restarts,
        "TORCHELASTIC_MAX_RESTARTS": 0}.items()}


def is_batch_script_of_many_nodes(variables: Mapping[str, str]) -> bool:
    """Whether this is the batch script of a job with several nodes, which no srun has spread over them yet."""
    nodes = variables.get("SLURM_JOB_NUM_NODES", variables.get("SLURM_NNODES", "1"))
    return "SLURM_JOB_ID" in variables and nodes.isdigit() and int(nodes) > 1 and read_placement(variables) is None


def visible_gpus(variables: Mapping[str, str], device_names: List[str]) -> int:
    """By CUDA_VISIBLE_DEVICES, else SLURM_GPUS_ON_NODE, else the device files there are."""
    shown = variables.get("CUDA_VISIBLE_DEVICES")
    if shown is not None:
        return len([device for device in shown.split(",") if device.strip() not in ("", "-1", "NoDevFiles")])
    told = variables.get("SLURM_GPUS_ON_NODE", "")
    if told.isdigit():
        return int(told)
    return len([name for name in device_names if re.fullmatch(r"nvidia\d+", name)])


def hosts_of(nodes: str) -> List[str]:
    """"n[03-05,9]-ib,m1" is n03-ib, n04-ib, n05-ib, n9-ib, m1. Errors: ValueError for brackets that do not close."""
    if not re.fullmatch(r"(?:[^\[\]]|\[[^\[\]]*\])*", nodes):
        raise ValueError(f"node list {nodes!r} has a bracket that does not close")
    hosts: List[str] = []
    for part in re.findall(r"(?:[^,\[]|\[[^\]]*\])+", nodes):
        names = [""]
        for text, inside in re.findall(r"([^\[\]]+)|\[([^\]]*)\]", part):
            names = [name + piece for name in names for piece in ([text] if text else _range(inside))]
        hosts += names
    return hosts


def _range(text: str) -> List[str]:
    found: List[str] = []
    for piece in text.split(","):
        first, _, last = piece.partition("-")
        if not (first.isdigit() and (not last or last.isdigit())):
            raise ValueError(f"{piece!r} in a node list is no number and no range of them")
        found += [str(number).zfill(len(first)) for number in range(int(first), int(last or first) + 1)]
    return found


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port
