"""Weights spread over bounded safetensors files with an index, as `save_pretrained` names them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from fsdpwiz.core import atomic
from fsdpwiz.train.export.entry import Entry
from fsdpwiz.train.export.safetensors_file import SafetensorsWriter, Stored, read_header

SINGLE_NAME = "model.safetensors"
INDEX_NAME = "model.safetensors.index.json"
INDEX_LIMIT_BYTES = 200_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Shards:
    """Which entries go into which file."""

    files: Mapping[str, tuple[Entry, ...]]

    @classmethod
    def of(cls, entries: Sequence[Entry], limit_bytes: int) -> Shards:
        """Files of at most `limit_bytes` of tensors each, in order; a larger tensor has one to itself."""
        groups: list[list[Entry]] = []
        size_bytes = 0
        for entry in entries:
            if not groups or size_bytes + entry.size_bytes > limit_bytes:
                groups.append([])
                size_bytes = 0
            groups[-1].append(entry)
            size_bytes += entry.size_bytes
        count = len(groups)
        names = (
            [SINGLE_NAME]
            if count == 1
            else [f"model-{n:05d}-of-{count:05d}.safetensors" for n in range(1, count + 1)]
        )
        return cls(files={name: tuple(group) for name, group in zip(names, groups, strict=True)})

    @property
    def size_bytes(self) -> int:
        return sum(entry.size_bytes for group in self.files.values() for entry in group)

    def index(self) -> str | None:
        """The text of the index; None for a single file."""
        if set(self.files) == {SINGLE_NAME}:
            return None
        weight_map = {entry.name: name for name, group in self.files.items() for entry in group}
        parameters = sum(entry.elements for group in self.files.values() for entry in group)
        metadata = {"total_parameters": parameters, "total_size": self.size_bytes}
        return (
            json.dumps({"metadata": metadata, "weight_map": dict(sorted(weight_map.items()))}, indent=2)
            + "\n"
        )


class ShardsWriter:
    """Takes the tensors in the order of the entries and keeps one file open at a time."""

    def __init__(self, folder: Path, shards: Shards) -> None:
        self._folder = folder
        self._shards = shards
        self._pending = iter(shards.files.items())
        self._writer: SafetensorsWriter | None = None
        self._left: set[str] = set()

    def put(self, entry: Entry, tensor: torch.Tensor) -> None:
        if not self._left:
            name, group = next(self._pending)
            self._writer, self._left = (
                SafetensorsWriter(self._folder / name, group),
                {item.name for item in group},
            )
        if self._writer is not None:
            self._writer.put(entry, tensor)
            self._left.remove(entry.name)
        if self._writer is not None and not self._left:
            self._writer.close()
            self._writer = None

    def finish(self) -> None:
        """Write the index; ValueError where a tensor never came."""
        missing = sorted(self._left) or [entry.name for _, group in self._pending for entry in group]
        if missing:
            raise ValueError(f"`{missing[0]}` and {len(missing) - 1} more were never given")
        index = self._shards.index()
        if index is not None:
            atomic.write_text(self._folder / INDEX_NAME, index)

    def abandon(self) -> None:
        if self._writer is not None:
            self._writer.abandon()


def stored_tensors(folder: Path, *, inside: bool = True, file_name: str | None = None) -> dict[str, Stored]:
    """The tensors of a folder's safetensors files, or of the one named, by name.

    `inside`: its files may not be links that lead out of it. ValueError where index and files disagree.
    """
    index = folder / INDEX_NAME
    if file_name is not None or not index.exists():
        return read_header(_file(folder, file_name or SINGLE_NAME, inside))
    weight_map = _weight_map(index)
    stored: dict[str, Stored] = {}
    for name in sorted(set(weight_map.values())):
        stored.update(read_header(_file(folder, name, inside)))
    absent = sorted(set(weight_map) - set(stored))
    if absent:
        raise ValueError(f"`{INDEX_NAME}` names `{absent[0]}`, which no file holds")
    return stored


def _weight_map(index: Path) -> dict[str, str]:
    if index.stat().st_size > INDEX_LIMIT_BYTES:
        raise ValueError(f"`{index.name}` is larger than any index")
    try:
        weight_map = json.loads(index.read_text(encoding="utf-8"))["weight_map"]
        return {str(name): str(file) for name, file in weight_map.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"`{index.name}` is not an index") from error


def _file(folder: Path, name: str, inside: bool) -> Path:
    path = folder / name
    if Path(name).name != name:
        raise ValueError(f"`{name}` is not the name of a file of this folder")
    if not path.is_file():
        raise ValueError(f"`{name}` is missing or not a regular file")
    if inside and not path.resolve().is_relative_to(folder.resolve()):
        raise ValueError(f"`{name}` is a link that leads out of the folder")
    return path
