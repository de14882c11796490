"""What lies in a checkpoint folder: of one of our runs, of Accelerate, of the Trainer, of PEFT."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fsdpwiz.plan.types import Plan
from fsdpwiz.runs.checkpoints import complete_checkpoints, manifest_of
from fsdpwiz.runs.layout import RunFolder
from fsdpwiz.train.checksums import DamagedError, check_contents, check_sizes
from fsdpwiz.train.export import metadata
from fsdpwiz.train.export.problems import bad_source
from fsdpwiz.train.export.shards import INDEX_NAME, SINGLE_NAME
from fsdpwiz.train.export.weights import (
    DistributedWeights,
    SafetensorsWeights,
    TorchFileWeights,
    WeightFiles,
)

SHARDED_FOLDER = "pytorch_model_fsdp_0"
TORCH_FILES = ("pytorch_model_fsdp.bin", "pytorch_model.bin")
ADAPTER_FILE = "adapter_model.safetensors"
ADAPTER_CONFIG = "adapter_config.json"
JSON_LIMIT_BYTES = 10_000_000
OPTIMIZER_PREFIXES = ("optimizer_0/", "optimizer.", "scheduler.pt", "rng_state")


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """`folder` has the companions (config, tokenizer), `plan` is that of the run it belongs to, if any."""

    folder: Path
    weights: WeightFiles
    plan: Plan | None

    @property
    def has_config(self) -> bool:
        return (self.folder / "config.json").is_file()

    @property
    def has_tokenizer(self) -> bool:
        return (self.folder / "tokenizer_config.json").is_file()

    @property
    def base_model(self) -> str | None:
        """The base model's name: the run's, else the adapter's configuration's."""
        if self.plan is not None:
            return self.plan.model.name_or_path
        named = (self.adapter_config() or {}).get("base_model_name_or_path")
        return named if isinstance(named, str) and named else None

    def adapter_config(self) -> dict[str, Any] | None:
        """adapter_config.json, else the run's `peft` section, else None."""
        path = self.folder / ADAPTER_CONFIG
        if path.is_file() and path.stat().st_size <= JSON_LIMIT_BYTES:
            try:
                document = json.loads(path.read_text(encoding="utf-8"))
            except ValueError as error:
                raise bad_source(self.folder, f"its `{ADAPTER_CONFIG}` is not JSON: {error}") from error
            return document if isinstance(document, dict) else None
        return self.plan.peft if self.plan is not None else None


def open_checkpoint(source: Path) -> Checkpoint:
    """The checkpoint at `source`, which may be a run folder (then its latest one).

    Raises FsdpwizError (P013) where there is none that can be exported.
    """
    if not source.is_dir():
        raise bad_source(source, "it is not a folder")
    run = RunFolder(source)
    if run.plan.is_file():
        complete = complete_checkpoints(run)
        if not complete:
            raise bad_source(source, "the run has no complete checkpoint")
        return _opened(complete[-1], _plan(run))
    return _opened(source, None)


def _opened(folder: Path, plan: Plan | None) -> Checkpoint:
    weights = _weights(folder)
    inner = folder.name == SHARDED_FOLDER and not (folder / "config.json").exists()
    companions = folder.absolute().parent if inner else folder.absolute()
    run = RunFolder(companions.parent.parent)
    if plan is None and companions.parent == run.checkpoints and run.plan.is_file():
        plan = _plan(run)
    return Checkpoint(folder=companions, weights=weights, plan=plan)


def require_undamaged(checkpoint: Checkpoint) -> None:
    """Raise FsdpwizError (P013) unless the files are those that were written, where a manifest lists them.

    What an export does not read, the optimizer's state above all, is not looked at.
    """
    folder = checkpoint.folder
    files = (manifest_of(folder) or {}).get("files")
    if not isinstance(files, dict):
        return
    needed = {name: values for name, values in files.items() if not name.startswith(OPTIMIZER_PREFIXES)}
    try:
        check_sizes(folder, needed)
        check_contents(folder, needed)
    except DamagedError as error:
        reason = f"{error}; copy it again from where it is whole, or export an earlier checkpoint"
        raise bad_source(folder, reason) from error


def _weights(folder: Path) -> WeightFiles:
    sharded = folder / SHARDED_FOLDER
    if (folder / metadata.FILE_NAME).exists():
        return DistributedWeights(folder)
    if sharded.exists():
        if not sharded.resolve().is_relative_to(folder.resolve()):
            raise bad_source(folder, f"`{SHARDED_FOLDER}` is a link that leads out of the folder")
        return DistributedWeights(sharded)
    if (folder / ADAPTER_FILE).exists():
        return SafetensorsWeights(folder, file_name=ADAPTER_FILE)
    if (folder / INDEX_NAME).exists() or (folder / SINGLE_NAME).exists():
        return SafetensorsWeights(folder)
    for name in TORCH_FILES:
        if (folder / name).is_file():
            return TorchFileWeights(folder / name)
    raise bad_source(folder, _why_nothing(folder))


def _why_nothing(folder: Path) -> str:
    if any(folder.glob("pytorch_model_fsdp*_rank*.bin")):
        return (
            "its weights are one file per rank (LOCAL_STATE_DICT, or `use_dcp=False`), which only the same "
            "ranks can put together: resume from it with SHARDED_STATE_DICT and save again"
        )
    if any(folder.glob("*.distcp")):
        return "it has shards but no `.metadata`: the save did not end"
    return f"it has neither `{SHARDED_FOLDER}`, `{SINGLE_NAME}`, `{ADAPTER_FILE}` nor `{TORCH_FILES[0]}`"


def _plan(run: RunFolder) -> Plan:
    try:
        return Plan.read(run.plan)
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise bad_source(run.root, f"its plan.json cannot be read: {error}") from error
