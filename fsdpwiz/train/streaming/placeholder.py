"""A model whose parameters have their shape, their dtype and an address, and no memory.

Accelerate 1.15 maps the optimizer's parameters to their shards by `data_ptr`, which is 0 for every tensor on
the meta device: the optimizer would then change the wrong ones. An element that is expanded to the full shape
has an address of its own.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


def build(config: Any, dtype: torch.dtype, **arguments: Any) -> Any:
    """The model of `config`: parameters empty, buffers computed, in evaluation mode.

    `arguments` are those of `from_config`.
    """
    from accelerate import init_empty_weights
    from transformers import AutoModelForCausalLM

    with init_empty_weights(include_buffers=False):
        model: Any = AutoModelForCausalLM.from_config(config, dtype=dtype, **arguments)
    model.tie_weights()
    _replace(model)
    return model.eval()


def is_placeholder(tensor: Tensor) -> bool:
    """Whether the tensor has less memory than its shape needs."""
    return tensor.numel() > 1 and tensor.untyped_storage().nbytes() < tensor.numel() * tensor.element_size()


def _replace(model: nn.Module) -> None:
    replaced: dict[nn.Parameter, nn.Parameter] = {}
    for module in model.modules():
        for name, parameter in module._parameters.items():
            if parameter is None or parameter.device.type != "meta":
                continue
            if parameter not in replaced:
                replaced[parameter] = _placeholder(parameter)
            module._parameters[name] = replaced[parameter]


def _placeholder(parameter: nn.Parameter) -> nn.Parameter:
    element = torch.zeros((1,) * max(parameter.ndim, 1), dtype=parameter.dtype)
    return nn.Parameter(
        element.expand(parameter.shape) if parameter.ndim else element.reshape(()),
        requires_grad=parameter.requires_grad,
    )
