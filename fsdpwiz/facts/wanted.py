"""What the readers have to know of a recipe: where model, data and output are, and the target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from fsdpwiz.methods.method import DataFormat


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Plain arguments of `gather`, filled from a recipe by its caller; None where it says nothing.

    `model` and `data` are a hub id, or a file or folder, looked for in `base_folders` in turn.
    `script` likewise, but never on the hub. `data_formats` are the training method's; `cluster`
    is the recipe's section as given.
    """

    model: str | None = None
    revision: str | None = None
    data: str | None = None
    data_split: str | None = None
    eval_data: str | None = None
    eval_split: str | None = None
    data_formats: tuple[DataFormat, ...] = ()
    script: str | None = None
    output_dir: Path | None = None
    cluster: Mapping[str, Any] = field(default_factory=dict)
    launcher: Literal["local", "slurm"] = "local"
    base_folders: tuple[Path, ...] = ()
