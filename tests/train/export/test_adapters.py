"""An adapter comes out as PEFT stores it, and merged as PEFT merges it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.train.export.folders import differing, tensors_of
from tests.train.export.live_case import TRUTH, export_case
from tests.train.export.pool import Pool
from tests.train.plans import make_plan

pytestmark = pytest.mark.slow

LORA: dict[str, Any] = {"r": 4, "lora_alpha": 12, "target_modules": ["q_proj", "v_proj", "down_proj"]}
NF4: dict[str, Any] = {
    "load_in_4bit": True,
    "bnb_4bit_quant_type": "nf4",
    "bnb_4bit_use_double_quant": True,
    "bnb_4bit_compute_dtype": "bfloat16",
    "bnb_4bit_quant_storage": "bfloat16",
}
VARIANTS: dict[str, tuple[str, int, str, dict[str, Any]]] = {
    "one-process": ("NO", 1, "odd", {}),
    "ddp": ("DDP", 2, "odd", {}),
    "fsdp2": ("FSDP2", 2, "odd", {}),
    "fsdp1": ("FSDP1", 2, "odd", {}),
    "fewer-rows-than-ranks": ("FSDP2", 4, "odd", {"r": 2}),
    "all-linear-rslora": ("FSDP2", 2, "odd", {"target_modules": "all-linear", "use_rslora": True}),
    "patterns": ("FSDP2", 2, "odd", {"rank_pattern": {"q_proj": 2}, "alpha_pattern": {"v_proj": 32}}),
    "modules-to-save": ("FSDP2", 2, "odd", {"modules_to_save": ["lm_head"]}),
    "dora": ("NO", 1, "odd", {"use_dora": True}),
    "bias": ("NO", 1, "odd", {"bias": "all"}),
    "lora-bias": ("NO", 1, "odd", {"lora_bias": True, "target_modules": ["q_proj", "v_proj"]}),
}


def _export(pool: Pool, base: Path, root: Path, kind: str, size: int, **changes: Any) -> list[dict[str, Any]]:
    plan = make_plan(base, Path("messages.jsonl"), kind=kind, ranks=size, **changes)
    answers = pool.run(export_case, size, plan=plan, root=root)
    assert [answer["finding"] for answer in answers] == [None] * size
    return answers


@pytest.mark.parametrize("variant", VARIANTS)
def test_merged_is_what_peft_merges(variant: str, pool: Pool, bases: dict[str, Path], tmp_path: Path) -> None:
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    kind, size, base, changes = VARIANTS[variant]
    _export(pool, bases[base], tmp_path, kind, size, peft={**LORA, **changes})
    model = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(bases[base]), tmp_path / "adapter")
    truth = torch.load(tmp_path / TRUTH)
    adapter = {
        name: tensor for name, tensor in model.named_parameters() if ".lora_" in name or "_to_save" in name
    }
    assert adapter
    assert differing(adapter, {name: truth[name] for name in adapter}) == []
    merged = model.merge_and_unload()
    assert differing(tensors_of(tmp_path / "model"), dict(merged.named_parameters())) == []
    assert differing(dict(AutoModelForCausalLM.from_pretrained(tmp_path / "model").named_parameters()),
                     dict(merged.named_parameters())) == []  # fmt: skip


def test_adapting_one_of_two_tied_weights_unties_them(
    pool: Pool, bases: dict[str, Path], tmp_path: Path
) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    _export(
        pool, bases["tied"], tmp_path, "FSDP2", 2, peft={**LORA, "target_modules": ["q_proj", "embed_tokens"]}
    )
    truth, model = torch.load(tmp_path / TRUTH), AutoModelForCausalLM.from_pretrained(tmp_path / "model")
    original = truth["base_model.model.model.embed_tokens.base_layer.weight"]
    assert not model.config.tie_word_embeddings
    assert torch.equal(model.lm_head.weight, original)
    assert not torch.equal(model.model.embed_tokens.weight, original)


@pytest.mark.parametrize(("kind", "size"), [("NO", 1), ("FSDP2", 2), ("FSDP1", 2)])
def test_quantised_base_is_unpacked_and_merged(
    kind: str, size: int, pool: Pool, bases: dict[str, Path], tmp_path: Path
) -> None:
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, BitsAndBytesConfig

    peft = {**LORA, "target_modules": ["q_proj", "down_proj"]}
    _export(
        pool, bases["even"], tmp_path, kind, size, peft=peft, quantization=NF4, model={"dtype": "bfloat16"}
    )
    quantised = AutoModelForCausalLM.from_pretrained(
        bases["even"], quantization_config=BitsAndBytesConfig(**NF4), dtype=torch.bfloat16
    )
    model = PeftModel.from_pretrained(quantised, tmp_path / "adapter", autocast_adapter_dtype=False)
    assert differing(tensors_of(tmp_path / "model"), _merged_by_hand(model)) == []
    exported = AutoModelForCausalLM.from_pretrained(tmp_path / "model").eval()
    assert not hasattr(exported.config, "quantization_config")
    ids = torch.arange(5, 29)[None]
    with torch.no_grad():
        ours, theirs = exported(ids).logits, model.eval()(ids).logits.float()
    assert torch.nn.functional.cosine_similarity(ours, theirs, dim=-1).min() > 0.99


def _merged_by_hand(model: Any) -> dict[str, Any]:
    """Each weight of a quantised PEFT model by bitsandbytes' and PEFT's own functions, summed in float32."""
    from bitsandbytes import functional
    from peft.tuners.lora import LoraLayer

    tensors = {}
    for name, module in model.get_base_model().named_modules():
        plain = name.removesuffix(".base_layer")
        for kind, parameter in module.named_parameters(recurse=False):
            if ".lora_" in name:
                continue
            weight = parameter.data
            if getattr(parameter, "quant_state", None) is not None:
                weight = functional.dequantize_4bit(weight, parameter.quant_state)
            weight, layer = weight.float(), model.get_base_model().get_submodule(plain)
            if kind == "weight" and isinstance(layer, LoraLayer):
                a, b = layer.lora_A["default"].weight.float(), layer.lora_B["default"].weight.float()
                weight = weight + (b @ a) * layer.scaling["default"]
            tensors[f"{plain}.{kind}"] = weight.detach()
    return tensors


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({}, None),
        ({"init_lora_weights": "gaussian"}, None),
        ({"init_lora_weights": "pissa_niter_4"}, "init_lora_weights"),
        ({"target_parameters": ["experts.up"]}, "target_parameters"),
    ],
)
def test_what_cannot_be_merged_is_known_beforehand(changes: dict[str, Any], key: str | None) -> None:
    from peft import LoraConfig

    from fsdpwiz.train.export.merge import unmergeable

    assert unmergeable({**LORA, **changes}) == key
    assert unmergeable(LoraConfig(**{**LORA, **changes})) == key
