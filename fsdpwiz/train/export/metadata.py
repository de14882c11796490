"""A distributed checkpoint's `.metadata`, read without letting it run anything.

torch opens the file with plain pickle. Here an unpickler that admits only the classes torch itself writes
into it reads it first, and what it names is checked: types, files that stay in the folder, chunks that
cover their tensor.
"""

from __future__ import annotations

import io
import pathlib
import pickle
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch.distributed.checkpoint import filesystem, metadata
from torch.distributed.checkpoint.metadata import Metadata, TensorStorageMetadata

from fsdpwiz.train.export.problems import bad_source

FILE_NAME = ".metadata"
LIMIT_BYTES = 1_000_000_000
_DTYPES = {
    ("torch", str(dtype).removeprefix("torch.")): dtype
    for dtype in vars(torch).values()
    if isinstance(dtype, torch.dtype)
}
_CLASSES: dict[tuple[str, str], Any] = {
    ("torch", "Size"): torch.Size,
    ("torch.serialization", "_get_layout"): torch.serialization._get_layout,
    ("torch.distributed.checkpoint.filesystem", "_StorageInfo"): filesystem._StorageInfo,
    ("pathlib", "PosixPath"): pathlib.PurePosixPath,
    ("pathlib._local", "PosixPath"): pathlib.PurePosixPath,
    ("pathlib", "WindowsPath"): pathlib.PureWindowsPath,
    **{
        ("torch.distributed.checkpoint.metadata", name): getattr(metadata, name)
        for name in (
            "BytesStorageMetadata",
            "ChunkStorageMetadata",
            "Metadata",
            "MetadataIndex",
            "StorageMeta",
            "TensorProperties",
            "TensorStorageMetadata",
            "_MEM_FORMAT_ENCODING",
        )
    },
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        admitted = _CLASSES.get((module, name)) or _DTYPES.get((module, name))
        if admitted is None:
            raise pickle.UnpicklingError(f"names `{module}.{name}`, which no torch checkpoint holds")
        return admitted

    def persistent_load(self, _: Any) -> Any:
        raise pickle.UnpicklingError("refers to objects outside itself")


def read_metadata(folder: Path) -> Metadata:
    """The metadata of the distributed checkpoint in `folder`; FsdpwizError (P013) unless it is sound."""
    try:
        return sound_metadata(folder)
    except UnsoundError as error:
        raise bad_source(folder, str(error)) from error


def sound_metadata(folder: Path) -> Metadata:
    """The metadata of the distributed checkpoint in `folder`; UnsoundError unless it is sound."""
    path = folder / FILE_NAME
    if not path.is_file():
        raise UnsoundError("it has no `.metadata`: the save did not end, or this is another kind of folder")
    _check_inside(folder, path)
    if path.stat().st_size > LIMIT_BYTES:
        raise UnsoundError("its `.metadata` is larger than any checkpoint's")
    try:
        found = _Unpickler(io.BytesIO(path.read_bytes())).load()
        _check(folder, found)
    except UnsoundError:
        raise
    except Exception as error:
        # A damaged pickle fails in as many ways as there are opcodes.
        raise UnsoundError(f"its `.metadata` cannot be read: {error}") from error
    return found


def holds_tensors(folder: Path) -> bool:
    """Whether the distributed checkpoint in `folder` has a tensor; UnsoundError unless it is sound."""
    stored = sound_metadata(folder).state_dict_metadata.values()
    return any(isinstance(item, TensorStorageMetadata) for item in stored)


class UnsoundError(Exception):
    """The folder is not as torch leaves it, or its `.metadata` says what cannot be true."""


def _check(folder: Path, found: Any) -> None:
    if not isinstance(found, Metadata) or not isinstance(found.state_dict_metadata, dict):
        raise UnsoundError("its `.metadata` is not that of a torch checkpoint")
    for name, item in found.state_dict_metadata.items():
        if isinstance(item, TensorStorageMetadata):
            _check_tensor(str(name), item)
    files = {info.relative_path for info in _storage(found).values()}
    for file in sorted(files):
        if not isinstance(file, str) or Path(file).name != file:
            raise UnsoundError(f"`{file}` is not the name of a file of this folder")
        if not (folder / file).is_file():
            raise UnsoundError(f"`{file}` is missing: the save did not end, or the copy is not whole")
        _check_inside(folder, folder / file)
    for info in found.storage_data.values():
        end = info.offset + info.length
        if min(info.offset, info.length) < 0 or end > (folder / info.relative_path).stat().st_size:
            raise UnsoundError(f"`{info.relative_path}` is shorter than `.metadata` says")


def _storage(found: Metadata) -> dict[Any, Any]:
    data = found.storage_data
    if not isinstance(data, dict) or not all(
        isinstance(info, filesystem._StorageInfo) for info in data.values()
    ):
        raise UnsoundError("its `.metadata` does not say where the tensors are")
    if any(info.__dict__.get("transform_descriptors") for info in data.values()):
        raise UnsoundError("its tensors are transformed (compressed or encrypted)")
    return data


def _check_tensor(name: str, item: TensorStorageMetadata) -> None:
    shape = tuple(item.size)
    if not isinstance(item.properties.dtype, torch.dtype) or not all(
        type(n) is int and n >= 0 for n in shape
    ):
        raise UnsoundError(f"`{name}` has no shape or dtype")
    boxes = [(tuple(chunk.offsets), tuple(chunk.sizes)) for chunk in item.chunks]
    for offsets, sizes in boxes:
        if len(offsets) != len(shape) or any(
            o < 0 or s < 0 or o + s > n for o, s, n in zip(offsets, sizes, shape, strict=True)
        ):
            raise UnsoundError(f"`{name}` has a part outside itself")
    covered = sum(torch.Size(sizes).numel() for _, sizes in boxes)
    if covered != torch.Size(shape).numel() or _overlap(boxes):
        raise UnsoundError(f"the parts of `{name}` do not make it up")


def _overlap(boxes: Sequence[tuple[tuple[int, ...], tuple[int, ...]]]) -> bool:
    """Whether two parts share elements; parts that are whole rows, the usual case, are compared in order."""
    filled = sorted(box for box in boxes if torch.Size(box[1]).numel())
    if len({(box[0][1:], box[1][1:]) for box in filled}) <= 1:
        return any(a[0][0] + a[1][0] > b[0][0] for a, b in pairwise(filled))
    return any(
        all(o < q + t and q < o + s for o, s, q, t in zip(*a, *b, strict=True))
        for index, a in enumerate(filled)
        for b in filled[index + 1 :]
    )


def _check_inside(folder: Path, path: Path) -> None:
    if not path.resolve().is_relative_to(folder.resolve()):
        raise UnsoundError(f"`{path.name}` is a link that leads out of the folder")
