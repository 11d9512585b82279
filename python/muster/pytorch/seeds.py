"""Seeds derived from the trial's seed and what they are for, so that no two uses share a stream. Pure."""
from __future__ import annotations

import hashlib
from typing import Union


def derived_seed(seed: int, *purpose: Union[str, int]) -> int:
    """0..2^63-1, a function of its arguments alone: the head of SHA-256 over their spelling."""
    text = "\0".join([str(seed), *(f"{type(part).__name__}:{part}" for part in purpose)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1
