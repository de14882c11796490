"""The quantised base model: bitsandbytes settings on which the libraries' defaults disagree are pinned."""

from __future__ import annotations

from typing import Any

from fsdpwiz.plan.choices import OURS, Choices

SECTION = "quantization"
_FLOAT_DTYPES = frozenset({"float32", "bfloat16", "float16"})


def decide_quantization(choices: Choices, compute_dtype: str) -> dict[str, Any] | None:
    """The pinned `quantization` section, None where nothing is quantised.

    FSDP shards 4-bit weights only where their storage type is the type that is computed in, so
    both follow `compute_dtype`.
    """
    given = {key: value for key, value in dict(choices.given(SECTION) or {}).items() if value is not None}
    if not given.get("load_in_4bit") and not given.get("load_in_8bit"):
        return None
    pinned = {key: choices.choose(f"{SECTION}.{key}", None) for key in given}
    if not given.get("load_in_4bit"):
        return pinned
    pinned["bnb_4bit_quant_type"] = choices.choose(
        f"{SECTION}.bnb_4bit_quant_type", "nf4", by=choices.library("trl")
    )
    pinned["bnb_4bit_use_double_quant"] = choices.choose(
        f"{SECTION}.bnb_4bit_use_double_quant", False, by=choices.library("transformers")
    )
    for name in ("bnb_4bit_compute_dtype", "bnb_4bit_quant_storage"):
        pinned[name] = choices.choose(f"{SECTION}.{name}", compute_dtype, by=f"{OURS}: what is computed in")
    return pinned


def storage_dtype(quantization: dict[str, Any] | None) -> str | None:
    """The floating-point type that holds 4-bit weights, None where they are held as integers."""
    storage = (quantization or {}).get("bnb_4bit_quant_storage")
    return storage if storage in _FLOAT_DTYPES else None
