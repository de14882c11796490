"""The plan's model, tokenizer, adapter and quantisation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from fsdpwiz.core.findings import Finding
from fsdpwiz.plan.live_shards import not_streamable
from fsdpwiz.plan.types import ModelPlan, Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Pretrained:
    """A model; `load` fills its shards while it is prepared, None where it has its weights already.

    `notice` says why a plan's streaming load became another.
    """

    model: Any
    load: Any | None = None
    notice: Finding | None = None

    def filling(self) -> AbstractContextManager[None]:
        """The block in which the trainer prepares the model."""
        return nullcontext() if self.load is None else self.load.in_place()


def load_model(plan: Plan) -> Pretrained:
    """The model as `model.loading` says, or with all its weights where they cannot be streamed exactly."""
    if plan.model.loading != "streaming":
        return Pretrained(model=_whole_model(plan))
    import torch

    from fsdpwiz.train.streaming.model import streamed_model
    from fsdpwiz.train.streaming.problems import NotStreamableError

    try:
        if (reason := not_streamable(_given(plan))) is not None:
            raise NotStreamableError(reason)
        model, load = streamed_model(
            plan.model.name_or_path,
            revision=plan.model.revision,
            dtype=getattr(torch, _dtype(plan)),
            attn_implementation=plan.model.attn_implementation,
        )
    except NotStreamableError as error:
        return Pretrained(model=_whole_model(plan), notice=_not_streamed(plan, str(error)))
    return Pretrained(model=model, load=load)


def _given(plan: Plan) -> Callable[[str], Any]:
    """The plan's value of a dotted key; None where it has none."""
    document = plan.to_json()

    def value(key: str) -> Any:
        section, _, name = key.partition(".")
        held = document.get(section)
        return held.get(name) if name and isinstance(held, Mapping) else (None if name else held)

    return value


def _dtype(plan: Plan) -> str:
    frozen = plan.peft is not None or plan.quantization is not None
    return plan.model.dtype if frozen else plan.model.trainable_dtype


def _not_streamed(plan: Plan, reason: str) -> Finding:
    return Finding(
        code="P015",
        name="load-not-streamed",
        severity="warning",
        key="model.loading",
        message=(
            f"`{plan.model.name_or_path}` was loaded whole by every rank, not streamed: {reason}; each rank "
            "needed host memory for all its weights in the dtype they are trained in"
        ),
    )


def _whole_model(plan: Plan) -> Any:
    """The model with its pretrained weights, on this rank's host (a quantised one on its GPU).

    All of it is held in the dtype of what is trained, unless adapters are: then the frozen
    weights are held in `model.dtype`, and `cast_trainable` casts the adapters once they exist.
    """
    import torch
    from transformers import AutoModelForCausalLM

    arguments: dict[str, Any] = {"dtype": getattr(torch, _dtype(plan)), **_source(plan.model)}
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
