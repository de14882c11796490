"""Number formats: what is computed, trained, frozen and summed in which type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from fsdpwiz.facts.types import Facts
from fsdpwiz.plan.choices import OURS, Choices
from fsdpwiz.plan.cluster import known_gpus
from fsdpwiz.plan.quantization import decide_quantization, storage_dtype
from fsdpwiz.plan.types import DistributedType, Precision

MixedPrecision = Literal["bf16", "fp16", "no"]

COMPUTE_DTYPES: dict[str, str] = {"bf16": "bfloat16", "fp16": "float16"}
BF16_CAPABILITY = (8, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PrecisionChoice:
    """`dtype` is of frozen weights, and of all under mixed_precision no; `precision` names the mode."""

    mixed_precision: MixedPrecision
    dtype: str
    trainable_dtype: str
    reduce_dtype: str | None
    precision: Precision
    quantization: dict[str, Any] | None


def decide_precision(choices: Choices, facts: Facts, device: str, kind: DistributedType) -> PrecisionChoice:
    """The precision of a run on `device` ("cuda" or "cpu")."""
    mixed = _mixed_precision(choices, facts, device)
    compute = COMPUTE_DTYPES.get(mixed) or str(choices.given("model.dtype") or "float32")
    quantization = decide_quantization(choices, compute)
    dtype = _dtype(choices, mixed, compute, frozen=bool(choices.given("peft")) or quantization is not None)
    precision = _name(mixed, dtype, quantization)
    choices.derive("precision", precision, "mixed_precision, model.dtype and quantization")
    return PrecisionChoice(
        mixed_precision=mixed,
        dtype=dtype,
        trainable_dtype=_trainable_dtype(choices, mixed, dtype, quantization),
        reduce_dtype=_reduce_dtype(choices, mixed, kind),
        precision=precision,
        quantization=quantization,
    )


def _mixed_precision(choices: Choices, facts: Facts, device: str) -> MixedPrecision:
    """bf16 unless the device is a CPU or a card is known that cannot compute in it."""
    key = "mixed_precision"
    if choices.is_given(key):
        given = str(choices.choose(key, None))
        return "bf16" if given == "bf16" else "fp16" if given == "fp16" else "no"
    if device == "cpu":
        choices.record(key, "no", "default", f"{OURS}: CPU")
        return "no"
    known_cards = gpus.cards if (gpus := known_gpus(facts)) is not None else ()
    lowest = min((card.compute_capability for card in known_cards if card.compute_capability), default=None)
    if lowest is not None and lowest < BF16_CAPABILITY:
        choices.record(key, "no", "default", f"{OURS}: compute capability {lowest[0]}.{lowest[1]}")
        return "no"
    known = "unknown" if lowest is None else f"{lowest[0]}.{lowest[1]}"
    choices.record(key, "bf16", "default", f"{OURS}: compute capability {known}")
    return "bf16"


def _dtype(choices: Choices, mixed: MixedPrecision, compute: str, *, frozen: bool) -> str:
    key = "model.dtype"
    if mixed != "no" and not frozen:
        return str(choices.derive(key, "float32", f"mixed_precision {mixed}: trained weights are float32"))
    return str(choices.choose(key, compute, by=f"mixed_precision {mixed}" if mixed != "no" else OURS))


def _trainable_dtype(
    choices: Choices, mixed: MixedPrecision, dtype: str, quantization: dict[str, Any] | None
) -> str:
    key = "model.trainable_dtype"
    storage = storage_dtype(quantization)
    if storage is not None:
        return str(choices.derive(key, storage, "quantization.bnb_4bit_quant_storage"))
    if mixed == "no":
        return str(choices.derive(key, dtype, "model.dtype"))
    return str(choices.derive(key, "float32", f"mixed_precision {mixed}"))


def _reduce_dtype(choices: Choices, mixed: MixedPrecision, kind: DistributedType) -> str | None:
    key = "reduce_dtype"
    sharded = kind in ("FSDP1", "FSDP2")
    default = COMPUTE_DTYPES.get(mixed) if sharded else None
    chosen = choices.choose(key, default, by=choices.library("accelerate"))
    return None if chosen is None else str(chosen)


def _name(mixed: MixedPrecision, dtype: str, quantization: dict[str, Any] | None) -> Precision:
    if quantization is not None:
        return "quantised"
    if mixed != "no":
        return "aligned"
    return "float32" if dtype == "float32" else "memory_constrained"
