"""MFU: the share of the cards' peak that the model's own operations take, recomputation not counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fsdpwiz.facts.gpu_catalogue import gpu_by_name
from fsdpwiz.launch.failure import read_document
from fsdpwiz.launch.follow import Breakdown
from fsdpwiz.plan.types import Plan
from fsdpwiz.runs.layout import RunFolder

_HALF = ("bfloat16", "float16")
_EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts")


def utilisation(plan: Plan, run: RunFolder, attempt: int, breakdown: Breakdown) -> float | None:
    """Between 0 and 1; None on a CPU, on a card that the catalogue lacks, outside 16 bits, for experts.

    Sizes are those of the exported model and its configuration.
    """
    gpu = gpu_by_name(plan.cluster.gpu or "") if plan.world.device == "cuda" else None
    parameters = (read_document(run.attempt(attempt).export) or {}).get("parameters")
    config = read_document(run.model / "config.json")
    if gpu is None or config is None or not isinstance(parameters, int) or not _in_half(plan):
        return None
    per_token = model_flops(plan, config, parameters, breakdown.tokens_per_step)
    if per_token is None or not breakdown.tokens_per_s:
        return None
    return per_token * breakdown.tokens_per_s / plan.world.world_size / gpu.half_flops


def model_flops(
    plan: Plan, config: Mapping[str, Any], parameters: int, tokens_per_step: float | None
) -> float | None:
    """Operations a token: 6 for each weight that multiplies (4 under adapters, which spare the frozen
    weights' gradients), and 6·layers·width·length for causal attention.

    The length is the mean one of a sequence; in packed rows the attention's part, which depends on the
    documents in them, is left out. None where the configuration does not say enough, or has experts.
    """
    layers = _size(config, "num_hidden_layers", "n_layer")
    hidden = _size(config, "hidden_size", "n_embd")
    heads = _size(config, "num_attention_heads", "n_head")
    if any(_size(config, name) for name in _EXPERTS) or layers is None or hidden is None or heads is None:
        return None
    vocabulary = 0 if config.get("tie_word_embeddings", True) else _size(config, "vocab_size") or 0
    weights = parameters - vocabulary * hidden
    linear = (4 if plan.peft is not None else 6) * weights
    if tokens_per_step is None or plan.training.get("packing"):
        return float(linear)
    width = heads * (_size(config, "head_dim") or hidden // heads)
    return linear + 6 * layers * width * tokens_per_step / plan.batch.global_


def _in_half(plan: Plan) -> bool:
    return plan.mixed_precision != "no" or plan.model.trainable_dtype in _HALF


def _size(config: Mapping[str, Any], *names: str) -> int | None:
    values = (config.get(name) for name in names)
    return next((value for value in values if type(value) is int and value > 0), None)
