"""Which rank this process is, as its launcher says in the environment: torchrun, Open MPI's mpirun or srun. Pure."""
from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import List, Mapping, Optional, Tuple

PORTS_PER_JOB = 8
_PORT_FIRST, _PORT_COUNT = 20000, 8000


@dataclass(frozen=True)
class Placement:
    """A process among `size` ranks: `local_rank` of `local_size` on its node, which is `cross_rank` of `cross_size`.

    `chief_ip` is an address or name of rank 0's node, None when the launcher does not tell. `launch_id` is the same for
    all ranks of one launch. `source` names the variables it came from.
    """
    rank: int
    size: int
    local_rank: int
    local_size: int
    cross_rank: int
    cross_size: int
    chief_ip: Optional[str]
    launch_id: str
    source: str

    def ports(self) -> Tuple[int, ...]:
        """Where the chief may listen when nobody said: the same few ports for every rank, by the launch's name."""
        digest = hashlib.sha256(self.launch_id.encode()).digest()
        first = _PORT_FIRST + int.from_bytes(digest[:4], "big") % _PORT_COUNT
        return tuple(first + offset for offset in range(PORTS_PER_JOB))


def read_placement(variables: Mapping[str, str]) -> Optional[Placement]:
    """None when no launcher started this process as one of its ranks. Errors: ValueError that names the variable.

    torchrun comes first, as it may run below the others; then mpirun, which may run below srun.
    """
    if "RANK" in variables and "WORLD_SIZE" in variables:
        return _checked(_of_torchrun(variables))
    if "OMPI_COMM_WORLD_RANK" in variables:
        return _checked(_of_mpirun(variables))
    if "SLURM_PROCID" in variables and _is_slurm_step(variables):
        return _checked(_of_srun(variables))
    return None


def _whole(variables: Mapping[str, str], name: str, default: Optional[int] = None) -> int:
    text = variables.get(name)
    if text is None and default is not None:
        return default
    if text is None:
        raise ValueError(f"{name} is not set, but the launcher's other variables are")
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{name} is {text!r}; it is a whole number") from None


def _checked(found: Placement) -> Placement:
    for name, rank, size in (("rank", found.rank, found.size), ("local rank", found.local_rank, found.local_size),
                             ("cross rank", found.cross_rank, found.cross_size)):
        if not 0 <= rank < size:
            raise ValueError(f"{found.source}: {name} {rank} does not lie in 0..{size - 1}")
    return found


def _of_torchrun(variables: Mapping[str, str]) -> Placement:
    rank, size = _whole(variables, "RANK"), _whole(variables, "WORLD_SIZE")
    local_size = _whole(variables, "LOCAL_WORLD_SIZE", size)
    return Placement(
        rank=rank, size=size, local_rank=_whole(variables, "LOCAL_RANK", rank % local_size), local_size=local_size,
        cross_rank=_whole(variables, "GROUP_RANK", rank // local_size),
        cross_size=_whole(variables, "GROUP_WORLD_SIZE", -(-size // local_size)),
        chief_ip=variables.get("MASTER_ADDR"),
        launch_id="torchrun {} {} {}".format(*(variables.get(name, "") for name in
                                               ("TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "MASTER_PORT"))),
        source="RANK and WORLD_SIZE")


def _of_mpirun(variables: Mapping[str, str]) -> Placement:
    rank, size = _whole(variables, "OMPI_COMM_WORLD_RANK"), _whole(variables, "OMPI_COMM_WORLD_SIZE")
    local_size = _whole(variables, "OMPI_COMM_WORLD_LOCAL_SIZE", size)
    local_rank = _whole(variables, "OMPI_COMM_WORLD_LOCAL_RANK", rank % local_size)
    return Placement(
        rank=rank, size=size, local_rank=local_rank, local_size=local_size,
        cross_rank=_whole(variables, "OMPI_COMM_WORLD_NODE_RANK_OF_JOB", rank // local_size),
        cross_size=-(-size // local_size), chief_ip=variables.get("MASTER_ADDR"),
        launch_id="mpirun " + variables.get("PMIX_NAMESPACE", variables.get("OMPI_MCA_ess_base_jobid", "")),
        source="OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE")


def _is_slurm_step(variables: Mapping[str, str]) -> bool:
    """A batch script has SLURM_PROCID=0 and SLURM_NTASKS of the whole job, yet is one process: srun's tasks say more."""
    is_told = "SLURM_STEP_NODELIST" in variables or "SLURM_STEP_NUM_TASKS" in variables
    return is_told or variables["SLURM_PROCID"] != "0"


def _of_srun(variables: Mapping[str, str]) -> Placement:
    rank = _whole(variables, "SLURM_PROCID")
    size = _whole(variables, "SLURM_STEP_NUM_TASKS", _whole(variables, "SLURM_NTASKS", 1))
    cross_size = _whole(variables, "SLURM_STEP_NUM_NODES", _whole(variables, "SLURM_NNODES", 1))
    cross_rank = _whole(variables, "SLURM_NODEID", 0)
    counts = tasks_per_node(variables.get("SLURM_STEP_TASKS_PER_NODE", variables.get("SLURM_TASKS_PER_NODE", "")))
    local_size = counts[cross_rank] if len(counts) == cross_size else -(-size // cross_size)
    nodes = variables.get("SLURM_STEP_NODELIST", variables.get("SLURM_JOB_NODELIST", ""))
    return Placement(
        rank=rank, size=size, local_rank=_whole(variables, "SLURM_LOCALID", rank % local_size), local_size=local_size,
        cross_rank=cross_rank, cross_size=cross_size, chief_ip=first_host(nodes),
        # Clusters on one host count their jobs alike: those of one number must not meet at one port.
        launch_id="srun {} {} {}.{}.{}".format(*(variables.get(name, "") for name in
                                                 ("SLURM_CLUSTER_NAME", "DET_CLUSTER_ID", "SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT"))),
        source="SLURM_PROCID and SLURM_NTASKS")


def tasks_per_node(text: str) -> List[int]:
    """"2(x3),1" is [2, 2, 2, 1]. Errors: ValueError."""
    counts: List[int] = []
    for part in filter(None, text.split(",")):
        match = re.fullmatch(r"(\d+)(?:\(x(\d+)\))?", part)
        if not match:
            raise ValueError(f"SLURM_STEP_TASKS_PER_NODE is {text!r}; it reads like 2(x3),1")
        counts += [int(match.group(1))] * int(match.group(2) or 1)
    return counts


def first_host(nodes: str) -> Optional[str]:
    """Of "n[03-05,9]-ib,m1" it is "n03-ib"; None of an empty list."""
    match = re.match(r"([^,\[]*)((?:\[[^\]]*\][^,\[]*)*)", nodes)
    if not match or not nodes:
        return None
    return match.group(1) + re.sub(r"\[(\w+)[^\]]*\]", r"\1", match.group(2))
