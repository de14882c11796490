"""LoRA added to base weights, one tensor at a time, as PEFT's `merge` does it.

PEFT's own layers, on the meta device, say which weights are adapted and how they are scaled; the sum is
taken in float32 and rounded once, when it is written.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from peft.tuners.lora import LoraLayer
from peft.utils.other import transpose
from torch import nn

from fsdpwiz.train.export.names import PEFT_PREFIX

ADAPTER = "default"
_UNMERGEABLE = (
    "alora_invocation_tokens",
    "arrow_config",
    "layer_replication",
    "monteclora_config",
    "target_parameters",
    "trainable_token_indices",
    "use_bdlora",
    "use_qalora",
    "kasa_config",
    "velora_config",
)
_CHANGING_THE_BASE = ("pissa", "olora", "loftq", "corda", "lora_ga")


def unmergeable(config: Any) -> str | None:
    """The key of `config` (a mapping or a LoraConfig) that stands against adapter and merged model, if any.

    Some have no merged form; initialisations that change the base weights leave an adapter that fits no
    base model anybody has.
    """
    value = config.get if isinstance(config, Mapping) else lambda key: getattr(config, key, None)
    if str(value("init_lora_weights")).startswith(_CHANGING_THE_BASE):
        return "init_lora_weights"
    return next((key for key in _UNMERGEABLE if value(key)), None)


def peft_skeleton(skeleton: nn.Module, config: LoraConfig) -> PeftModel:
    """`skeleton` (on the meta device, changed in place) with the adapter's layers, which hold no data."""
    config = copy.deepcopy(config)
    config.init_lora_weights = False
    config.inference_mode = False
    with torch.device("meta"):
        return get_peft_model(
            skeleton, config, adapter_name=ADAPTER, autocast_adapter_dtype=False, low_cpu_mem_usage=True
        )


class LoraMerge:
    """Which base tensors an adapter changes, and to what.

    `tensors` are the adapter's, whole, under the names PEFT stores them by (no adapter name in them); only
    the rank that merges needs them.
    """

    def __init__(self, peft_model: PeftModel, tensors: Mapping[str, torch.Tensor]) -> None:
        self._tensors = tensors
        self._layers = {
            name.removeprefix(PEFT_PREFIX): module
            for name, module in peft_model.named_modules()
            if isinstance(module, LoraLayer)
        }

    def changes(self, name: str) -> bool:
        """Whether the tensor of this base name is the sum of a base tensor and an adapter's."""
        module, _, kind = name.rpartition(".")
        layer = self._layers.get(module)
        return layer is not None and (kind == "weight" or (kind == "bias" and layer.lora_bias[ADAPTER]))

    def merged(self, name: str, base: torch.Tensor) -> torch.Tensor:
        """The adapted tensor in float32, on the base tensor's device."""
        module, _, kind = name.rpartition(".")
        layer, weight = self._layers[module], base.float()
        if kind == "bias":
            return weight + self._get(module, "lora_B.bias", base) * layer.scaling[ADAPTER]
        delta = self._delta(module, layer, weight)
        if layer.lora_variant.get(ADAPTER) is None:
            return weight + delta
        return self._dora(module, layer, weight, delta)

    def _delta(self, module: str, layer: Any, weight: torch.Tensor) -> torch.Tensor:
        if f"{PEFT_PREFIX}{module}.lora_embedding_A" in self._tensors:
            first, second = (self._get(module, f"lora_embedding_{part}", weight) for part in "AB")
            return transpose(second @ first, True) * layer.scaling[ADAPTER]
        first, second = (self._get(module, f"lora_{part}.weight", weight) for part in "AB")
        return transpose(second @ first, layer.fan_in_fan_out) * layer.scaling[ADAPTER]

    def _dora(self, module: str, layer: Any, weight: torch.Tensor, delta: torch.Tensor) -> torch.Tensor:
        magnitude = self._get(module, "lora_magnitude_vector", weight)
        norm = torch.linalg.norm(transpose(weight + delta, layer.fan_in_fan_out), dim=1)
        return transpose((magnitude / norm).view(-1, 1), layer.fan_in_fan_out) * (weight + delta)

    def _get(self, module: str, part: str, like: torch.Tensor) -> torch.Tensor:
        stored = self._tensors[f"{PEFT_PREFIX}{module}.{part}"]
        return stored.to(device=like.device, dtype=torch.float32)
