"""A Llama with random weights and a tokenizer made from the demo's data: needs no download.

python scripts/small_model.py FOLDER {tiny,large}
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parent.parent / "recipes" / "data" / "python-docs-qa.jsonl"
SIZES = {
    "tiny": {"hidden_size": 64, "intermediate_size": 176, "num_hidden_layers": 2, "num_attention_heads": 4},
    "large": {
        "hidden_size": 2048,
        "intermediate_size": 5632,
        "num_hidden_layers": 16,
        "num_attention_heads": 16,
    },
}
SPECIAL = ["<|pad|>", "<|end|>", "<|user|>", "<|assistant|>", "<|system|>"]
CHAT_TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
VOCABULARY = 4096


def main(folder: Path, size: str) -> None:
    """Write model and tokenizer: "tiny" is 0.6 million parameters in float32, "large" 0.8 billion in bf16."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = make_tokenizer()
    torch.manual_seed(0)
    config = LlamaConfig(
        **SIZES[size],
        num_key_value_heads=4,
        vocab_size=VOCABULARY,
        max_position_embeddings=2048,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    model: Any = LlamaForCausalLM(config)
    model.to(torch.float32 if size == "tiny" else torch.bfloat16).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def make_tokenizer() -> Any:
    """A byte-level BPE tokenizer of the demo's text, with a chat template."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    rows = (json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines())
    raw.train_from_iterator((message["content"] for row in rows for message in row["messages"]), trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, eos_token="<|end|>", pad_token="<|pad|>")
    tokenizer.chat_template = CHAT_TEMPLATE
    return tokenizer


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
