"""A live model's weights from files, by name: of a sharded one each rank copies its own part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from fsdpwiz.train.export.names import unwrapped
from fsdpwiz.train.export.stored_state import plain_names
from fsdpwiz.train.export.weights import WeightFiles

_ADAPTER = ".default"
_SAVED_MODULE = ".modules_to_save.default"


class MisfitError(Exception):
    """The files do not hold this model; the text says in what."""


def fill_model(model: Any, files: WeightFiles, *, adapter_only: bool) -> None:
    """Fill every parameter, or with `adapter_only` those that are trained, and the buffers that are stored.

    Nothing is changed where MisfitError is raised: a tensor is missing, or has another shape. No collective.
    """
    wanted = list(_wanted(model, adapter_only=adapter_only))
    stored = _stored_names(wanted, files)
    sources = [(tensor, _source(names, tensor, stored, files)) for names, tensor in wanted]
    with torch.no_grad():
        for tensor, source in sources:
            if source is not None:
                files.fill(tensor, source)


def _wanted(model: Any, *, adapter_only: bool) -> Iterator[tuple[list[str], Tensor]]:
    """Each tensor of the model's state once, with the names that it may have in the files."""
    found: dict[int, tuple[list[str], Tensor]] = {}
    state: Mapping[str, Tensor] = model.state_dict(keep_vars=True)
    for wrapped, tensor in state.items():
        if adapter_only and not tensor.requires_grad:
            continue
        names, _ = found.setdefault(id(tensor), ([], tensor))
        names += _aliases(unwrapped(wrapped), adapter_only=adapter_only)
    yield from found.values()


def _aliases(name: str, *, adapter_only: bool) -> list[str]:
    """The name, and those that PEFT stores it by."""
    if not adapter_only:
        return [name]
    aliases = (
        name,
        name.replace(_SAVED_MODULE, ""),
        name.replace(f"{_ADAPTER}.", "."),
        name.removesuffix(_ADAPTER),
    )
    return list(dict.fromkeys(aliases))


def _stored_names(wanted: list[tuple[list[str], Tensor]], files: WeightFiles) -> dict[str, str]:
    return plain_names(files, [name for names, _ in wanted for name in names])


def _source(names: list[str], tensor: Tensor, stored: Mapping[str, str], files: WeightFiles) -> str | None:
    held = next((stored[name] for name in names if name in stored), None)
    if held is None:
        if isinstance(tensor, torch.nn.Parameter):
            raise MisfitError(f"it holds no `{names[0]}`")
        return None
    shape, _ = files.tensors[held]
    if shape != tuple(tensor.shape):
        raise MisfitError(f"its `{names[0]}` has shape {list(shape)}, the model's {list(tensor.shape)}")
    return held
