"""The number format of the exported weights: asked for, else the base model's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from fsdpwiz.train.export.safetensors_file import read_header

NAMES = {
    "bf16": "bfloat16",
    "fp16": "float16",
    "half": "float16",
    "fp32": "float32",
    "float": "float32",
}


def dtype_of(name: str | torch.dtype) -> torch.dtype:
    """`torch.dtype` of its name, with or without `torch.`; ValueError for what is not one."""
    if isinstance(name, torch.dtype):
        return name
    short = name.removeprefix("torch.")
    dtype = getattr(torch, NAMES.get(short, short), None)
    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        raise ValueError(f"`{name}` is not a floating point dtype: give float32, bfloat16 or float16")
    return dtype


def base_dtype(config: Any, folder: Path | None) -> torch.dtype | None:
    """The dtype that a base model's configuration names, else that of most of its stored elements."""
    named = getattr(config, "dtype", None)
    if named is not None:
        return dtype_of(named)
    counts: dict[torch.dtype, int] = {}
    for path in sorted(folder.glob("*.safetensors")) if folder else ():
        for stored in read_header(path).values():
            if stored.dtype.is_floating_point:
                counts[stored.dtype] = counts.get(stored.dtype, 0) + stored.elements
    return max(counts, key=lambda dtype: counts[dtype]) if counts else None
