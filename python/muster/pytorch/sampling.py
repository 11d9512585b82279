"""Which samples each rank sees at each step: a function of (seed, epoch, step, rank), so that any point can be found again.

Pure but for torch's permutation.
"""
from __future__ import annotations

from typing import List, Optional, Sequence, Tuple

import torch

from muster.pytorch.seeds import derived_seed

Key = Tuple[int, int]  # (epoch, index of the sample)


class EpochOrder:
    """The order of one data set, cut into steps. At each step the ranks take neighbouring stretches of the order.

    With `is_even` every rank has as many steps as the others, each with a sample at least: a last step with fewer samples
    than ranks is left out, and any last step that is not full with `drop_last`. Without `is_even` every sample comes
    exactly once, and a rank's last stretch may be empty.
    """

    def __init__(self, length: int, batch_size: int, size: int, *, is_shuffled: bool, drop_last: bool, is_even: bool,
                 seed: int) -> None:
        """`length` in samples, `batch_size` in samples per rank, `size` in ranks. Errors: ValueError without a step."""
        if length < 0 or batch_size < 1:
            raise ValueError(f"a data set of {length} samples in batches of {batch_size}: both are whole numbers above 0")
        self.length = length
        self.global_batch_size = batch_size * size
        self._size = size
        self._is_shuffled = is_shuffled
        self._seed = seed
        self._cached: Optional[Tuple[int, List[int]]] = None
        full, rest = divmod(length, self.global_batch_size)
        is_rest_taken = rest > 0 and not drop_last and (rest >= size or not is_even)
        self.steps = full + int(is_rest_taken)
        if is_even and self.steps == 0:
            raise ValueError(f"{length} samples are no batch of {batch_size} for each of {size} ranks"
                             f"{' (drop_last)' if drop_last else ''}")

    def _order(self, epoch: int) -> Sequence[int]:
        if not self._is_shuffled:
            return range(self.length)
        if self._cached is None or self._cached[0] != epoch:
            generator = torch.Generator().manual_seed(derived_seed(self._seed, "order", epoch))
            self._cached = (epoch, torch.randperm(self.length, generator=generator).tolist())
        return self._cached[1]

    def records(self, step: int) -> int:
        """Samples of all ranks at a step of 0..steps-1."""
        return min(self.global_batch_size, self.length - step * self.global_batch_size)

    def keys(self, epoch: int, step: int, rank: int) -> List[Key]:
        """What `rank` takes. Shape: `batch_size` entries, fewer at a last step that is not full."""
        begin, records = step * self.global_batch_size, self.records(step)
        order = self._order(epoch)
        return [(epoch, order[begin + place])
                for place in range(rank * records // self._size, (rank + 1) * records // self._size)]
