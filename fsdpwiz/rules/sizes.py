"""Sizes that follow from a model's config alone: parameters and bytes, as bounds from below."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fsdpwiz.facts.types import Model

BYTES = {"float32": 4, "float": 4, "bfloat16": 2, "float16": 2, "half": 2, "float64": 8}
_NEEDED = ("hidden_size", "num_hidden_layers", "vocab_size", "intermediate_size", "num_attention_heads")
_GPT2_NAMES = {"hidden_size": "n_embd", "num_hidden_layers": "n_layer", "num_attention_heads": "n_head"}


def dtype_bytes(model: Model) -> int:
    """Bytes of one parameter of the base model as its config says, 2 where it does not."""
    config = model.config
    named = str(config.get("dtype") or config.get("torch_dtype") or "bfloat16")
    return BYTES.get(named.removeprefix("torch."), 2)


def parameter_count(model: Model) -> int | None:
    """Parameters of a dense decoder, within 1 %: matrices, no biases; None where the config does not tell.

    A quantised base's files say nothing of its parameters, so the config comes first.
    """
    sizes = {name: _whole(model.config, name) for name in _NEEDED}
    if model.config.get("model_type") == "gpt2" and sizes["hidden_size"]:
        sizes["intermediate_size"] = sizes["intermediate_size"] or 4 * sizes["hidden_size"]
    if all(sizes.values()) and not _has_experts(model.config):
        return _dense(model.config, {name: value or 0 for name, value in sizes.items()})
    if model.weight_bytes is not None and not model.config.get("quantization_config"):
        return model.weight_bytes // dtype_bytes(model)
    return None


def _dense(config: Mapping[str, Any], sizes: Mapping[str, int]) -> int:
    hidden, heads = sizes["hidden_size"], sizes["num_attention_heads"]
    head = _whole(config, "head_dim") or hidden // heads
    key_value_heads = _whole(config, "num_key_value_heads") or heads
    attention = 2 * hidden * heads * head + 2 * hidden * key_value_heads * head
    gated = config.get("model_type") != "gpt2"
    layer = attention + (3 if gated else 2) * hidden * sizes["intermediate_size"]
    tied = config.get("tie_word_embeddings", config.get("model_type") == "gpt2")
    return sizes["num_hidden_layers"] * layer + (1 if tied else 2) * sizes["vocab_size"] * hidden


def _has_experts(config: Mapping[str, Any]) -> bool:
    return any("expert" in name and config[name] for name in config)


def _whole(config: Mapping[str, Any], name: str) -> int | None:
    value = config.get(name, config.get(_GPT2_NAMES.get(name, name)))
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
