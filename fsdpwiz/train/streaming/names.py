"""Which stored tensor belongs to which entry of the model's state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from torch import Tensor, nn

from fsdpwiz.train.export.safetensors_file import Stored
from fsdpwiz.train.streaming.problems import NotStreamableError


def sources(model: Any, stored: Mapping[str, Stored]) -> dict[str, Stored]:
    """The stored tensor of each parameter (of tied ones of each name) and of the buffers that are stored.

    `model` is the bare one, before adapters and shards. Names are mapped as `from_pretrained` maps them
    (transformers 5.24, core_model_loading.py). Raises NotStreamableError for what is converted while it is
    loaded, for parameters that no file holds, and for shapes that differ.
    """
    state: dict[str, Any] = model.state_dict(keep_vars=True)
    by_name = dict(_matched(model, state, stored))
    found: dict[str, Stored] = {}
    for names, tensor in _groups(state):
        held = [name for name in names if name in by_name]
        if not held:
            if isinstance(tensor, nn.Parameter):
                raise NotStreamableError(f"no file holds the parameter `{names[0]}`")
            continue
        if len(held) > 1:
            raise NotStreamableError(f"its files hold `{held[0]}` and `{held[1]}`, which are tied, apart")
        one = by_name[held[0]]
        if one.shape != tuple(tensor.shape):
            raise NotStreamableError(
                f"`{held[0]}` has shape {list(one.shape)} in the file, {list(tensor.shape)} in the model"
            )
        found |= dict.fromkeys(names, one)
    return found


def _matched(
    model: Any, state: Mapping[str, Any], stored: Mapping[str, Stored]
) -> Iterator[tuple[str, Stored]]:
    from transformers.conversion_mapping import get_model_conversion_mapping
    from transformers.core_model_loading import WeightConverter, WeightRenaming, rename_source_key

    mapping = get_model_conversion_mapping(model)
    renamings = [entry for entry in mapping if isinstance(entry, WeightRenaming)]
    converters = [entry for entry in mapping if isinstance(entry, WeightConverter)]
    prefix = model.base_model_prefix
    for original, one in stored.items():
        name, pattern = rename_source_key(original, renamings, converters, prefix, dict(state))
        if name not in state and original in state:
            name, pattern = rename_source_key(original, [], [], prefix, dict(state))
        if name not in state:
            continue
        if pattern is not None:
            raise NotStreamableError(f"transformers converts `{original}` while it loads it")
        yield name, one


def _groups(state: Mapping[str, Tensor]) -> Iterator[tuple[list[str], Tensor]]:
    """The names of each tensor: several where it is tied."""
    names: dict[int, list[str]] = {}
    for name, tensor in state.items():
        names.setdefault(id(tensor), []).append(name)
    for group in names.values():
        yield group, state[group[0]]
