"""Other families: Conv1D weights, fused experts, tied and soft-capped heads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.train.export.folders import differing
from tests.train.export.live_case import TRUTH, export_case
from tests.train.export.pool import Pool
from tests.train.plans import make_plan
from tests.train.streaming.families import SIZES
from tests.train.tiny import _tokenizer

pytestmark = pytest.mark.slow

FAMILIES: dict[str, tuple[dict[str, Any], str, str]] = {
    "gpt2": ({"n_embd": 36, "n_layer": 2, "n_head": 3, "vocab_size": 515}, "GPT2Block", "c_attn"),
    "mixtral": ({**SIZES, "num_local_experts": 4}, "MixtralDecoderLayer", "q_proj"),
    "qwen3_moe": (
        {**SIZES, "moe_intermediate_size": 32, "num_experts": 4, "num_experts_per_tok": 2},
        "Qwen3MoeDecoderLayer",
        "q_proj",
    ),
    "gemma2": (SIZES, "Gemma2DecoderLayer", "q_proj"),
}


@pytest.fixture(params=FAMILIES)
def family(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, str, str]:
    """The base model's folder, its layer class, a module for LoRA."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    sizes, layer, module = FAMILIES[request.param]
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(request.param, **sizes))
    model.save_pretrained(tmp_path / "base")
    _tokenizer().save_pretrained(tmp_path / "base")
    return tmp_path / "base", layer, module


def test_sharded_and_adapted(family: tuple[Path, str, str], pool: Pool, tmp_path: Path) -> None:
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    base, layer, module = family
    eager = {"attn_implementation": "eager"}
    fsdp = {"transformer_layer_cls_to_wrap": layer}
    plan = make_plan(base, Path("messages.jsonl"), kind="FSDP2", ranks=2, fsdp=fsdp, model=eager)
    assert pool.run(export_case, 2, plan=plan, root=tmp_path / "full")[0]["finding"] is None
    truth = torch.load(tmp_path / "full" / TRUTH)
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path / "full" / "model")
    parameters = dict(loaded.named_parameters(remove_duplicate=False))
    assert differing(parameters, {name: truth[name] for name in parameters}) == []

    peft = {"r": 2, "target_modules": [module], "fan_in_fan_out": module == "c_attn"}
    plan = make_plan(base, Path("messages.jsonl"), peft=peft, model=eager)
    assert pool.run(export_case, 1, plan=plan, root=tmp_path / "lora")[0]["finding"] is None
    adapted = PeftModel.from_pretrained(
        AutoModelForCausalLM.from_pretrained(base), tmp_path / "lora" / "adapter"
    )
    merged = dict(adapted.merge_and_unload().named_parameters())
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path / "lora" / "model")
    assert differing(dict(loaded.named_parameters()), merged) == []
