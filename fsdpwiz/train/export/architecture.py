"""What a model of this configuration consists of, read off an instance on the meta device."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from transformers import AutoModelForCausalLM

from fsdpwiz.train.export.entry import Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """The configuration to write and the tensors that `from_pretrained` will look for.

    `tied` maps a name that is not written to the one whose tensor it shares; `ignored` are patterns of
    names that old checkpoints hold and loading passes over.
    """

    config: Any
    skeleton: nn.Module
    expected: Mapping[str, Entry]
    tied: Mapping[str, str]
    ignored: tuple[str, ...] = ()
    trust_remote_code: bool = False

    def written_name(self, name: str) -> str:
        return self.tied.get(name, name)


def architecture(
    config: Any, dtype: torch.dtype, *, untie: bool = False, trust_remote_code: bool = False
) -> Architecture:
    """The architecture of `config` in `dtype`; `untie` where training has made tied weights differ.

    The configuration is a copy without quantisation, so that the folder loads as plain weights.
    """
    config = copy.deepcopy(config)
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    if untie:
        config.tie_word_embeddings = False
    config.dtype = dtype
    with torch.device("meta"):
        skeleton = AutoModelForCausalLM.from_config(
            config, dtype=dtype, attn_implementation="eager", trust_remote_code=trust_remote_code
        )
    tied = dict(skeleton.all_tied_weights_keys or {})
    expected = {
        name: Entry(
            name=name, shape=tuple(tensor.shape), dtype=dtype if tensor.is_floating_point() else tensor.dtype
        )
        for name, tensor in skeleton.state_dict().items()
        if name not in tied
    }
    return Architecture(
        config=skeleton.config,
        skeleton=skeleton,
        expected=expected,
        tied=tied,
        ignored=tuple(skeleton._keys_to_ignore_on_load_unexpected or ()),
        trust_remote_code=trust_remote_code,
    )
