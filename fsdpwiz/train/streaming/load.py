"""Accelerate's FSDP2 preparation, with its broadcast from rank 0 replaced by a reader of slices.

Accelerate 1.15 shards the model on the meta device and then calls `fsdp2_load_full_state_dict`
(`utils/fsdp_utils.py`), which sends every whole parameter from rank 0 to all. Everything around it stays:
wrapping, the optimizer's mapping, buffers, ties.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.tensor import DTensor
from torch.distributed.tensor._utils import compute_local_shape_and_global_offset

from fsdpwiz.train.export.names import PEFT_PREFIX, belongs_to_adapter, unwrapped
from fsdpwiz.train.export.safetensors_file import Stored
from fsdpwiz.train.streaming.placeholder import is_placeholder
from fsdpwiz.train.streaming.reading import Reader

ACCELERATE_VERSIONS = ("1.15.",)


class StreamedLoad:
    """One model's load. `calls`, `read_bytes` and `seconds` say afterwards what was done."""

    def __init__(self, sources: Mapping[str, Stored]) -> None:
        self._sources = dict(sources)
        self.calls = 0
        self.read_bytes = 0
        self.seconds = 0.0

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Inside the block Accelerate loads by this; RuntimeError for a version it was not written for."""
        _check_version()
        from accelerate.utils import fsdp_utils

        upstream = fsdp_utils.fsdp2_load_full_state_dict
        fsdp_utils.fsdp2_load_full_state_dict = self._load
        try:
            yield
        finally:
            fsdp_utils.fsdp2_load_full_state_dict = upstream

    def _load(
        self, _accelerator: Any, model: Any, full_sd: Mapping[str, Tensor], cpu_offload: bool = False
    ) -> Any:
        """Takes the place of `fsdp2_load_full_state_dict`; every rank calls it."""
        begin_s = time.perf_counter()
        self.calls += 1
        state = model.state_dict(keep_vars=True)
        places = _Places.of(state, offloaded=cpu_offload)
        with Reader() as reader, torch.no_grad():
            filled = dict(self._filled(state, full_sd, reader, places))
        model.load_state_dict({name: filled[id(tensor)] for name, tensor in state.items()}, assign=True)
        self.read_bytes += reader.read_bytes
        self.seconds += time.perf_counter() - begin_s
        return model

    def _filled(
        self, state: Mapping[str, Tensor], full: Mapping[str, Tensor], reader: Reader, places: _Places
    ) -> Iterator[tuple[int, Tensor]]:
        """Each tensor's id with its real one: what no file holds first, the rest in the files' order."""
        names = list({id(tensor): name for name, tensor in state.items()}.values())
        stored = {
            name: self._sources[plain] for name in names if (plain := plain_name(name)) in self._sources
        }
        for name in names:
            if name not in stored:
                yield id(state[name]), _from_first_rank(name, state[name], full[name], places)
        for name in sorted(stored, key=lambda name: (str(stored[name].path), stored[name].offset)):
            yield id(state[name]), _read(state[name], stored[name], reader, places)


@dataclass(frozen=True, slots=True)
class _Places:
    """`used` is the device that computes, `shards` the one where shards stay between steps."""

    used: torch.device
    shards: torch.device

    @classmethod
    def of(cls, state: Mapping[str, Tensor], *, offloaded: bool) -> _Places:
        kinds = (tensor.device_mesh.device_type for tensor in state.values() if isinstance(tensor, DTensor))
        kind = next(kinds, "cpu")
        used = torch.device(kind, torch.cuda.current_device()) if kind == "cuda" else torch.device(kind)
        return cls(used=used, shards=torch.device("cpu") if offloaded else used)

    def of_tensor(self, tensor: Tensor) -> torch.device:
        return self.shards if isinstance(tensor, DTensor) else self.used


def plain_name(name: str) -> str:
    """The bare model's name of an entry of the wrapped model's state."""
    return unwrapped(name).removeprefix(PEFT_PREFIX).replace(".base_layer.", ".")


def _read(tensor: Tensor, stored: Stored, reader: Reader, places: _Places) -> Tensor:
    shape, offset = _part(tensor)
    local = torch.empty(shape, dtype=tensor.dtype, device=places.of_tensor(tensor))
    reader.fill(local, stored, offset)
    return _like(tensor, local)


def _from_first_rank(name: str, tensor: Tensor, here: Tensor, places: _Places) -> Tensor:
    """Rank 0's values of an adapter, as Accelerate sends them, or this rank's of a buffer."""
    if is_placeholder(here) or here.device.type == "meta":
        raise RuntimeError(f"`{name}` has values neither in a file nor here")
    values = here.detach().to(device=places.used, dtype=tensor.dtype).contiguous()
    if isinstance(tensor, DTensor):
        if not belongs_to_adapter(unwrapped(name)):
            raise RuntimeError(f"`{name}` is neither in a file nor part of an adapter")
        dist.broadcast(values, src=0)
    shape, offset = _part(tensor)
    ranges = tuple(slice(begin, begin + size) for begin, size in zip(offset, shape, strict=True))
    return _like(tensor, values[ranges].clone().to(places.of_tensor(tensor)))


def _part(tensor: Tensor) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shape and offset of this rank's part of the whole tensor."""
    if not isinstance(tensor, DTensor):
        return tuple(tensor.shape), (0,) * tensor.ndim
    shape, offset = compute_local_shape_and_global_offset(tensor.shape, tensor.device_mesh, tensor.placements)
    return tuple(shape), tuple(offset)


def _like(tensor: Tensor, local: Tensor) -> Tensor:
    if not isinstance(tensor, DTensor):
        return local
    return DTensor.from_local(
        local,
        tensor.device_mesh,
        tensor.placements,
        run_check=False,
        shape=tensor.shape,
        stride=tensor.stride(),
    )


def _check_version() -> None:
    import accelerate

    version = accelerate.__version__
    if not version.startswith(ACCELERATE_VERSIONS):
        raise RuntimeError(
            f"Streaming loads were written for Accelerate {ACCELERATE_VERSIONS[0]}x, here is {version}: "
            'run `pip install "accelerate>=1.15,<1.16"`, or set `model.loading: rank0`'
        )
