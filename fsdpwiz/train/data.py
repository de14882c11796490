"""The plan's data sets: a file, a folder or a repository of the hub."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fsdpwiz.plan.types import DataPlan

_READERS = {".jsonl": "json", ".json": "json", ".parquet": "parquet"}
_SAVED = ("dataset_dict.json", "state.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Datasets:
    """Rows to train on, and to evaluate on where the plan names some."""

    train: Any
    evaluation: Any | None


def load(plan: DataPlan) -> Datasets:
    """Both data sets. Each rank reads them; the arrow cache is built once, under its file lock."""
    evaluation = None
    if plan.eval_name_or_path is not None:
        evaluation = _load(plan.eval_name_or_path, plan.eval_split or "train")
    elif plan.eval_split is not None:
        evaluation = _load(plan.name_or_path, plan.eval_split)
    return Datasets(train=_load(plan.name_or_path, plan.split), evaluation=evaluation)


def _load(name_or_path: str, split: str) -> Any:
    from datasets import load_dataset

    path = Path(name_or_path).expanduser()
    if path.is_file():
        reader = _READERS.get(path.suffix.lower(), "json")
        return load_dataset(reader, data_files=str(path.resolve()), split=split)
    if path.is_dir() and any((path / name).is_file() for name in _SAVED):
        return _load_saved(path, split)
    return load_dataset(str(path.resolve()) if path.is_dir() else name_or_path, split=split)


def _load_saved(folder: Path, split: str) -> Any:
    from datasets import DatasetDict, load_from_disk

    saved = load_from_disk(str(folder))
    return saved[split] if isinstance(saved, DatasetDict) else saved
