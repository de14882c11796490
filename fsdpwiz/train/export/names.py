"""Parameter names as the architecture knows them: what wrappers add to them is taken off."""

from __future__ import annotations

import re

WRAPPERS = frozenset({"_checkpoint_wrapped_module", "_orig_mod", "_fsdp_wrapped_module"})
PEFT_PREFIX = "base_model.model."
_ADAPTER = re.compile(r"(?:^|\.)(?:lora_\w+|modules_to_save)(?:\.|$)")


def unwrapped(name: str) -> str:
    """`name` without the parts that activation checkpointing, torch.compile and FSDP1 put into it."""
    return ".".join(part for part in name.split(".") if part not in WRAPPERS)


def belongs_to_adapter(name: str) -> bool:
    """Whether PEFT added this parameter: LoRA matrices, magnitudes, and copies of modules_to_save."""
    return _ADAPTER.search(name) is not None


def base_name(name: str, adapter: str = "default") -> str | None:
    """The base model's name for an unwrapped PEFT name; None for what the merged model does not hold.

    `X.base_layer.weight` is `X.weight`, `X.modules_to_save.default.weight` replaces `X.weight`, whose
    frozen copy `X.original_module.weight` is dropped like the LoRA matrices.
    """
    name = name.removeprefix(PEFT_PREFIX)
    if ".original_module." in name or re.search(r"\.lora_\w+\.", name):
        return None
    name = name.replace(f".modules_to_save.{adapter}.", ".")
    return None if ".modules_to_save." in name else name.replace(".base_layer.", ".")
