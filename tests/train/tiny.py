"""A Llama of a few hundred thousand parameters, its tokenizer, and rows to train it on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

TOPICS = ("river", "lamp", "engine", "garden", "letter", "window", "market", "bridge")
SENTENCES = (
    "The {0} is older than the {1} beside it.",
    "Nobody has seen the {0} since the {1} was moved.",
    "Paint the {0} first, then the {1}, and let both dry.",
    "A {0} without a {1} is of little use in winter.",
    "She asked where the {0} was, and he pointed at the {1}.",
)
CHAT_TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>"
    "{% if message['role'] == 'assistant' %}"
    "{% generation %}{{ message['content'] }}<|end|>{% endgeneration %}"
    "{% else %}{{ message['content'] }}<|end|>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
SPECIAL = ["<|pad|>", "<|end|>", "<|user|>", "<|assistant|>", "<|system|>"]


def sentences(count: int) -> list[str]:
    """Different sentences of different length, always the same ones."""
    made = []
    for index in range(count):
        text = " ".join(
            SENTENCES[(index + part) % len(SENTENCES)].format(
                TOPICS[(index * 3 + part) % len(TOPICS)], TOPICS[(index * 5 + part + 1) % len(TOPICS)]
            )
            for part in range(1 + index % 3)
        )
        made.append(f"{index}. {text}")
    return made


def write_rows(folder: Path, count: int = 48) -> dict[str, Path]:
    """One jsonl file per data format, by the format's name."""
    texts = sentences(count)
    rows: dict[str, list[dict[str, Any]]] = {
        "messages": [
            {"messages": [{"role": "user", "content": f"Say {i}"}, {"role": "assistant", "content": text}]}
            for i, text in enumerate(texts)
        ],
        "prompt-completion": [{"prompt": f"Say {i}: ", "completion": text} for i, text in enumerate(texts)],
        "text": [{"text": text} for text in texts],
    }
    paths = {}
    for name, items in rows.items():
        paths[name] = folder / f"{name}.jsonl"
        paths[name].write_text("".join(json.dumps(item) + "\n" for item in items), encoding="utf-8")
    return paths


def write_model(folder: Path, *, seed: int = 0, tied: bool = False, **sizes: int) -> Path:
    """Save model and tokenizer as a model folder; `sizes` of LlamaConfig take the place of ours."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = _tokenizer()
    torch.manual_seed(seed)
    config = LlamaConfig(
        hidden_size=sizes.get("hidden_size", 64),
        intermediate_size=sizes.get("intermediate_size", 176),
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        vocab_size=512,
        max_position_embeddings=256,
        tie_word_embeddings=tied,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    model = LlamaForCausalLM(config)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _tokenizer() -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=512,
        special_tokens=SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    raw.train_from_iterator(sentences(200), trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, eos_token="<|end|>", pad_token="<|pad|>")
    tokenizer.chat_template = CHAT_TEMPLATE
    return tokenizer
