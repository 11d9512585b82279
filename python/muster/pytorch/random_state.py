"""The random-number generators of one process: their states as plain values, set back bit for bit, or seeded.

Those of Python, of numpy if it is loaded, of torch on the CPU and of this rank's CUDA device.
"""
from __future__ import annotations

import random
import sys
from contextlib import contextmanager
from typing import Any, Dict, Iterator

import torch


def capture(device: torch.device) -> Dict[str, Any]:
    """Tensors, numbers, strings, tuples and None alone, so that any version of torch.load takes it."""
    state: Dict[str, Any] = {"python": random.getstate(), "torch": torch.get_rng_state()}
    if "numpy" in sys.modules:
        name, keys, place, has_gauss, gauss = sys.modules["numpy"].random.get_state()
        state["numpy"] = (name, torch.tensor([int(key) for key in keys], dtype=torch.int64), int(place), int(has_gauss),
                          float(gauss))
    if device.type == "cuda":
        state["cuda"] = torch.cuda.get_rng_state(device)
    return state


def restore(state: Dict[str, Any], device: torch.device) -> None:
    """The reverse of `capture`. A generator that the state does not speak of is left as it is."""
    random.setstate(state["python"])
    torch.set_rng_state(state["torch"])
    if "numpy" in state and "numpy" in sys.modules:
        numpy = sys.modules["numpy"]
        name, keys, place, has_gauss, gauss = state["numpy"]
        numpy.random.set_state((name, numpy.asarray(keys.tolist(), dtype="uint32"), place, has_gauss, gauss))
    if "cuda" in state and device.type == "cuda":
        torch.cuda.set_rng_state(state["cuda"], device)


def seed_cpu(seed: int) -> None:
    """All but CUDA's, at a cost of about 20 µs. `seed`: 0..2^63-1."""
    random.seed(seed)
    torch.default_generator.manual_seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed % (1 << 32))


def seed_all(seed: int) -> None:
    seed_cpu(seed)
    torch.manual_seed(seed)  # CUDA's too, now or when it starts


@contextmanager
def preserved() -> Iterator[None]:
    """Whatever the block draws on the CPU, its surroundings do not notice. Cost: about 30 µs."""
    numpy = sys.modules["numpy"].random if "numpy" in sys.modules else None
    python, torch_state, numpy_state = random.getstate(), torch.get_rng_state(), numpy and numpy.get_state()
    try:
        yield
    finally:
        random.setstate(python)
        torch.set_rng_state(torch_state)
        if numpy is not None:
            numpy.set_state(numpy_state)
