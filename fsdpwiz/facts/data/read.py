"""A data set named in a recipe: a file, a folder of files, or something only the hub has."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from fsdpwiz.facts.data.folder import KINDS, find_files, saved_columns
from fsdpwiz.facts.data.json_files import JsonSample
from fsdpwiz.facts.data.parquet import read_parquet
from fsdpwiz.facts.data.rows import find_format
from fsdpwiz.facts.data.splits import split_names
from fsdpwiz.facts.local_path import find_local, is_hub_id
from fsdpwiz.facts.one_line import one_line
from fsdpwiz.facts.types import Data
from fsdpwiz.methods.method import DataFormat

_COMPRESSED = frozenset({".gz", ".zst", ".xz", ".bz2", ".zip"})


def read_data(
    name_or_path: str, *, split: str | None, formats: Sequence[DataFormat], base_folders: Sequence[Path]
) -> Data:
    """What is known of a data set named as in a recipe; nothing is fetched.

    `formats` are the training method's; without any, rows are only checked for being objects.
    """
    path = find_local(name_or_path, base_folders)
    if path is None or (not path.exists() and is_hub_id(name_or_path)):
        return Data(source="declared", where="hub", unchecked="it is on the hub")
    if path.is_dir():
        return _of_folder(path, split or "train", formats)
    return _of_file(path, split or "train", formats)


def _of_file(path: Path, split: str, formats: Sequence[DataFormat]) -> Data:
    if not path.exists():
        return Data(source="measured", where="file", files=(path,), problem="no such file")
    other = [name for name in split_names(split) if name != "train"]
    if other:
        problem = f"no split `{one_line(other[0], limit=40)}`: a single file has only `train`"
        return Data(source="measured", where="file", files=(path,), problem=problem, without_split=other[0])
    suffix = path.suffix.lower()
    if suffix in _COMPRESSED:
        return Data(source="measured", where="file", files=(path,), unchecked="it is compressed")
    if suffix not in KINDS:
        problem = f"`{one_line(suffix or path.name, limit=40)}` is not read: use .jsonl, .json or .parquet"
        return Data(source="measured", where="file", files=(path,), problem=problem)
    return (
        _of_parquet("file", (path,), formats)
        if KINDS[suffix] == "parquet"
        else _of_json("file", (path,), formats)
    )


def _of_folder(folder: Path, split: str, formats: Sequence[DataFormat]) -> Data:
    if not os.access(folder, os.R_OK | os.X_OK):
        return Data(source="measured", where="folder", problem="not readable for this user")
    saved, columns = saved_columns(folder)
    if saved:
        found_format = find_format(columns, formats)
        return Data(
            source="measured",
            where="folder",
            columns=columns,
            format=found_format.name if found_format else None,
            unchecked="it was written by `save_to_disk`; only its columns are looked at",
        )
    found = find_files(folder, split)
    if found.problem is not None or not found.files:
        return Data(
            source="measured",
            where="folder",
            problem=found.problem,
            without_split=found.without_split,
            unchecked=found.unchecked,
        )
    return _of_files("folder", found.files, formats)


def _of_files(
    where: Literal["file", "folder"], files: tuple[Path, ...], formats: Sequence[DataFormat]
) -> Data:
    """Files of one kind, the first's."""
    if KINDS[files[0].suffix.lower()] == "parquet":
        return _of_parquet(where, files, formats)
    return _of_json(where, files, formats)


def _of_json(
    where: Literal["file", "folder"], files: tuple[Path, ...], formats: Sequence[DataFormat]
) -> Data:
    sample = JsonSample(formats)
    for path in files:
        sample.add(path)
    problem = sample.problem
    if problem is None and not sample.faults and sample.rows == 0:
        problem = "no rows"
    return Data(
        source="measured",
        where=where,
        files=files,
        columns=sample.columns or frozenset(),
        format=sample.format.name if sample.format else None,
        rows=sample.rows,
        faults=tuple(sample.faults),
        problem=problem,
        rows_checked=sample.rows_checked,
        unchecked=sample.unchecked,
    )


def _of_parquet(
    where: Literal["file", "folder"], files: tuple[Path, ...], formats: Sequence[DataFormat]
) -> Data:
    found = read_parquet(files, formats)
    return Data(
        source="measured",
        where=where,
        files=files,
        columns=found.columns,
        format=found.format.name if found.format else None,
        rows=found.rows,
        problem=found.problem,
        unchecked=found.unchecked,
    )
