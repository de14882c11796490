"""What shards cannot be streamed into place, and what cannot be written while they are trained."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def not_streamable(given: Callable[[str], Any]) -> str | None:
    """Why a recipe's weights cannot be streamed; `given` is the recipe's value of a dotted key."""
    if given("quantization"):
        return "a quantised base is quantised while it is loaded"
    if given("model.trust_remote_code"):
        return "a model's own code may compute weights"
    template = given("sft.chat_template_path")
    if template is not None and not str(template).endswith((".jinja", ".j2")):
        return "a chat template taken from another model may add rows to the embeddings"
    return _adapter_reads_base(given)


def _adapter_reads_base(given: Callable[[str], Any]) -> str | None:
    if given("peft.use_dora"):
        return "DoRA's magnitudes are computed from the base weights"
    if given("peft.init_lora_weights") not in (None, True, False, "gaussian"):
        return "the adapter is initialised from the base weights"
    for key in ("modules_to_save", "trainable_token_indices"):
        if given(f"peft.{key}"):
            return f"`peft.{key}` copies base weights"
    return None


def changes_between_steps(optimizer: str) -> bool:
    """Whether the optimizer of this `optim` name changes weights outside its step: a live save forbids it."""
    return optimizer.startswith(("schedule_free", "lomo", "adalomo")) or optimizer.endswith("layerwise")
