"""A live optimizer's state from files, by parameter name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_optimizer_state_dict

from fsdpwiz.train.export.names import unwrapped
from fsdpwiz.train.export.weights import DistributedWeights, copy_part, loaded

SHARDED_FOLDER = "optimizer_0"
WHOLE_FILE = "optimizer.bin"
BY_POSITION = ("optimizer.pt",)
_PREFIXES = ("optimizer.state.", "state.", "")

States = Mapping[str, Mapping[str, "_Entry"]]


class AnewError(Exception):
    """The state cannot be taken; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    shape: tuple[int, ...]
    fill: Callable[[Tensor], None]


def fill_optimizer(model: Any, optimizer: Any, folder: Path) -> None:
    """Fill the state of `optimizer`, which has taken no step yet, from the checkpoint in `folder`.

    Hyperparameters stay the recipe's. Raises AnewError where the state is not there or does not map; the
    optimizer then has none. No collective.
    """
    shapes = {
        unwrapped(name): tuple(parameter.shape)
        for name, parameter in model.named_parameters()
        if parameter.requires_grad
    }
    states = _read(folder, shapes)
    _check(states, shapes)
    live = get_optimizer_state_dict(
        model, optimizer, options=StateDictOptions(full_state_dict=False, cpu_offload=False)
    )["state"]
    try:
        _check_kind(states, live)
    except AnewError:
        optimizer.state.clear()
        raise
    with torch.no_grad():
        for name, entries in states.items():
            for key, entry in entries.items():
                entry.fill(live[name][key])


def _read(folder: Path, names: Iterable[str]) -> States:
    sharded, whole = folder / SHARDED_FOLDER, folder / WHOLE_FILE
    if sharded.is_dir():
        return _sharded(sharded, names)
    if whole.is_file():
        return _whole(whole, names)
    if any((folder / name).is_file() for name in BY_POSITION):
        raise AnewError("its state is kept by the parameters' position, not by their name")
    raise AnewError("the checkpoint holds no state of it")


def _sharded(folder: Path, names: Iterable[str]) -> States:
    files = DistributedWeights(folder)

    def entry(stored: str) -> _Entry:
        return _Entry(shape=files.tensors[stored][0], fill=lambda into: files.fill(into, stored))

    by_parameter: dict[str, dict[str, str]] = {}
    for stored in files.tensors:
        parameter, _, key = stored.rpartition(".")
        by_parameter.setdefault(parameter, {})[key] = stored
    prefix = max(_PREFIXES, key=lambda prefix: sum(prefix + name in by_parameter for name in names))
    return {
        name: {key: entry(stored) for key, stored in by_parameter.get(prefix + name, {}).items()}
        for name in names
    }


def _whole(path: Path, names: Iterable[str]) -> States:
    """A file as `FSDP.optim_state_dict` makes it: {"state": {name: {key: value}}, "param_groups": …}."""
    document = loaded(path)
    held = document.get("state") if isinstance(document, dict) else None
    by_name = {unwrapped(str(name)): state for name, state in held.items()} if isinstance(held, dict) else {}

    def entry(value: Tensor) -> _Entry:
        return _Entry(shape=tuple(value.shape), fill=lambda into: copy_part(into, value))

    return {
        name: {
            str(key): entry(value if isinstance(value, Tensor) else torch.tensor(float(value)))
            for key, value in (by_name.get(name) or {}).items()
            if isinstance(value, Tensor | int | float)
        }
        for name in names
    }


def _check(states: States, shapes: Mapping[str, tuple[int, ...]]) -> None:
    for name, shape in shapes.items():
        if not states[name]:
            raise AnewError(f"the checkpoint holds no state of `{name}`")
        for key, entry in states[name].items():
            if entry.shape not in (shape, ()):
                raise AnewError(f"the `{key}` of `{name}` has another shape than the parameter")


def _check_kind(states: States, live: Mapping[str, Mapping[str, Any]]) -> None:
    for name, entries in states.items():
        state = live.get(name, {})
        tensors = {key: tuple(value.shape) for key, value in state.items() if isinstance(value, Tensor)}
        if tensors != {key: entry.shape for key, entry in entries.items()} or len(tensors) != len(state):
            raise AnewError("it was another kind of optimizer")
