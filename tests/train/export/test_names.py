"""Names lose what wrappers put into them."""

from __future__ import annotations

import pytest

from fsdpwiz.train.export.names import base_name, belongs_to_adapter, unwrapped


@pytest.mark.parametrize(
    ("wrapped", "plain"),
    [
        (
            "_orig_mod.model.layers.0._checkpoint_wrapped_module.mlp.up_proj.weight",
            "model.layers.0.mlp.up_proj.weight",
        ),
        ("_fsdp_wrapped_module.model._fsdp_wrapped_module.norm.weight", "model.norm.weight"),
        ("model.norm.weight", "model.norm.weight"),
    ],
)
def test_wrappers_are_taken_off(wrapped: str, plain: str) -> None:
    assert unwrapped(wrapped) == plain


@pytest.mark.parametrize(
    ("peft", "base"),
    [
        ("base_model.model.model.layers.0.q_proj.base_layer.weight", "model.layers.0.q_proj.weight"),
        ("base_model.model.model.layers.0.q_proj.lora_A.default.weight", None),
        ("base_model.model.model.embed_tokens.lora_embedding_B.default", None),
        ("base_model.model.lm_head.original_module.weight", None),
        ("base_model.model.lm_head.modules_to_save.default.weight", "lm_head.weight"),
        ("base_model.model.lm_head.modules_to_save.other.weight", None),
        ("base_model.model.model.norm.weight", "model.norm.weight"),
    ],
)
def test_base_names_of_peft_names(peft: str, base: str | None) -> None:
    assert base_name(peft) == base


def test_adapter_parameters_are_told_from_the_base() -> None:
    assert belongs_to_adapter("model.q_proj.lora_A.default.weight")
    assert belongs_to_adapter("lm_head.modules_to_save.default.weight")
    assert not belongs_to_adapter("model.lora.weight")
