"""The mean of gradients over all ranks, summed in an order that never changes.

DistributedDataParallel rebuilds its buckets after the first backward pass of a process, so that a resumed training may sum
in another order than its uninterrupted twin. Here the buckets follow from the parameters alone: in their order, by device
and type, up to BUCKET_BYTES each, packed flat. The exchange begins when the backward pass has ended, all buckets at once.
"""
from __future__ import annotations

from typing import Any, Dict, List, Sequence, Tuple

import torch

BUCKET_BYTES = 25 << 20  # as DistributedDataParallel has


def bucketed(parameters: Sequence[torch.Tensor], limit_bytes: int = BUCKET_BYTES) -> List[List[torch.Tensor]]:
    """Pure. Shape: every parameter once, in their order within each (device, type); a bucket may hold one that is larger."""
    buckets: List[List[torch.Tensor]] = []
    open_ones: Dict[Tuple[torch.device, torch.dtype], Tuple[List[torch.Tensor], int]] = {}
    for parameter in parameters:
        kind = (parameter.device, parameter.dtype)
        size = parameter.numel() * parameter.element_size()
        bucket, filled = open_ones.get(kind, ([], 0))
        if not bucket or filled + size > limit_bytes:
            bucket, filled = [], 0
            buckets.append(bucket)
        bucket.append(parameter)
        open_ones[kind] = (bucket, filled + size)
    return buckets


class GradientMean:
    """For one optimizer's parameters, of one process group. All ranks call `average` at the same steps."""

    def __init__(self, size: int) -> None:
        """`size` in ranks; nothing happens for one."""
        self._size = size
        self._buckets: List[List[torch.Tensor]] = []
        self._known: Tuple[int, ...] = ()

    def average(self, parameters: Sequence[torch.Tensor]) -> None:
        """Every rank's .grad becomes the mean of all. A rank without a gradient counts as zero; where no rank has one, it
        stays None. Errors: TypeError for a sparse gradient."""
        if self._size == 1:
            return
        self._learn(parameters)
        flats = [_exchangeable(self._packed(bucket)) for bucket in self._buckets]
        works = [torch.distributed.all_reduce(flat, async_op=True) for flat in flats]
        for bucket, flat, work in zip(self._buckets, flats, works):
            work.wait()
            _unpack(bucket, flat)

    def _learn(self, parameters: Sequence[torch.Tensor]) -> None:
        trained = [parameter for parameter in parameters if parameter.requires_grad]
        names = tuple(map(id, trained))
        if names != self._known:
            self._known, self._buckets = names, bucketed(trained)

    def _packed(self, bucket: List[torch.Tensor]) -> torch.Tensor:
        """The gradients, divided by the number of ranks, and behind them one flag each: whether this rank has one."""
        flags = [0.0 if parameter.grad is None else 1.0 for parameter in bucket]
        pieces = []
        for parameter in bucket:
            if parameter.grad is None:
                pieces.append(torch.zeros(parameter.numel(), dtype=parameter.dtype, device=parameter.device))
            elif parameter.grad.is_sparse:
                raise TypeError(f"a parameter of shape {tuple(parameter.shape)} has a sparse gradient, which several ranks "
                                "cannot average here; make its layer with sparse=False")
            else:
                pieces.append(parameter.grad.reshape(-1))
        pieces.append(torch.tensor(flags, dtype=bucket[0].dtype, device=bucket[0].device))
        return torch.cat(pieces).div_(self._size)


def _exchangeable(flat: torch.Tensor) -> torch.Tensor:
    """gloo does not add all types of 16 bits."""
    return flat.float() if flat.device.type == "cpu" and flat.element_size() < 4 else flat


def _unpack(bucket: List[torch.Tensor], flat: torch.Tensor) -> None:
    begin = 0
    for place, parameter in enumerate(bucket):
        mean = flat[begin:begin + parameter.numel()].view(parameter.shape)
        begin += parameter.numel()
        if parameter.grad is not None:
            parameter.grad.copy_(mean)
        elif flat[place - len(bucket)].item() > 0:  # looked at only here, for it waits for a GPU
            parameter.grad = mean.to(parameter.dtype, copy=True)


def broadcast_from_chief(tensors: Sequence[torch.Tensor]) -> None:
    """Rank 0's values on every rank, in buckets. All ranks call it, with tensors of the same shapes in the same order."""
    with torch.no_grad():
        for bucket in bucketed(tensors):
            flat = torch.cat([tensor.detach().reshape(-1) for tensor in bucket])
            torch.distributed.broadcast(flat.view(torch.uint8), 0)  # as bytes, which every backend takes of every type
            begin = 0
            for tensor in bucket:
                end = begin + tensor.numel()
                tensor.copy_(flat[begin:end].view(tensor.shape))
                begin = end


def trained_parameters(optimizer: Any) -> List[torch.Tensor]:
    """Of all its groups, in their order."""
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]
