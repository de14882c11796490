"""What is asked of the base model at export: the dtype of its weights, and where its own code lies."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import snapshot_download
from transformers import AutoConfig

from fsdpwiz.train.export.dtypes import base_dtype


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """`folder` is the model's folder here or in the hub's cache; `dtype` is None where nothing says it."""

    name_or_path: str
    dtype: torch.dtype | None
    use_cache: bool | None
    folder: Path | None


def read_base(name_or_path: str, *, revision: str | None = None, trust_remote_code: bool = False) -> Base:
    """The base model's own facts, from what is on this machine; unknown where it is not there any more."""
    folder = base_folder(name_or_path, revision)
    try:
        config: Any = AutoConfig.from_pretrained(
            str(folder or name_or_path),
            revision=revision,
            trust_remote_code=trust_remote_code,
            local_files_only=True,
        )
    except (OSError, ValueError):
        config = None
    return Base(
        name_or_path=name_or_path,
        dtype=base_dtype(config, folder),
        use_cache=getattr(config, "use_cache", None),
        folder=folder,
    )


def base_folder(name_or_path: str, revision: str | None) -> Path | None:
    """The folder with the base model's files, in place or in the hub's cache; nothing is fetched."""
    if Path(name_or_path).is_dir():
        return Path(name_or_path)
    try:
        return Path(snapshot_download(name_or_path, revision=revision, local_files_only=True))
    except (OSError, ValueError):
        return None
