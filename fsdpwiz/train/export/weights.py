"""Tensors in files, by name and one at a time: distributed checkpoints, safetensors, torch's own files."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.metadata import Metadata, TensorStorageMetadata
from torch.distributed.tensor import DTensor
from torch.distributed.tensor._utils import compute_local_shape_and_global_offset

from fsdpwiz.train.export.metadata import read_metadata
from fsdpwiz.train.export.problems import bad_source
from fsdpwiz.train.export.safetensors_file import Stored
from fsdpwiz.train.export.shards import stored_tensors

Shape = tuple[int, ...]


class Weights(Protocol):
    """`tensors` has shape and dtype of each name; `read` gives one whole."""

    @property
    def tensors(self) -> Mapping[str, tuple[Shape, torch.dtype]]: ...

    def read(self, name: str) -> torch.Tensor: ...


class WeightFiles(Weights, Protocol):
    """Of which `fill` copies one into a tensor of its shape and casts it, into a shard only what it holds."""

    def fill(self, into: torch.Tensor, name: str) -> None: ...


class DistributedWeights:
    """A folder written by `torch.distributed.checkpoint`; its metadata is read once, and safely."""

    def __init__(self, folder: Path) -> None:
        self._reader = _Reader(folder, read_metadata(folder))
        self.tensors = {
            name: (tuple(item.size), item.properties.dtype)
            for name, item in self._reader.known.state_dict_metadata.items()
            if isinstance(item, TensorStorageMetadata)
        }
        if not self.tensors:
            # PEFT 0.21 does not know its own layers under FSDP1's wrappers.
            reason = "it holds no tensors (as Accelerate saves LoRA under FSDP1 with SHARDED_STATE_DICT)"
            raise bad_source(folder, reason)

    def read(self, name: str) -> torch.Tensor:
        shape, dtype = self.tensors[name]
        tensor = torch.empty(shape, dtype=dtype)
        self.fill(tensor, name)
        return tensor

    def fill(self, into: torch.Tensor, name: str) -> None:
        dcp.load({name: into}, storage_reader=self._reader, no_dist=True)


class _Reader(dcp.FileSystemReader):
    """Torch's reader with metadata that were read beforehand."""

    def __init__(self, folder: Path, known: Metadata) -> None:
        super().__init__(folder)
        self.known = known

    def read_metadata(self, *_: Any, **__: Any) -> Metadata:
        return self.known


class SafetensorsWeights:
    """A folder of safetensors, or one file; `inside`: no links that lead out of the folder."""

    def __init__(self, folder: Path, *, inside: bool = True, file_name: str | None = None) -> None:
        try:
            self._stored = stored_tensors(folder, inside=inside, file_name=file_name)
        except (OSError, ValueError) as error:
            raise bad_source(folder, str(error)) from error
        self.tensors = {name: (item.shape, item.dtype) for name, item in self._stored.items()}

    def read(self, name: str) -> torch.Tensor:
        return self._stored[name].read().reshape(self._stored[name].shape)

    def fill(self, into: torch.Tensor, name: str) -> None:
        copy_part(into, _mapped(self._stored[name]))


def _mapped(stored: Stored) -> torch.Tensor:
    if not stored.elements:
        return torch.empty(stored.shape, dtype=stored.dtype)
    size_bytes = stored.elements * stored.dtype.itemsize
    # Copy on write, for torch wants memory that it may write to.
    raw = np.memmap(stored.path, dtype=np.uint8, mode="c", offset=stored.offset, shape=(size_bytes,))
    return torch.from_numpy(raw).view(stored.dtype).reshape(stored.shape)


class TorchFileWeights:
    """A file of `torch.save`, opened with `weights_only` and mapped, so that tensors are read when used."""

    def __init__(self, path: Path) -> None:
        if not path.resolve().is_relative_to(path.parent.resolve()):
            raise bad_source(path, "it is a link that leads out of its folder")
        held = loaded(path)
        for key in ("model", "state_dict", "module"):
            if isinstance(held, dict) and isinstance(held.get(key), dict):
                held = held[key]
        if not isinstance(held, dict):
            raise bad_source(path, "it does not hold a state dict")
        self._held = {str(name): item for name, item in held.items() if isinstance(item, torch.Tensor)}
        self.tensors = {name: (tuple(item.shape), item.dtype) for name, item in self._held.items()}

    def read(self, name: str) -> torch.Tensor:
        return self._held[name]

    def fill(self, into: torch.Tensor, name: str) -> None:
        copy_part(into, self._held[name])


def copy_part(into: torch.Tensor, whole: torch.Tensor) -> None:
    """Copy what `into` holds of `whole` on this rank; of a mapped file only the pages it needs are read."""
    if not isinstance(into, DTensor):
        into.copy_(whole)
        return
    _, offset = compute_local_shape_and_global_offset(into.shape, into.device_mesh, into.placements)
    local = into.to_local()
    ranges = tuple(slice(begin, begin + size) for begin, size in zip(offset, local.shape, strict=True))
    local.copy_(whole[ranges])


def loaded(path: Path) -> Any:
    """What a file of `torch.save` holds, its tensors mapped; FsdpwizError (P013) where it is not safe."""
    try:
        try:
            return torch.load(path, map_location="cpu", weights_only=True, mmap=True)
        except RuntimeError:
            # Written before torch 1.6: such a file cannot be mapped.
            return torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, RuntimeError, ValueError, EOFError, pickle.UnpicklingError) as error:
        raise bad_source(path, f"it is not a state dict that can be read safely: {error}") from error
