"""Packing by default, where no document can see another in its row."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from fsdpwiz.facts.types import Model
from fsdpwiz.plan.choices import Choices

_FLASH = re.compile(r"flash[-_]?att(?:entio)?n", re.IGNORECASE)
_KEEPS_DOCUMENTS_WHOLE = ("bfd",)
_RECURRENT = ("mamba", "ssm", "rwkv", "linear_conv", "linear_num", "recurrent", "lru")


def decide_packing(choices: Choices, model: Model | None, section: str) -> dict[str, Any]:
    """`{"packing": True}` where it is safe and the recipe is silent, else nothing.

    Flash attention takes the bounds of the documents in a row from their positions (transformers 5.24,
    `modeling_flash_attention_utils.py`), so rows are filled without padding and nothing is seen that was not.
    Other attention would need a mask of length squared; a recurrent layer would carry its state across.
    `bfd` cuts a row at `max_length` as TRL does without packing.
    """
    attention = choices.given("model.attn_implementation")
    if attention is None or not _FLASH.search(str(attention)) or not _silent(choices, section):
        return {}
    if model is None or not model.layer_classes or not _attends_only(model.config):
        return {}
    by = f"model.attn_implementation {attention}"
    return {"packing": choices.derive(f"{section}.packing", True, by)}


def _silent(choices: Choices, section: str) -> bool:
    """Whether nothing in the recipe speaks against packing, or of how."""
    strategy = choices.given(f"{section}.packing_strategy")
    spoken = ("packing", "padding_free", "eval_packing")
    return (
        choices.upstream_default(section, "packing") is not None
        and not any(choices.recipe.has(f"{section}.{name}") for name in spoken)
        and not choices.is_given("script")
        and not choices.given("model.trust_remote_code")
        and strategy in (None, *_KEEPS_DOCUMENTS_WHOLE)
        and not (
            choices.recipe.has(f"{section}.max_length") and not choices.is_given(f"{section}.max_length")
        )
        and choices.given("parallelism.cp_size") in (None, 1)
    )


def _attends_only(config: Mapping[str, Any]) -> bool:
    """Whether the configuration names no layer that carries a state from token to token."""
    layers = config.get("layer_types") or ()
    attention = all(str(kind).endswith("attention") and "linear" not in str(kind) for kind in layers)
    return attention and not any(str(key).startswith(_RECURRENT) for key in config)
