"""The weight files of a model folder: which there are, their size, and whether any is missing."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from fsdpwiz.facts.model.safetensors_header import Shapes, read_weight_file
from fsdpwiz.facts.one_line import one_line
from fsdpwiz.facts.regular_file import UnreadableFileError, read_json_object

# In the order in which from_pretrained looks for them.
_SINGLE_AND_INDEX = (
    ("model.safetensors", "model.safetensors.index.json"),
    ("pytorch_model.bin", "pytorch_model.bin.index.json"),
)
# First and last part of the name, and what that means.
_OTHER_WEIGHTS = (
    ("", ".gguf", "the weights are GGUF, which is not loaded for training: convert them to safetensors"),
    ("", ".safetensors", "no `model.safetensors` and no `model.safetensors.index.json`, only other names"),
    ("pytorch_model", ".bin", "no `pytorch_model.bin` and no `pytorch_model.bin.index.json`, only parts"),
)
_FILES_LIMIT = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """`present` is whether the folder holds any; `problem` says why those cannot be loaded.

    `shapes` are the tensors' as the safetensors headers have them.
    """

    present: bool
    size_bytes: int | None = None
    problem: str | None = None
    shapes: Shapes = field(default_factory=dict, compare=False)


def read_weights(folder: Path) -> Weights:
    """The weights that `from_pretrained` would take from `folder`."""
    try:
        names = {entry.name for entry in _some(folder)}
    except OSError as error:
        return Weights(present=False, problem=f"the folder cannot be read: {error.strerror}")
    for single, index in _SINGLE_AND_INDEX:
        if single in names:
            return _sized(folder, (single,))
        if index in names:
            return _indexed(folder, index)
    return _unloadable(folder, sorted(names))


def _some(folder: Path) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return [entry for entry, _ in zip(entries, range(_FILES_LIMIT), strict=False)]


def _sized(folder: Path, names: tuple[str, ...]) -> Weights:
    shapes: dict[str, tuple[int, ...]] = {}
    for name in names:
        found = read_weight_file(folder / name)
        if found.fault is not None:
            return Weights(present=True, problem=f"`{one_line(name)}` {found.fault}")
        shapes.update(found.shapes)
    size_bytes = sum((folder / name).stat().st_size for name in names)
    return Weights(present=True, size_bytes=size_bytes, shapes=shapes)


def _indexed(folder: Path, index: str) -> Weights:
    try:
        shards = _shards(read_json_object(folder / index).get("weight_map"))
    except UnreadableFileError as error:
        return Weights(present=True, problem=f"`{index}`: {error}")
    missing = [name for name in shards if not (folder / name).is_file()]
    if missing:
        shown = ", ".join(f"`{one_line(name, limit=80)}`" for name in missing[:3])
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        problem = f"{len(missing)} of {len(shards)} weight files in `{index}` are missing: {shown}{more}"
        return Weights(present=len(missing) < len(shards), problem=problem)
    return _sized(folder, tuple(shards))


def _shards(weight_map: object) -> list[str]:
    """The distinct file names of an index, each inside its own folder."""
    if not isinstance(weight_map, dict) or not weight_map:
        raise UnreadableFileError("has no `weight_map`")
    names = set()
    for name in weight_map.values():
        if not isinstance(name, str) or not name or "\0" in name:
            raise UnreadableFileError("`weight_map` does not map to file names")
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or "\\" in name:
            raise UnreadableFileError(f"names the file `{one_line(name, limit=80)}` outside its folder")
        names.add(name)
    return sorted(names)


def _unloadable(folder: Path, names: list[str]) -> Weights:
    """What is there when nothing has a name that `from_pretrained` looks for."""
    for start, end, problem in _OTHER_WEIGHTS:
        found = [name for name in names if name.startswith(start) and name.endswith(end)]
        found = [name for name in found if not name.startswith("adapter_")]
        if found:
            return Weights(present=True, size_bytes=_total_bytes(folder, found), problem=problem)
    if "adapter_config.json" in names:
        return Weights(
            present=False, problem="an adapter, not a model: name its base model or merge it first"
        )
    return Weights(present=False)


def _total_bytes(folder: Path, names: list[str]) -> int | None:
    try:
        return sum((folder / name).stat().st_size for name in names)
    except OSError:
        return None
