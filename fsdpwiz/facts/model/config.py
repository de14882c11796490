"""config.json of a model folder, read without trusting it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fsdpwiz.facts.regular_file import UnreadableFileError, json_kind, read_json_object

CONFIG_LIMIT_BYTES = 8 * 2**20
_COUNTS = (
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "vocab_size",
    "max_position_embeddings",
    "n_embd",
    "n_layer",
    "n_head",
    "n_positions",
    "num_local_experts",
)
_TEXTS = ("model_type", "torch_dtype", "dtype")


def read_config(path: Path) -> tuple[dict[str, Any], str | None]:
    """The mapping in a config.json (empty where it cannot be read) and what is wrong with it."""
    try:
        config = read_json_object(path, limit_bytes=CONFIG_LIMIT_BYTES)
    except UnreadableFileError as error:
        return {}, f"`config.json`: {error}"
    return config, _wrong_type(config)


def _wrong_type(config: Mapping[str, Any]) -> str | None:
    """A sentence on the first key whose value cannot be what the key means."""
    for key in _COUNTS:
        value = config.get(key)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
            return f"`{key}` in `config.json` is {json_kind(value)}, not a whole number"
        if value is not None and value < 1:
            return f"`{key}` in `config.json` is {value}"
    for key in _TEXTS:
        if not isinstance(config.get(key), str | None):
            return f"`{key}` in `config.json` is {json_kind(config[key])}, not text"
    return _wrong_architectures(config.get("architectures"), known_type=config.get("model_type") is not None)


def _wrong_architectures(named: Any, *, known_type: bool) -> str | None:
    if named is None:
        return None if known_type else "`config.json` has neither `model_type` nor `architectures`"
    if not isinstance(named, list) or not all(isinstance(name, str) for name in named):
        return "`architectures` in `config.json` is not a list of class names"
    return None
