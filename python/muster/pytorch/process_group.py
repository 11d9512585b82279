"""torch.distributed's default process group, from whatever launched this process: torchrun's variables, mpirun's, srun's."""
from __future__ import annotations

import os
from typing import Mapping, Optional, Tuple

import torch

from muster.core.distributed import DistributedContext
from muster.core.placement import Placement, read_placement


def rendezvous_of(found: Placement, variables: Mapping[str, str]) -> str:
    """Where the ranks meet, as an init_method. Pure. Errors: ValueError that names the missing variable."""
    host = variables.get("MASTER_ADDR") or ("127.0.0.1" if found.local_size == found.size else found.chief_ip)
    if not host:
        raise ValueError(f"{found.source} do not tell where rank 0 is: set MASTER_ADDR to its node")
    port = variables.get("MASTER_PORT") or str(found.ports()[-1])
    if not port.isdigit() or not 0 < int(port) < 65536:
        raise ValueError(f"MASTER_PORT is {port!r}; it is a port number")
    return f"tcp://{host}:{port}"


def device_of(local_rank: int) -> torch.device:
    """This rank's GPU where there are any, else the CPU. Errors: ValueError when the node has fewer GPUs than ranks."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    count = torch.cuda.device_count()
    if count == 1:  # each rank may have been shown its own alone
        return torch.device("cuda", 0)
    if local_rank >= count:
        raise ValueError(f"local rank {local_rank} has no GPU: this process sees {count}")
    return torch.device("cuda", local_rank)


def open_process_group(variables: Optional[Mapping[str, str]] = None) -> Tuple[bool, DistributedContext]:
    """Joins the ranks; whether the process group was made here, so that whoever called ends it, and the ranks.

    One that the script made before is taken as it is. NCCL where there are GPUs, gloo elsewhere.
    Errors: ValueError, RuntimeError of torch, DistributedError.
    """
    variables = os.environ if variables is None else variables
    dist = torch.distributed
    if dist.is_available() and dist.is_initialized():
        return False, DistributedContext.from_torch_distributed()
    found = read_placement(variables)
    if found is None or found.size == 1:
        return False, DistributedContext.single()
    if not dist.is_available():
        raise ValueError(f"{found.source} tell of {found.size} ranks, but this torch was built without torch.distributed")
    device = device_of(found.local_rank)
    if device.type == "cuda":
        torch.cuda.set_device(device)
    backend = "nccl" if device.type == "cuda" else "gloo"
    is_agent_store = variables.get("TORCHELASTIC_USE_AGENT_STORE") == "True"  # torchrun itself listens on the port
    method = "env://" if is_agent_store else rendezvous_of(found, variables)
    dist.init_process_group(backend, init_method=method, rank=found.rank, world_size=found.size)
    try:
        return True, DistributedContext.from_torch_distributed()
    except BaseException:
        dist.destroy_process_group()
        raise
