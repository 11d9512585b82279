"""`DataLoader`: what a trial says of its data, and the batches a rank draws from it, from any point on.

Which samples come when is sampling.py's; random augmentation follows the sample: before each one, the generators of
Python, numpy and torch are seeded from (seed, epoch, index), so that it depends neither on the number of workers or ranks
nor on where a training was interrupted.
"""
from __future__ import annotations

from contextlib import nullcontext
from typing import Any, Callable, Iterator, List, NamedTuple, Optional, Tuple

import torch
from torch.utils import data

from muster.pytorch import random_state
from muster.pytorch.sampling import EpochOrder, Key
from muster.pytorch.seeds import derived_seed

_sample_seed: Optional[int] = None  # of the sample that this process is making; None outside


def sample_generator() -> torch.Generator:
    """A generator of one's own for the sample under way, the same whenever this sample comes in this epoch.

    Call it in a data set's __getitem__. Errors: RuntimeError elsewhere.
    """
    if _sample_seed is None:
        raise RuntimeError("sample_generator() is for a data set's __getitem__, called by a loader of the Trainer's")
    return torch.Generator().manual_seed(derived_seed(_sample_seed, "generator"))


class _SeededSamples(data.Dataset):  # type: ignore[type-arg]
    """A data set by keys of (epoch, index)."""

    def __init__(self, dataset: Any, seed: int, seeds_samples: bool) -> None:
        self._dataset = dataset
        self._seed = seed
        self._seeds_samples = seeds_samples

    def __getitem__(self, key: Key) -> Any:
        global _sample_seed  # pylint: disable=global-statement
        epoch, index = key
        _sample_seed = derived_seed(self._seed, "sample", epoch, index)
        try:
            if self._seeds_samples:
                random_state.seed_cpu(_sample_seed)
            return self._dataset[index]
        finally:
            _sample_seed = None


class DataLoader:
    """A recipe: the Trainer makes the torch.utils.data.DataLoader, sharded over the ranks.

    `batch_size` is per rank. Training drops a last step that has fewer samples than ranks; with `drop_last` any that is
    not full. Validation takes every sample once, whatever `drop_last` says of training. `seed_samples=False` saves about
    20 µs a sample where the data set draws no random numbers. The other arguments are torch's, and mean the same.
    Errors: TypeError for a data set without len(), and ValueError for the wrong numbers.
    """

    def __init__(self, dataset: Any, batch_size: int = 1, shuffle: bool = False, *, num_workers: int = 0,
                 collate_fn: Optional[Callable[[List[Any]], Any]] = None, pin_memory: bool = False, drop_last: bool = False,
                 timeout: float = 0, worker_init_fn: Optional[Callable[[int], None]] = None,
                 prefetch_factor: Optional[int] = None, persistent_workers: bool = False,
                 multiprocessing_context: Any = None, seed_samples: bool = True) -> None:
        has_both = hasattr(dataset, "__len__") and hasattr(dataset, "__getitem__")
        if not has_both or isinstance(dataset, data.IterableDataset):
            raise TypeError(f"{type(dataset).__name__} has no length or no __getitem__: the Trainer finds its way back to "
                            "any sample by index, so give it a data set that has both, not an iterable one")
        if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
            raise ValueError(f"batch_size is {batch_size!r}; it is a whole number of samples per rank, above 0")
        self.dataset = dataset
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.drop_last = drop_last
        self.num_workers = num_workers
        self.seed_samples = seed_samples
        self._options = {"num_workers": num_workers, "collate_fn": collate_fn, "pin_memory": pin_memory, "timeout": timeout,
                         "worker_init_fn": worker_init_fn, "persistent_workers": persistent_workers,
                         "multiprocessing_context": multiprocessing_context}
        if prefetch_factor is not None:
            self._options["prefetch_factor"] = prefetch_factor

    def shard(self, rank: int, size: int, seed: int, *, is_training: bool) -> "ShardedLoader":
        """The share of one rank. Errors: ValueError when training has not one whole step."""
        order = EpochOrder(len(self.dataset), self.batch_size, size, is_shuffled=self.shuffle,
                           drop_last=self.drop_last and is_training, is_even=is_training, seed=seed)
        return ShardedLoader(self, order, rank, seed, self._options)


class Draw(NamedTuple):
    """One batch. `records`: its samples on this rank; `all_records`: on all ranks."""
    batch: Any
    records: int
    all_records: int


class _Steps:
    """A batch sampler whose epoch and first step are set before each iteration. Empty stretches are passed over."""

    def __init__(self, order: EpochOrder, rank: int) -> None:
        self.order = order
        self.rank = rank
        self.epoch = 0
        self.first_step = 0

    def steps(self) -> Iterator[Tuple[int, List[Key]]]:
        for step in range(self.first_step, self.order.steps):
            keys = self.order.keys(self.epoch, step, self.rank)
            if keys:
                yield step, keys

    def __iter__(self) -> Iterator[List[Key]]:
        return (keys for _, keys in self.steps())

    def __len__(self) -> int:
        return self.order.steps - self.first_step


class ShardedLoader:
    """One rank's batches. `steps` per epoch, the same on all ranks."""

    def __init__(self, recipe: DataLoader, order: EpochOrder, rank: int, seed: int, options: Any) -> None:
        self.steps = order.steps
        self.length = order.length
        self.global_batch_size = order.global_batch_size
        self._sampler = _Steps(order, rank)
        self._is_seeding = recipe.num_workers == 0 and recipe.seed_samples  # this very process's generators
        self._loader: Any = data.DataLoader(
            _SeededSamples(recipe.dataset, seed, recipe.seed_samples), batch_sampler=self._sampler,
            generator=torch.Generator().manual_seed(derived_seed(seed, "workers", rank)), **options)

    def batches(self, epoch: int, first_step: int = 0) -> Iterator[Draw]:
        """From a step of an epoch to its end. The process's generators are touched by a data set that is read in this very
        process with seed_samples=False, and by nothing else.

        Requires: an earlier iteration of the same loader is not used any more.
        """
        self._sampler.epoch, self._sampler.first_step = epoch, first_step
        with random_state.preserved():
            batches = iter(self._loader)
        return self._draws(batches)

    def _draws(self, batches: Iterator[Any]) -> Iterator[Draw]:
        for step, keys in self._sampler.steps():
            with random_state.preserved() if self._is_seeding else nullcontext():
                batch = next(batches)
            yield Draw(batch, len(keys), self._sampler.order.records(step))
