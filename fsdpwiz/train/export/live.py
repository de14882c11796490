"""The tensors of a model in training, gathered one at a time whatever holds them.

Plain modules and DDP hold them whole, FSDP2 as DTensors, FSDP1 in flat parameters (`fsdp1.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor._utils import compute_local_shape_and_global_offset

from fsdpwiz.train.export import fsdp1
from fsdpwiz.train.export.names import unwrapped
from fsdpwiz.train.export.quantised import is_quantised, unpacked, unpacked_shape


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """A parameter or persistent buffer in its module; `name` is unwrapped, `shape` that of the whole tensor.

    `in_runs`: every rank holds one run of its elements (or all, or none), so each can check its own part.
    """

    name: str
    shape: tuple[int, ...]
    is_float: bool
    trainable: bool
    identity: int
    in_runs: bool
    module: nn.Module
    attribute: str

    @property
    def tensor(self) -> torch.Tensor:
        return getattr(self.module, self.attribute)

    @property
    def quantised(self) -> bool:
        return is_quantised(self.module, self.attribute)


def bare(model: nn.Module) -> nn.Module:
    """The model without the wrappers around the whole of it (DDP, torch.compile, FSDP1's root)."""
    while True:
        inner = next(
            (getattr(model, name) for name in ("_orig_mod", "_fsdp_wrapped_module") if hasattr(model, name)),
            None,
        )
        if inner is None and isinstance(model, nn.parallel.DistributedDataParallel):
            inner = model.module
        if inner is None:
            return model
        model = inner


class LiveWeights:
    """All slots of a live model; gathering is collective and in one fixed order on every rank."""

    def __init__(self, model: nn.Module) -> None:
        root = model.module if isinstance(model, nn.parallel.DistributedDataParallel) else model
        self.units = tuple(fsdp1.units(root))
        names = {id(module): unwrapped(name) for name, module in root.named_modules()}
        self._unit_slots = tuple(tuple(_unit_slots(unit, names)) for unit in self.units)
        self._own_slots = tuple(_own_slots(root, fsdp1.managed(self.units)))

    @property
    def slots(self) -> tuple[Slot, ...]:
        return self._own_slots + tuple(slot for slots in self._unit_slots for slot in slots)

    def gather(self, wanted: Iterable[str]) -> Iterator[tuple[Slot, torch.Tensor]]:
        """The whole tensors of the wanted slots, unpacked where quantised; valid until the next one."""
        wanted = frozenset(wanted)
        for slot in self._own_slots:
            if slot.name in wanted:
                yield slot, _unpacked(slot, whole(slot.tensor))
        for unit, slots in zip(self.units, self._unit_slots, strict=True):
            chosen = [slot for slot in slots if slot.name in wanted]
            if not chosen:
                continue
            with FullyShardedDataParallel.summon_full_params(unit, recurse=False, writeback=False):
                for slot in chosen:
                    yield slot, _unpacked(slot, slot.tensor.detach())

    def local(self, wanted: Iterable[str]) -> Iterator[tuple[Slot, int, torch.Tensor, bool]]:
        """This rank's own part of the wanted slots `in_runs`: where it begins, flat values, whether of the
        ranks that hold the same this is the first. No collective.
        """
        wanted = frozenset(wanted)
        for slot in self._own_slots:
            if slot.name in wanted and slot.in_runs:
                start, values = _run(slot.tensor)
                yield slot, start, values, _is_first_copy(slot.tensor)
        for unit, slots in zip(self.units, self._unit_slots, strict=True):
            runs, first = fsdp1.local_runs(unit), fsdp1.is_first_copy(unit)
            for slot in slots:
                if slot.name in wanted and slot.in_runs and (id(slot.module), slot.attribute) in runs:
                    start, values = runs[id(slot.module), slot.attribute]
                    yield slot, start, values, first


def whole(tensor: torch.Tensor) -> torch.Tensor:
    """The unsharded tensor, on the mesh's device; collective for a DTensor."""
    tensor = tensor.detach()
    if not isinstance(tensor, DTensor):
        return tensor
    local, device = tensor.to_local(), tensor.device_mesh.device_type
    if local.device.type != device:
        tensor = DTensor.from_local(
            local.to(device),
            tensor.device_mesh,
            tensor.placements,
            run_check=False,
            shape=tensor.shape,
            stride=tensor.stride(),
        )
    return tensor.full_tensor()


def _unpacked(slot: Slot, tensor: torch.Tensor) -> torch.Tensor:
    return unpacked(slot.module, tensor) if slot.quantised else tensor


def _is_one_run(tensor: torch.Tensor) -> bool:
    """Whether a rank's part of this tensor is one run of its elements: whole, or sharded by rows."""
    if not isinstance(tensor, DTensor):
        return True
    sharded = [placement for placement in tensor.placements if not isinstance(placement, Replicate)]
    return not sharded or sharded == [Shard(0)]


def _run(tensor: torch.Tensor) -> tuple[int, torch.Tensor]:
    tensor = tensor.detach()
    if not isinstance(tensor, DTensor):
        return 0, tensor.reshape(-1)
    _, offset = compute_local_shape_and_global_offset(tensor.shape, tensor.device_mesh, tensor.placements)
    row_elements = torch.Size(tensor.shape[1:]).numel()
    return (offset[0] * row_elements if offset else 0), tensor.to_local().reshape(-1)


def _is_first_copy(tensor: torch.Tensor) -> bool:
    """Whether no rank before this one holds the same elements."""
    if not isinstance(tensor, DTensor):
        return not dist.is_initialized() or dist.get_rank() == 0
    place = tensor.device_mesh.get_coordinate() or ()
    copies = (at for at, kind in zip(place, tensor.placements, strict=True) if isinstance(kind, Replicate))
    return not any(copies)


def _own_slots(root: nn.Module, managed: frozenset[tuple[int, str]]) -> Iterator[Slot]:
    for prefix, module in root.named_modules():
        persistent = {
            name: value
            for name, value in module._buffers.items()
            if name not in module._non_persistent_buffers_set
        }
        for attribute, tensor in (module._parameters | persistent).items():
            if tensor is None or (id(module), attribute) in managed or fsdp1.is_flat(tensor):
                continue
            yield _slot(unwrapped(f"{prefix}.{attribute}".lstrip(".")), module, attribute, tensor)


def _slot(name: str, module: nn.Module, attribute: str, tensor: Any) -> Slot:
    quantised = is_quantised(module, attribute)
    return Slot(
        name=name,
        shape=unpacked_shape(module) if quantised else tuple(tensor.shape),
        is_float=quantised or tensor.is_floating_point(),
        trainable=tensor.requires_grad,
        identity=id(tensor),
        in_runs=not quantised and _is_one_run(tensor),
        module=module,
        attribute=attribute,
    )


def _unit_slots(unit: nn.Module, names: dict[int, str]) -> Iterator[Slot]:
    for held in fsdp1.held(unit):
        quantised = is_quantised(held.module, held.attribute)
        yield Slot(
            name=unwrapped(f"{names[id(held.module)]}.{held.attribute}".lstrip(".")),
            shape=unpacked_shape(held.module) if quantised else held.shape,
            is_float=True,
            trainable=held.trainable,
            identity=held.identity,
            in_runs=not quantised and unit._handle.uses_sharded_strategy,
            module=held.module,
            attribute=held.attribute,
        )
