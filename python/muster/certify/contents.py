"""What checkpoints and metric series contain, value by value, and where two of them differ.

Files are compared by what is in them, not byte for byte: two files of torch.save may hold the same tensors in other bytes.
"""
from __future__ import annotations

import hashlib
import json
import math
import re
import struct
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple

from muster.core.metrics import read_metrics
from muster.core.storage import RESOURCES, list_files

TORCH_SUFFIXES = (".pt", ".pth", ".ckpt", ".bin")
Leaf = Tuple[str, Any]
_OF_STEP = re.compile(r".* at (\d+): ")


def leaves(value: Any, place: str = "") -> Iterator[Leaf]:
    """(place, leaf) of nested dicts, lists and tuples, in the order of places within a dict. A leaf is anything else.

    An empty container is a leaf, so that nothing vanishes.
    """
    if isinstance(value, Mapping) and value:
        for name in sorted(value, key=repr):
            yield from leaves(value[name], f"{place}.{name}" if place else str(name))
    elif isinstance(value, (list, tuple)) and value and not _is_flat(value):
        for index, item in enumerate(value):
            yield from leaves(item, f"{place}[{index}]")
    else:
        yield place, value


def _is_flat(values: Any) -> bool:
    """Many plain numbers, such as a generator's state: one leaf."""
    return len(values) > 16 and all(isinstance(value, (int, float)) for value in values)


def is_tensor(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def digest(leaf: Any) -> str:
    """SHA-256 over type, shape and every bit of a leaf; NaN and -0.0 too."""
    found = hashlib.sha256()
    if is_tensor(leaf):
        flat = leaf.detach().cpu().contiguous().reshape(-1)
        found.update(f"{leaf.dtype} {tuple(leaf.shape)} ".encode())
        found.update(flat.view(sys.modules["torch"].uint8).numpy().tobytes() if flat.numel() else b"")
    elif isinstance(leaf, float):
        found.update(b"float " + struct.pack("<d", leaf))
    elif isinstance(leaf, bytes):
        found.update(b"bytes " + leaf)
    elif hasattr(leaf, "dtype") and hasattr(leaf, "tobytes"):  # numpy
        found.update(f"{leaf.dtype} {getattr(leaf, 'shape', ())} ".encode() + leaf.tobytes())
    else:
        found.update(f"{type(leaf).__name__} {leaf!r}".encode())
    return found.hexdigest()


def read_file(path: Path) -> Any:
    """A checkpoint's file as nested values; bytes when it is of no kind that is known here."""
    if path.suffix == ".json":
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            return path.read_bytes()
    if path.suffix in TORCH_SUFFIXES:
        try:
            from muster.pytorch.saved_state import read_tensors  # pylint: disable=import-outside-toplevel
            return read_tensors(path)
        except Exception:  # pylint: disable=broad-except
            return path.read_bytes()
    return path.read_bytes()


def of_checkpoint(folder: Path) -> Dict[str, Any]:
    """{"state.pt: models[0].weight": leaf, ...}. Errors: StorageError."""
    found: Dict[str, Any] = {}
    for relative in list_files(folder, lambda path: path != RESOURCES and path != "metadata.json", may_link=True):
        if not relative.endswith("/"):
            for place, leaf in leaves(read_file(folder / relative)):
                found[f"{relative}: {place}" if place else relative] = leaf
    return found


def of_series(run_dir: Path) -> Dict[str, Any]:
    """{"validation at 10: accuracy": 0.9, ...}, system metrics left out: they are not the training's."""
    found: Dict[str, Any] = {}
    for group, rows in read_metrics(run_dir).items():
        for row in rows:
            if row.steps is not None:
                for place, leaf in leaves(row.metrics):
                    found[f"{group} at {row.steps}: {place}"] = leaf
                if row.batch_metrics is not None:
                    found[f"{group} at {row.steps}: batches"] = json.dumps(row.batch_metrics)
    return found


def step_of(place: str) -> Optional[int]:
    """The step that a place of a series is of; None of a checkpoint's place."""
    found = _OF_STEP.match(place)
    return None if found is None else int(found[1])


def digest_of(contents: Mapping[str, Any]) -> str:
    """One SHA-256 for all of it."""
    found = hashlib.sha256()
    for place in sorted(contents):
        found.update(f"{place}\0{digest(contents[place])}\n".encode())
    return found.hexdigest()


@dataclass(frozen=True)
class Difference:
    """`amount`: by how much floating-point values differ, relative to the greater magnitude of the two leaves; None where
    that has no meaning: a place that one of them lacks, whole numbers, other shapes or types, NaN."""
    place: str
    text: str
    amount: Optional[float]


def differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> List[Difference]:
    """In the order of steps and places. [] means the same, bit for bit."""
    found: List[Difference] = []
    for place in sorted({*one, *other}, key=lambda place: (step_of(place) or 0, place)):
        if place not in one or place not in other:
            found.append(Difference(place, "only in " + ("the first" if place in one else "the second"), None))
        elif digest(one[place]) != digest(other[place]):
            found.append(_difference(place, one[place], other[place]))
    return found


def _difference(place: str, one: Any, other: Any) -> Difference:
    if is_tensor(one) and is_tensor(other) and one.shape == other.shape and one.dtype == other.dtype \
            and one.is_floating_point():
        apart = (one.double() - other.double()).abs().max().item()
        scale = max(one.double().abs().max().item(), other.double().abs().max().item())
        return Difference(place, f"tensors of {tuple(one.shape)} differ by up to {apart:.3g}", _ratio(apart, scale))
    if isinstance(one, float) and isinstance(other, float):
        return Difference(place, f"{one!r} and {other!r}", _ratio(abs(one - other), max(abs(one), abs(other))))
    return Difference(place, f"{_short(one)} and {_short(other)}", None)


def _ratio(apart: float, scale: float) -> Optional[float]:
    return apart / scale if math.isfinite(apart) and math.isfinite(scale) and scale > 0 else None


def _short(value: Any) -> str:
    if is_tensor(value):
        return f"{value.dtype} of {tuple(value.shape)}"
    text = f"{len(value)} bytes" if isinstance(value, bytes) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
