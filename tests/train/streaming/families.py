"""Tiny models of many families: those that are streamed, and those whose weights are made while loading."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.train import tiny

SIZES: dict[str, Any] = {
    "hidden_size": 48,
    "intermediate_size": 80,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "num_key_value_heads": 1,
    "head_dim": 16,
    "vocab_size": 515,
    "bos_token_id": None,
    "eos_token_id": 1,
    "pad_token_id": 0,
}
# Family: its sizes, its layer class.
STREAMED: dict[str, tuple[dict[str, Any], str]] = {
    "llama": ({**SIZES, "tie_word_embeddings": True, "attention_bias": True}, "LlamaDecoderLayer"),
    "mistral": (SIZES, "MistralDecoderLayer"),
    "gpt2": ({"n_embd": 36, "n_layer": 2, "n_head": 3, "vocab_size": 515}, "GPT2Block"),
    "qwen2": (SIZES, "Qwen2DecoderLayer"),
    "qwen3": (SIZES, "Qwen3DecoderLayer"),
    "gemma": (SIZES, "GemmaDecoderLayer"),
    "gemma2": (SIZES, "Gemma2DecoderLayer"),
    "phi3": (SIZES, "Phi3DecoderLayer"),
    "olmo2": (SIZES, "Olmo2DecoderLayer"),
    "smollm3": (SIZES, "SmolLM3DecoderLayer"),
    "gpt_neox": (
        {"hidden_size": 48, "intermediate_size": 80, "num_hidden_layers": 2, "num_attention_heads": 3,
         "vocab_size": 515},
        "GPTNeoXLayer",
    ),
    "falcon": ({"hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 3, "vocab_size": 515},
               "FalconDecoderLayer"),
}  # fmt: skip
WHOLE: dict[str, tuple[dict[str, Any], str]] = {
    "mixtral": ({**SIZES, "num_local_experts": 4}, "MixtralDecoderLayer"),
    "qwen3_moe": (
        {**SIZES, "moe_intermediate_size": 32, "num_experts": 4, "num_experts_per_tok": 2},
        "Qwen3MoeDecoderLayer",
    ),
}


def written(family: str, sizes: dict[str, Any], folder: Path) -> Path:
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    torch.manual_seed(0)
    AutoModelForCausalLM.from_config(AutoConfig.for_model(family, **sizes)).save_pretrained(folder)
    tiny._tokenizer().save_pretrained(folder)
    return folder
