"""The plan's data sets: a file, a folder or a repository of the hub."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fsdpwiz.core.errors import FsdpwizError
from fsdpwiz.core.findings import Finding
from fsdpwiz.plan.types import DataPlan, Plan

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


def require_chat_template(rows: Any, tokenizer: Any, plan: Plan) -> None:
    """Raise FsdpwizError where `rows` are chats and nothing says how to write one as text."""
    template = plan.training.get("chat_template_path") or tokenizer.chat_template
    if "messages" in (rows.column_names or ()) and not template:
        raise FsdpwizError(
            Finding(
                code="J034",
                name="no-chat-template",
                severity="error",
                key="data.name_or_path",
                message=(
                    f"`{plan.data.name_or_path}` has chats, and the tokenizer of "
                    f"`{plan.model.name_or_path}` has no chat template; name one by "
                    f"`{plan.method}.chat_template_path`"
                ),
            )
        )


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
