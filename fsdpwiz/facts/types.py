"""The facts all parts share: what is true of the target machines, the model and the data.

Every fact may be absent (None); `Facts.absent` then says why. `source` says how a fact is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Knowledge = Literal["measured", "declared", "catalogued"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One card. Memory in bytes; `compute_capability` as (major, minor); `mig`: a slice of a card."""

    index: int
    name: str
    memory_bytes: int
    memory_free_bytes: int | None = None
    compute_capability: tuple[int, int] | None = None
    uuid: str | None = None
    mig: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpus:
    """The cards of one node of the target; an empty tuple means: known to have none.

    `unreadable` has a sentence for each card that is there but could not be read.
    """

    source: Knowledge
    cards: tuple[Gpu, ...]
    driver: str | None = None
    cuda: str | None = None
    unreadable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """One node of the target. `memory_bytes` is the smaller of RAM and the cgroup's limit."""

    source: Knowledge
    cores: int | None
    memory_bytes: int | None
    ram_bytes: int | None = None
    cgroup_limit_bytes: int | None = None
    hostname: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """The file system that holds `path` (the nearest existing parent of the output folder).

    `problem` says why it is not writable.
    """

    source: Knowledge
    path: Path
    free_bytes: int
    writable: bool
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Software:
    """Installed versions by distribution name, from package metadata; nothing is imported."""

    source: Knowledge
    versions: Mapping[str, str]
    python: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Slurm:
    """Whether Slurm's commands are on the path here."""

    source: Knowledge
    present: bool
    version: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """The base model, from its config.json: `where` is "folder", "cache" or "catalogue".

    `layer_classes` are the block classes FSDP wraps; None where the architecture is unknown.
    `has_weights` is None where it cannot be told (hub, catalogue).
    `known_type` is whether the transformers installed here has the model type; None where it is not.
    `parameter_bytes` is the size of the weight files where they are there.
    """

    source: Knowledge
    where: Literal["folder", "cache", "catalogue"]
    path: Path | None
    architecture: str | None
    layer_classes: tuple[str, ...] | None
    config: Mapping[str, Any]
    has_weights: bool | None
    weight_bytes: int | None = None
    tokenizer: bool | None = None
    tokenizer_problem: str | None = None
    chat_template: bool | None = None
    problem: str | None = None
    known_type: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFault:
    """One bad row: its file, its 1-based line, and what is wrong with it."""

    file: Path
    line: int
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    """A local data set: its columns (those every sampled row has), rows counted, first faults.

    `format` is the name of the method's data format that the columns show, None if unknown.
    `where` is "file", "folder" or "hub" (then nothing more is known). `rows_checked` of the
    `rows` were looked at for faults; `unchecked` says why none or not all could be. `without_split`:
    the split asked for that the data lacks, which is then the `problem`.
    """

    source: Knowledge
    where: Literal["file", "folder", "hub"]
    files: tuple[Path, ...] = ()
    columns: frozenset[str] = frozenset()
    format: str | None = None
    rows: int | None = None
    faults: tuple[DataFault, ...] = ()
    problem: str | None = None
    without_split: str | None = None
    rows_checked: int = 0
    unchecked: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """The recipe's own script: `problem` says why it cannot be run, `nearest` which file may be meant."""

    source: Knowledge
    path: Path | None
    problem: str | None = None
    nearest: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """Whether the rendezvous port can be bound on this machine."""

    source: Knowledge
    number: int
    free: bool
    holder: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """All that is known of the target; a rule names the ones it needs by its parameters.

    `gpus` and `host` are the target's: measured where the target is this machine. `declared_gpus`
    and `declared_host` are what the recipe's `cluster` says, whatever was measured.
    """

    gpus: Gpus | None = None
    host: Host | None = None
    declared_gpus: Gpus | None = None
    declared_host: Host | None = None
    disk: Disk | None = None
    software: Software | None = None
    slurm: Slurm | None = None
    model: Model | None = None
    data: Data | None = None
    eval_data: Data | None = None
    script: Script | None = None
    port: Port | None = None
    environment: Mapping[str, str] | None = None
    absent: Mapping[str, str] = field(default_factory=dict)
