"""A random Llama of a wanted size with the demo's tokenizer: bf16 safetensors in several files.

    python benchmarks/llama.py FOLDER PARAMETERS

The folder is complete once it has its tokenizer.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from demo import demo_model

ROOT = Path(__file__).resolve().parent.parent
VOCABULARY = 49152  # of the demo's tokenizer
FILES = 4


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of a Llama with untied embeddings."""

    hidden: int
    layers: int

    @classmethod
    def of(cls, parameters: float) -> Shape:
        """The shape whose parameters come nearest to the wanted number."""
        hidden = next((size for size in (2048, 1024) if parameters >= 120 * size**2), 128)
        one = cls(hidden, 1)
        each = one.parameters - cls(hidden, 0).parameters
        return cls(hidden, 1 + max(round((parameters - one.parameters) / each), 0))

    @property
    def intermediate(self) -> int:
        return self.hidden * 11 // 4

    @property
    def parameters(self) -> int:
        layer = 4 * self.hidden**2 + 3 * self.hidden * self.intermediate + 2 * self.hidden
        return 2 * VOCABULARY * self.hidden + self.layers * layer + self.hidden

    @property
    def name(self) -> str:
        return f"llama-{self.parameters / 1e6:.0f}m"


def made(parameters: float, work: Path) -> Path:
    """The folder of a Llama of about that size under `work`, made once and by a process of its own."""
    folder = work / Shape.of(parameters).name
    if not (folder / "tokenizer.json").exists():
        subprocess.run([sys.executable, __file__, str(folder), str(parameters)], check=True)
    return folder


def _make(folder: Path, shape: Shape) -> None:
    import torch
    from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=shape.hidden,
        intermediate_size=shape.intermediate,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.hidden // 64,
        num_key_value_heads=shape.hidden // 64,
        max_position_embeddings=2048,
        tie_word_embeddings=False,
    )
    torch.manual_seed(0)
    torch.set_default_dtype(torch.bfloat16)
    model: Any = LlamaForCausalLM(config)
    model.save_pretrained(folder, max_shard_size=shape.parameters * 2 // FILES)
    demo = demo_model()
    AutoTokenizer.from_pretrained(demo).save_pretrained(folder)


if __name__ == "__main__":
    _make(Path(sys.argv[1]), Shape.of(float(sys.argv[2])))
