"""Weights of another trial's checkpoint, put into a model that begins with them. Used by both adapters; needs PyTorch alone.

Names that a model has and a checkpoint lacks, or the reverse, are an error: a training that silently began with chance would be
taken for one that began with the other's weights.
"""
from __future__ import annotations

from pathlib import Path
from typing import Any, Collection, List, Mapping

import torch

from muster.core import CheckpointError


def load_weights(model: torch.nn.Module, weights: Mapping[str, Any], checkpoint: str, tied: Collection[str] = ()) -> None:
    """`tied`: names that are stored under another one. The model is as it was when this fails.

    Errors: CheckpointError that names what does not fit.
    """
    own = model.state_dict()
    missing = [name for name in own if name not in weights and name not in tied]
    unknown = [name for name in weights if name not in own]
    other = [name for name in own if name in weights and own[name].shape != weights[name].shape]
    troubles = [f"{what} {_shown(names)}" for what, names in
                (("it lacks", missing), ("the model has no", unknown), ("of another shape are", other)) if names]
    if troubles:
        raise CheckpointError(f"the weights of checkpoint {checkpoint} do not fit the model: {'; '.join(troubles)}; build the model that wrote it, or "
                              "load what fits yourself, from context.checkpoint.restore_path()")
    model.load_state_dict(dict(weights), strict=False)


def _shown(names: List[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def read_weights(folder: Path, checkpoint: str) -> "dict[str, Any]":
    """What transformers' save_pretrained wrote, whole or in shards. Errors: CheckpointError."""
    weights: "dict[str, Any]" = {}
    for name in ("model*.safetensors", "pytorch_model*.bin"):
        files = sorted(folder.glob(name))
        for file in files:
            weights.update(_read(file))
        if files:
            return weights
    raise CheckpointError(f"checkpoint {checkpoint} holds neither model.safetensors nor pytorch_model.bin; it must be one of transformers' Trainer "
                          "(adapters of PEFT alone are not loaded)")


def _read(file: Path) -> "dict[str, Any]":
    if file.suffix == ".safetensors":
        from safetensors.torch import load_file  # pylint: disable=import-outside-toplevel,import-error
        found: "dict[str, Any]" = load_file(str(file))
        return found
    from muster.pytorch.saved_state import read_tensors  # pylint: disable=import-outside-toplevel
    tensors: "dict[str, Any]" = read_tensors(file)
    return tensors
