"""Bytes of what a rank holds of a training's state."""

from __future__ import annotations

from typing import Any

import torch


def state_bytes(optimizer: Any) -> int:
    """This rank's part of what the optimizer trains, and of its state."""
    trained = (parameter for group in optimizer.param_groups for parameter in group["params"])
    states = (value for state in optimizer.state.values() for value in state.values())
    return sum(map(local_bytes, trained)) + sum(map(local_bytes, states))


def local_bytes(value: Any) -> int:
    """Bytes of this rank's part of a tensor; 0 of anything else."""
    if not isinstance(value, torch.Tensor):
        return 0
    local = value.to_local() if hasattr(value, "to_local") else value
    return int(local.numel() * local.element_size())
