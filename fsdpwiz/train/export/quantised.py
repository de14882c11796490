"""Weights that bitsandbytes has packed: recognised, and unpacked by its own functions."""

from __future__ import annotations

from typing import Any

import torch


def quant_state(module: Any) -> Any | None:
    """The state that unpacks a 4-bit module's weight, on the parameter or, after sharding, on the module."""
    state = getattr(getattr(module, "weight", None), "quant_state", None)
    return state if state is not None else getattr(module, "quant_state", None)


def is_quantised(module: Any, parameter_name: str) -> bool:
    """Whether this parameter is a packed weight: 4-bit, or 8-bit with its row scales."""
    if parameter_name != "weight":
        return False
    return (
        quant_state(module) is not None or getattr(getattr(module, "weight", None), "SCB", None) is not None
    )


def unpacked_shape(module: Any) -> tuple[int, ...]:
    """The shape before packing."""
    state = quant_state(module)
    return tuple(state.shape) if state is not None else tuple(module.weight.shape)


def unpacked(module: Any, packed: torch.Tensor) -> torch.Tensor:
    """The weight of `module` from its whole `packed` tensor, in the dtype it had before packing."""
    from bitsandbytes import functional

    state = quant_state(module)
    if state is None:
        return functional.int8_vectorwise_dequant(packed, module.weight.SCB.to(packed.device))
    if getattr(state, "packing_format_for_cpu", False):
        packed, state = functional._convert_weight_packed_for_cpu_inverse(packed, state)
    state.to(packed.device)
    return functional.dequantize_4bit(packed, state)
