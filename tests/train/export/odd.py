"""A tiny Llama whose sizes divide by nothing, so that shards are uneven and some are empty."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.train.tiny import _tokenizer


def write_odd_model(folder: Path, *, tied: bool = False, dtype: str = "float32", **sizes: int) -> Path:
    """Save model and tokenizer as a model folder in `dtype`."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = _tokenizer()
    torch.manual_seed(1)
    given: dict[str, Any] = {"hidden_size": 54, "intermediate_size": 77, "vocab_size": 515, **sizes}
    config = LlamaConfig(
        num_hidden_layers=3,
        num_attention_heads=3,
        num_key_value_heads=1,
        head_dim=18,
        attention_bias=True,
        tie_word_embeddings=tied,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        **given,
    )
    model = LlamaForCausalLM(config).to(getattr(torch, dtype))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
