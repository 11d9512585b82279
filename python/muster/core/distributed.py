"""The ranks of one training, and how they exchange small Python values. Tensors are torch's or NCCL's business."""
from __future__ import annotations

import os
import secrets
import socket
from typing import Any, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from muster.core.errors import DistributedError
from muster.core.placement import Placement, read_placement
from muster.core.star import Lone, Star, StarChief, StarWorker, listen

CONNECT_TIMEOUT_S = 300.0
OPERATION_TIMEOUT_S = 1800.0  # as torch's process groups have


class _Local(NamedTuple):
    """Where a rank's node-local star is: `port` is None but for the local chief."""
    cross_rank: int
    local_rank: int
    port: Optional[int]


class DistributedContext:
    """`rank` of `size`; `local_rank` of `local_size` on this node; this node is `cross_rank` of `cross_size`.

    Rank 0 is the chief, local rank 0 a node's local chief. Every method but `close` must be called by all ranks (of the
    node, for `*_local`) in the same order: another order is an error that names the ranks, and so is a rank that died or
    does not come within `operation_timeout_s`. After an error the context is of no further use.
    Values travel pickled, between processes that have proved that they hold the same `authkey`.
    """

    def __init__(self, *, rank: int, size: int, local_rank: int, local_size: int, cross_rank: int, cross_size: int,
                 chief_ip: Optional[str] = None, port: Union[int, Sequence[int], None] = None,
                 authkey: Union[bytes, str, None] = None, connect_timeout_s: float = CONNECT_TIMEOUT_S,
                 operation_timeout_s: float = OPERATION_TIMEOUT_S, _listener: Optional[socket.socket] = None) -> None:
        """Connects the ranks. Several ports: the chief takes the first that is free, the others find out which.

        Requires: chief_ip, port and authkey, equal on all ranks, when size > 1.
        Errors: ValueError; DistributedError that names the ranks which did not come within `connect_timeout_s`.
        """
        for name, number, count in (("rank", rank, size), ("local_rank", local_rank, local_size),
                                    ("cross_rank", cross_rank, cross_size)):
            if not 0 <= number < count:
                raise ValueError(f"{name} {number} does not lie in 0..{count - 1}")
        self.rank, self.size = rank, size
        self.local_rank, self.local_size = local_rank, local_size
        self.cross_rank, self.cross_size = cross_rank, cross_size
        self.chief_ip = chief_ip
        self._timeouts = (connect_timeout_s, operation_timeout_s)
        self._star: Star = Lone()
        self._local_star: Star = Lone()
        if size == 1:
            return
        if chief_ip is None or port is None or not authkey:
            raise ValueError(f"{size} ranks need chief_ip, port and authkey to find each other")
        ports = [port] if isinstance(port, int) else list(port)
        key = authkey.encode() if isinstance(authkey, str) else authkey
        self._star = self._join(chief_ip, ports, key, rank, size, local_size == size and _is_loopback(chief_ip), _listener)
        try:
            self._local_star = self._join_local(key)
        except BaseException:
            self.close()
            raise

    def _join(self, host: str, ports: Sequence[int], key: bytes, rank: int, size: int, is_loopback: bool,
              listener: Optional[socket.socket] = None) -> Star:
        if rank == 0:
            return StarChief(listener or listen(ports, is_loopback, size), size, key, *self._timeouts)
        return StarWorker(host, ports, rank, size, key, *self._timeouts)

    def _join_local(self, key: bytes) -> Star:
        """A second star within the node, so that nodes need not wait for each other."""
        listener = listen([0], True, self.local_size) if self.local_rank == 0 and self.local_size > 1 else None
        port = listener.getsockname()[1] if listener else None
        places: List[_Local] = self.allgather(_Local(self.cross_rank, self.local_rank, port))
        here = sorted(place.local_rank for place in places if place.cross_rank == self.cross_rank)
        if here != list(range(self.local_size)):
            raise DistributedError(f"node {self.cross_rank} should have local ranks 0..{self.local_size - 1}, "
                                   f"but has {here}")
        if self.local_size == 1:
            return Lone()
        ports = [place.port for place in places if place.cross_rank == self.cross_rank and place.port is not None]
        return self._join("127.0.0.1", ports, key, self.local_rank, self.local_size, True, listener)

    # ---- exchanging values ----

    def gather(self, value: Any) -> Optional[List[Any]]:
        """All values in the order of ranks, on the chief; None on the others, which do not wait."""
        return self._star.gather(value)

    def allgather(self, value: Any) -> List[Any]:
        """All values in the order of ranks, on every rank."""
        return self._star.allgather(value)

    def broadcast(self, value: Any) -> Any:
        """The chief's value, on every rank; the chief does not wait."""
        return self._star.broadcast(value)

    def gather_local(self, value: Any) -> Optional[List[Any]]:
        return self._local_star.gather(value)

    def allgather_local(self, value: Any) -> List[Any]:
        return self._local_star.allgather(value)

    def broadcast_local(self, value: Any) -> Any:
        return self._local_star.broadcast(value)

    def close(self) -> None:
        """Others that still wait for this rank get an error. May be called again."""
        self._local_star.close()
        self._star.close()

    def __enter__(self) -> "DistributedContext":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    # ---- where the ranks come from ----

    @classmethod
    def single(cls) -> "DistributedContext":
        """One rank, alone."""
        return cls(rank=0, size=1, local_rank=0, local_size=1, cross_rank=0, cross_size=1)

    @classmethod
    def from_environment(cls, variables: Optional[Mapping[str, str]] = None, **timeouts: float) -> "DistributedContext":
        """As torchrun, mpirun or srun say in the environment; one rank when none of them started this process.

        Requires, of several ranks: MUSTER_AUTHKEY, the same secret on all. The chief's node is MUSTER_CHIEF_ADDR, else
        what the launcher says; the port is MUSTER_STAR_PORT, else one of a few derived from the launch's id.
        Errors: ValueError that names the variable; DistributedError.
        """
        variables = os.environ if variables is None else variables
        found = read_placement(variables)
        if found is None or found.size == 1:
            return cls.single()
        authkey = variables.get("MUSTER_AUTHKEY")
        if not authkey:
            raise ValueError(f"{found.source} tell of {found.size} ranks, which need a secret in common: set MUSTER_AUTHKEY "
                             "before they start (export MUSTER_AUTHKEY=$(head -c 16 /dev/urandom | od -An -tx1 | "
                             "tr -d ' \\n')), or use from_torch_distributed(), which needs none")
        chief = variables.get("MUSTER_CHIEF_ADDR") or ("127.0.0.1" if found.local_size == found.size else found.chief_ip)
        if not chief:
            raise ValueError(f"{found.source} do not tell where rank 0 is: set MUSTER_CHIEF_ADDR or MASTER_ADDR to its node")
        port = variables.get("MUSTER_STAR_PORT")
        if port is not None and not (port.isdigit() and 0 < int(port) < 65536):
            raise ValueError(f"MUSTER_STAR_PORT is {port!r}; it is a port number")
        return cls(**_fields(found), chief_ip=chief, port=int(port) if port else found.ports(), authkey=authkey, **timeouts)

    @classmethod
    def from_torch_distributed(cls, chief_ip: Optional[str] = None, **timeouts: float) -> "DistributedContext":
        """The ranks of torch's default process group. Port and key go through the group itself.

        `chief_ip`: rank 0's address as other nodes reach it; default MASTER_ADDR, else rank 0's host name.
        Requires: torch.distributed.init_process_group() has been called, and with NCCL torch.cuda.set_device().
        Errors: ValueError, DistributedError.
        """
        import torch.distributed as dist  # pylint: disable=import-outside-toplevel
        if not (dist.is_available() and dist.is_initialized()):
            raise ValueError("call torch.distributed.init_process_group() before from_torch_distributed()")
        rank, size = dist.get_rank(), dist.get_world_size()
        if size == 1:
            return cls.single()
        hosts: List[Any] = [None] * size
        dist.all_gather_object(hosts, _host_of(os.environ, rank, size))
        local_rank, local_size, cross_rank, cross_size = _grouped(hosts, rank)
        offer: List[Any] = [None]
        listener = None
        if rank == 0:
            is_loopback = local_size == size
            listener = listen([0], is_loopback, size)
            address = "127.0.0.1" if is_loopback else chief_ip or os.environ.get("MASTER_ADDR") or socket.gethostname()
            offer = [(address, listener.getsockname()[1], secrets.token_bytes(32))]
        dist.broadcast_object_list(offer, src=0)
        address, port, key = offer[0]
        return cls(rank=rank, size=size, local_rank=local_rank, local_size=local_size, cross_rank=cross_rank,
                   cross_size=cross_size, chief_ip=address, port=port, authkey=key, _listener=listener, **timeouts)

    @classmethod
    def from_deepspeed(cls, chief_ip: Optional[str] = None, **timeouts: float) -> "DistributedContext":
        """The ranks of DeepSpeed. Requires: deepspeed.init_distributed() has been called. Errors: ValueError."""
        import deepspeed  # pylint: disable=import-outside-toplevel,import-error
        if not deepspeed.comm.is_initialized():
            raise ValueError("call deepspeed.init_distributed() before from_deepspeed()")
        return cls.from_torch_distributed(chief_ip, **timeouts)


def _fields(found: Placement) -> Any:
    return {"rank": found.rank, "size": found.size, "local_rank": found.local_rank, "local_size": found.local_size,
            "cross_rank": found.cross_rank, "cross_size": found.cross_size}


def _is_loopback(host: str) -> bool:
    return host == "localhost" or host.startswith("127.")


def _host_of(variables: Mapping[str, str], rank: int, size: int) -> str:
    """What the ranks of one node have in common: torchrun's group when it tells, the host's name otherwise."""
    group = variables.get("GROUP_RANK")
    is_told = variables.get("RANK") == str(rank) and variables.get("WORLD_SIZE") == str(size) and group is not None
    return f"group {group}" if is_told else socket.gethostname()


def _grouped(hosts: Sequence[str], rank: int) -> Tuple[int, int, int, int]:
    """local_rank, local_size, cross_rank, cross_size. Nodes are numbered in the order of their lowest ranks."""
    mine = [other for other, host in enumerate(hosts) if host == hosts[rank]]
    nodes = list(dict.fromkeys(hosts))
    return mine.index(rank), len(mine), nodes.index(hosts[rank]), len(nodes)


def check_alone(variables: Mapping[str, str]) -> None:
    """Errors: ValueError when a launcher started several ranks, for they need a DistributedContext."""
    found = read_placement(variables)
    if found is not None and found.size > 1:
        raise ValueError(
            f"this process is rank {found.rank} of {found.size} ({found.source}), so init() needs to know the others: "
            "pass distributed=DistributedContext.from_torch_distributed() after torch.distributed.init_process_group(), "
            "or distributed=DistributedContext.from_environment()")
