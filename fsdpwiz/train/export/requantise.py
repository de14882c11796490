"""A base weight as 4-bit training saw it: packed and unpacked again by bitsandbytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn
from transformers import BitsAndBytesConfig
from transformers.integrations.bitsandbytes import replace_with_bnb_linear
from transformers.quantizers.auto import AutoHfQuantizer


def as_quantised(
    skeleton: nn.Module, quantization: Mapping[str, Any], dtype: torch.dtype
) -> Callable[[str, torch.Tensor], torch.Tensor]:
    """A function of (name, tensor) that gives what the model held of a base tensor loaded in `dtype`.

    `skeleton` is on the meta device and is changed in place; it tells which weights are packed.
    """
    config = BitsAndBytesConfig(**quantization)
    kept = AutoHfQuantizer.from_config(config).get_modules_to_not_convert(
        skeleton, config.llm_int8_skip_modules
    )
    replace_with_bnb_linear(skeleton, modules_to_not_convert=kept, quantization_config=config)
    packed = {
        f"{name}.weight": module
        for name, module in skeleton.named_modules()
        if hasattr(module, "quant_storage")
    }

    def held(name: str, tensor: torch.Tensor) -> torch.Tensor:
        tensor = tensor.to(dtype) if tensor.is_floating_point() else tensor
        return _packed_and_unpacked(tensor, config) if name in packed else tensor

    return held


def _packed_and_unpacked(tensor: torch.Tensor, config: BitsAndBytesConfig) -> torch.Tensor:
    from bitsandbytes import functional

    packed, state = functional.quantize_4bit(
        tensor,
        compress_statistics=config.bnb_4bit_use_double_quant,
        quant_type=config.bnb_4bit_quant_type,
        quant_storage=config.bnb_4bit_quant_storage,
    )
    return functional.dequantize_4bit(packed, state)
