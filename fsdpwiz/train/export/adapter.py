"""The adapter as PEFT stores it: adapter_model.safetensors and adapter_config.json."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path

import torch
from peft import LoraConfig, PeftConfig, PeftModel, get_peft_model_state_dict
from safetensors.torch import save_file

from fsdpwiz.train.export.merge import ADAPTER
from fsdpwiz.train.export.problems import not_verified
from fsdpwiz.train.export.safetensors_file import read_header

FILE_NAME = "adapter_model.safetensors"


def stored_form(peft_model: PeftModel, tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The adapter's tensors under the names PEFT stores them by, from those of its model's state dict."""
    stored = get_peft_model_state_dict(
        peft_model, state_dict=dict(tensors), adapter_name=ADAPTER, save_embedding_layers=False
    )
    return {name: tensor.contiguous() for name, tensor in stored.items()}


def write_adapter(folder: Path, stored: Mapping[str, torch.Tensor], config: LoraConfig, base: str) -> None:
    """Write both files into `folder`."""
    save_file(dict(stored), str(folder / FILE_NAME), metadata={"format": "pt"})
    config = copy.deepcopy(config)
    config.inference_mode = True
    config.base_model_name_or_path = config.base_model_name_or_path or base
    config.save_pretrained(str(folder))


def verify_adapter(folder: Path, peft_model: PeftModel, expected: Mapping[str, torch.Tensor]) -> None:
    """FsdpwizError (P011) unless the file holds the whole adapter and these tensors bit for bit."""
    path = folder / FILE_NAME
    try:
        found = read_header(path)
        PeftConfig.from_pretrained(str(folder))
    except (OSError, ValueError, TypeError) as error:
        raise not_verified(f"the adapter cannot be read back: {error}", file=folder) from error
    needed = set(stored_form(peft_model, peft_model.state_dict()))
    for name in sorted(needed | set(expected) | set(found)):
        if name not in found or name not in expected or name not in needed:
            what = "is missing" if name not in found or name not in expected else "is not part of the adapter"
            raise not_verified(f"the adapter's tensor `{name}` {what}", file=path)
        written, trained = found[name].read(), expected[name].reshape(-1)
        if found[name].shape != tuple(expected[name].shape) or not _same_bits(written, trained):
            raise not_verified(f"the adapter's tensor `{name}` differs from the trained one", file=path)


def _same_bits(written: torch.Tensor, trained: torch.Tensor) -> bool:
    return written.dtype == trained.dtype and torch.equal(
        written.view(torch.uint8), trained.view(torch.uint8)
    )
