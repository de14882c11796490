"""Model folders compared bit for bit."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any


def tensors_of(folder: Path, pattern: str = "model*.safetensors") -> dict[str, Any]:
    """Every tensor of a model folder, read by safetensors' own loader."""
    from safetensors.torch import load_file

    found: dict[str, Any] = {}
    for path in sorted(folder.glob(pattern)):
        found.update(load_file(path))
    return found


def differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Names that only one has, or whose tensors differ in shape, dtype or any bit."""
    import torch

    def same(name: str) -> bool:
        if name not in one or name not in other:
            return False
        a, b = one[name].contiguous(), other[name].contiguous()
        same_form = a.shape == b.shape and a.dtype == b.dtype
        return same_form and torch.equal(a.reshape(-1).view(torch.uint8), b.reshape(-1).view(torch.uint8))

    return [name for name in sorted({*one, *other}) if not same(name)]
