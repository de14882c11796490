"""Whether the weights are those of the config: the token embedding's shape against its sizes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fsdpwiz.facts.model.safetensors_header import Shapes

# The embedding's name less the prefix that some files leave out, and config.json's key of its width.
_EMBEDDINGS = {
    "gpt2": ("wte.weight", "n_embd"),
    "gpt_neox": ("embed_in.weight", "hidden_size"),
    "falcon": ("word_embeddings.weight", "hidden_size"),
    **{
        name: ("embed_tokens.weight", "hidden_size")
        for name in (
            "llama", "mistral", "mixtral", "gemma", "gemma2", "phi3", "qwen2", "qwen3", "qwen3_moe",
        )
    },
}  # fmt: skip
_PREFIXES = ("", "model.", "transformer.", "gpt_neox.")


def embedding_fault(config: Mapping[str, Any], shapes: Shapes) -> str | None:
    """A sentence where the embedding in the weights has not the shape that the config says it has."""
    known = _EMBEDDINGS.get(str(config.get("model_type")))
    if known is None or config.get("quantization_config"):
        return None
    name, width_key = known
    wanted = (config.get("vocab_size"), config.get(width_key))
    found = next(((full, shapes[full]) for prefix in _PREFIXES if (full := prefix + name) in shapes), None)
    if found is None or not all(isinstance(size, int) for size in wanted) or found[1] == wanted:
        return None
    return (
        f"`{found[0]}` has the shape {list(found[1])}, and `config.json` says {list(wanted)} "
        f"(`vocab_size`, `{width_key}`)"
    )
