"""The adapter in a checkpoint, and the base model it is to be merged into."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from peft import LoraConfig

from fsdpwiz.train.export.adapter import stored_form
from fsdpwiz.train.export.architecture import Architecture, architecture
from fsdpwiz.train.export.base import Base
from fsdpwiz.train.export.checkpoint import Checkpoint
from fsdpwiz.train.export.merge import ADAPTER, peft_skeleton, unmergeable
from fsdpwiz.train.export.names import PEFT_PREFIX, base_name
from fsdpwiz.train.export.problems import bad_source
from fsdpwiz.train.export.stored_state import Origin, plain_names
from fsdpwiz.train.export.weights import SafetensorsWeights, Weights


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAdapter:
    """The adapter's configuration and tensors, and what merges them."""

    config: LoraConfig
    peft_model: Any
    tensors: Mapping[str, torch.Tensor]


def read_adapter(checkpoint: Checkpoint, config: Any, dtype: torch.dtype) -> StoredAdapter | None:
    """The adapter of a checkpoint that holds one, read whole; None for a checkpoint of a whole model."""
    weights = checkpoint.weights
    stored = [name for name in weights.tensors if ".lora_" in name]
    if not stored:
        return None
    given = checkpoint.adapter_config()
    if given is None:
        reason = "it holds a LoRA adapter and no adapter_config.json, which tells its scale: put it beside it"
        raise bad_source(checkpoint.folder, reason)
    lora = _lora_config(checkpoint, given)
    skeleton = architecture(config, dtype).skeleton
    peft_model = peft_skeleton(skeleton, lora)
    return StoredAdapter(
        config=lora, peft_model=peft_model, tensors=_adapter_tensors(weights, stored, peft_model)
    )


def _lora_config(checkpoint: Checkpoint, given: Mapping[str, Any]) -> LoraConfig:
    try:
        lora = LoraConfig.from_peft_type(**{"peft_type": "LORA", "task_type": "CAUSAL_LM", **given})
    except (TypeError, ValueError, KeyError) as error:
        raise bad_source(
            checkpoint.folder, f"its adapter's configuration is not one of LoRA: {error}"
        ) from error
    if not isinstance(lora, LoraConfig):
        raise bad_source(checkpoint.folder, "its adapter is not LoRA")
    if (key := unmergeable(lora)) is not None:
        raise bad_source(checkpoint.folder, f"an adapter with `{key}` cannot be merged")
    return lora


def _adapter_tensors(weights: Weights, stored: list[str], peft_model: Any) -> dict[str, torch.Tensor]:
    start = stored[0].find(PEFT_PREFIX)
    prefix = stored[0][: max(start, 0)]
    named = {name.removeprefix(prefix): name for name in weights.tensors if name.startswith(prefix)}
    tensors = {name: weights.read(full).clone() for name, full in named.items()}
    if any(f".{ADAPTER}." in name or name.endswith(f".{ADAPTER}") for name in tensors):
        return stored_form(peft_model, tensors)
    return tensors


def base_origins(
    checkpoint: Checkpoint, base: Base | None, shape: Architecture, adapter: StoredAdapter
) -> dict[str, Origin]:
    """The base model's tensors, those that the adapter replaces whole taken from it."""
    if base is None or base.folder is None:
        name = f"`{base.name_or_path}` is not here" if base is not None else "nothing names it"
        raise bad_source(
            checkpoint.folder, f"its base model is needed and {name}: give its folder with `--model`"
        )
    weights = SafetensorsWeights(base.folder, inside=False)
    names = plain_names(weights, (*shape.expected, *shape.tied))
    origins = {name: Origin(weights=weights, name=stored) for name, stored in names.items()}
    replacing = _Held({name: tensor for name, tensor in adapter.tensors.items() if ".lora_" not in name})
    for stored in replacing.tensors:
        origins[base_name(stored) or stored] = Origin(weights=replacing, name=stored)
    return origins


class _Held:
    """Tensors in memory as `Weights`."""

    def __init__(self, held: Mapping[str, torch.Tensor]) -> None:
        self._held = held
        self.tensors = {name: (tuple(tensor.shape), tensor.dtype) for name, tensor in held.items()}

    def read(self, name: str) -> torch.Tensor:
        return self._held[name]
