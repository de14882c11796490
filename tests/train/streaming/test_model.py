"""Without ranks: what is streamed is what `from_pretrained` loads, and what is not exact is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM

from fsdpwiz.train.streaming.model import streamed_model
from fsdpwiz.train.streaming.placeholder import is_placeholder
from fsdpwiz.train.streaming.problems import NotStreamableError
from fsdpwiz.train.streaming.reading import Reader
from tests.train import tiny
from tests.train.streaming.families import STREAMED, WHOLE, written


def streamed(folder: Path, dtype: torch.dtype = torch.float32) -> tuple[Any, Any]:
    return streamed_model(str(folder), revision=None, dtype=dtype, attn_implementation="eager")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("family", STREAMED)
def test_every_parameter_and_buffer_is_that_of_from_pretrained(
    family: str, dtype: torch.dtype, tmp_path: Path
) -> None:
    folder = written(family, STREAMED[family][0], tmp_path)
    model, load = streamed(folder, dtype)
    loaded = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, attn_implementation="eager")
    state, expected = model.state_dict(keep_vars=True), loaded.state_dict()
    assert state.keys() == expected.keys()
    with Reader(block_bytes=1000) as reader:
        for name, tensor in state.items():
            assert is_placeholder(tensor) or tensor.numel() == 1
            filled = torch.empty(tensor.shape, dtype=tensor.dtype)
            reader.fill(filled, load._sources[name], (0,) * tensor.ndim)
            assert torch.equal(filled, expected[name]), name
    for (name, here), (_, there) in zip(model.named_buffers(), loaded.named_buffers(), strict=True):
        assert torch.equal(here, there), name
    assert model.generation_config.to_dict() == loaded.generation_config.to_dict()
    assert model.training == loaded.training and model.config.name_or_path == loaded.config.name_or_path


@pytest.mark.parametrize("family", WHOLE)
def test_what_is_converted_is_refused(family: str, tmp_path: Path) -> None:
    folder = written(family, WHOLE[family][0], tmp_path)
    with pytest.raises(NotStreamableError, match="transformers converts"):
        streamed(folder)


def spoilt(folder: Path, change: Any) -> None:
    from safetensors.torch import load_file, save_file

    path = folder / "model.safetensors"
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path, metadata={"format": "pt"})


def widened(tensors: dict[str, Any]) -> None:
    tensors["model.norm.weight"] = torch.ones(7)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda tensors: tensors.pop("model.norm.weight"), "no file holds the parameter `model.norm.weight`"),
        (widened, "`model.norm.weight` has shape \\[7\\] in the file, \\[64\\] in the model"),
    ],
)
def test_weights_that_do_not_fit_are_refused(change: Any, reason: str, tmp_path: Path) -> None:
    folder = tiny.write_model(tmp_path / "model")
    spoilt(folder, change)
    with pytest.raises(NotStreamableError, match=reason):
        streamed(folder)


def test_tied_weights_that_are_stored_apart_are_refused(tmp_path: Path) -> None:
    folder = tiny.write_model(tmp_path / "model", tied=True)
    spoilt(folder, lambda tensors: tensors.update({"lm_head.weight": torch.zeros(512, 64)}))
    with pytest.raises(NotStreamableError, match="which are tied, apart"):
        streamed(folder)


@pytest.mark.parametrize("key", ["quantization_config", "auto_map"])
def test_what_is_not_plain_is_refused(key: str, tmp_path: Path) -> None:
    folder = tiny.write_model(tmp_path / "model")
    path = folder / "config.json"
    value = {"quant_method": "gptq", "bits": 4} if key == "quantization_config" else {"AutoConfig": "a.B"}
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
    with pytest.raises(NotStreamableError):
        streamed(folder)


@pytest.mark.parametrize(
    "spoil", [lambda path: path.unlink(), lambda path: path.write_bytes(path.read_bytes()[:100])]
)
def test_files_that_are_not_safetensors_are_refused(spoil: Any, tmp_path: Path) -> None:
    folder = tiny.write_model(tmp_path / "model")
    spoil(folder / "model.safetensors")
    with pytest.raises(NotStreamableError):
        streamed(folder)
