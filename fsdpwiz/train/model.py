"""The plan's model, tokenizer, adapter and quantisation."""

from __future__ import annotations

from typing import Any

from fsdpwiz.plan.types import ModelPlan, Plan


def load_model(plan: Plan) -> Any:
    """The model with its pretrained weights, on this rank's host (a quantised one on its GPU).

    All of it is held in the dtype of what is trained, unless adapters are: then the frozen
    weights are held in `model.dtype`, and `cast_trainable` casts the adapters once they exist.
    """
    import torch
    from transformers import AutoModelForCausalLM

    frozen = plan.peft is not None or plan.quantization is not None
    dtype = plan.model.dtype if frozen else plan.model.trainable_dtype
    arguments: dict[str, Any] = {"dtype": getattr(torch, dtype), **_source(plan.model)}
    if plan.model.attn_implementation is not None:
        arguments["attn_implementation"] = plan.model.attn_implementation
    if (quantization := quantization_config(plan)) is not None:
        arguments["quantization_config"] = quantization
    return AutoModelForCausalLM.from_pretrained(plan.model.name_or_path, **arguments)


def load_tokenizer(plan: Plan) -> Any:
    """The tokenizer that belongs to the model."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(plan.model.name_or_path, **_source(plan.model))


def adapter_config(plan: Plan) -> Any | None:
    """PEFT's LoraConfig of the `peft` section."""
    if plan.peft is None:
        return None
    from peft import LoraConfig

    return LoraConfig(**{"task_type": "CAUSAL_LM", **plan.peft})


def quantization_config(plan: Plan) -> Any | None:
    """BitsAndBytesConfig of the `quantization` section."""
    if plan.quantization is None:
        return None
    from transformers import BitsAndBytesConfig

    return BitsAndBytesConfig(**plan.quantization)


def _source(model: ModelPlan) -> dict[str, Any]:
    return {"revision": model.revision or "main", "trust_remote_code": model.trust_remote_code}
