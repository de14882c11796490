"""A model folder from a checkpoint, without the processes that wrote it and without loading it whole."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from fsdpwiz.train.export import folder as folders
from fsdpwiz.train.export.adapter import verify_adapter, write_adapter
from fsdpwiz.train.export.architecture import Architecture, architecture
from fsdpwiz.train.export.base import Base
from fsdpwiz.train.export.beside import (
    architecture_of,
    base_of,
    config_of,
    dtype_for,
    generation_config_of,
    tokenizer_of,
)
from fsdpwiz.train.export.checkpoint import Checkpoint, open_checkpoint, require_undamaged
from fsdpwiz.train.export.companions import write_companions
from fsdpwiz.train.export.dtypes import dtype_of
from fsdpwiz.train.export.merge import LoraMerge
from fsdpwiz.train.export.problems import target_exists
from fsdpwiz.train.export.produce import SHARD_LIMIT_BYTES, produce
from fsdpwiz.train.export.ranks import Ranks
from fsdpwiz.train.export.requantise import as_quantised
from fsdpwiz.train.export.stored_adapter import StoredAdapter, base_origins, read_adapter
from fsdpwiz.train.export.stored_state import Change, Origin, StoredState, plain_names, ties_differ
from fsdpwiz.train.export.verify import Compared


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """`model` names the base where the checkpoint does not; `adapter` is where an adapter goes."""

    source: Path
    target: Path
    model: str | None = None
    dtype: str | None = None
    adapter: Path | None = None
    force: bool = False
    shard_limit_bytes: int = SHARD_LIMIT_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What stands where now."""

    checkpoint: Path
    model: Path
    adapter: Path | None
    dtype: str
    parameters: int
    size_bytes: int
    tensors: int
    compared_blocks: int
    tokenizer: bool
    seconds: float

    def to_json(self) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in self.__slots__}
        return {name: str(value) if isinstance(value, Path) else value for name, value in values.items()}


def export_checkpoint(request: Request) -> Exported:
    """Write the verified model of a checkpoint to `request.target`.

    FsdpwizError: P013 no such checkpoint, P014 the target exists, P003 no disk space, P011 not verified.
    No code of the checkpoint or the model is run, and nothing is fetched.
    """
    started = time.monotonic()
    for target in (request.target, request.adapter):
        if target is not None and target.exists() and not request.force:
            raise target_exists(target)
    job = _job(request)
    with folders.discarded_on_failure(*job.targets, here=True):
        job.write_adapter(request.adapter)
        compared = job.write_model(request)
        for target in job.targets:
            folders.commit(target)
    return _exported(request, job, compared, started)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """One export: state to write, architecture to write it for, what stands beside it."""

    checkpoint: Checkpoint
    base: Base | None
    state: StoredState
    architecture: Architecture
    dtype: torch.dtype
    adapter: StoredAdapter | None
    targets: tuple[Path, ...]

    def write_adapter(self, target: Path | None) -> None:
        """The adapter's files, verified, still beside their place."""
        if self.adapter is None or target is None:
            return
        partial = folders.begin(target, sum(tensor.nbytes for tensor in self.adapter.tensors.values()))
        name = self.base.name_or_path if self.base is not None else ""
        write_adapter(partial, self.adapter.tensors, self.adapter.config, name)
        verify_adapter(partial, self.adapter.peft_model, self.adapter.tensors)

    def write_model(self, request: Request) -> Compared:
        """The model's files, verified, still beside their place."""
        return produce(
            self.state,
            request.target,
            self.architecture,
            Ranks.here(),
            companions=lambda partial: write_companions(
                partial,
                self.architecture,
                generation_config=generation_config_of(self.checkpoint, self.base),
                tokenizer=tokenizer_of(self.checkpoint, self.base),
            ),
            shard_limit_bytes=request.shard_limit_bytes,
        )


def _job(request: Request) -> _Job:
    checkpoint = open_checkpoint(request.source)
    require_undamaged(checkpoint)
    base = base_of(checkpoint, request.model)
    config = config_of(checkpoint, base)
    dtype = dtype_for(checkpoint, base, config, request.dtype)
    shape = architecture_of(checkpoint, config, dtype)
    adapter = read_adapter(checkpoint, config, dtype)
    origins = _origins(checkpoint, base, shape, adapter)
    merge = None if adapter is None else LoraMerge(adapter.peft_model, adapter.tensors)
    shape = architecture(config, dtype, untie=ties_differ(origins, shape.tied, merge))
    if base is not None and base.use_cache is not None:
        shape.config.use_cache = base.use_cache
    quantise = _quantise(checkpoint, config, dtype, adapter)
    return _Job(
        checkpoint=checkpoint,
        base=base,
        state=StoredState(origins, shape, dtype, merge=merge, quantise=quantise),
        architecture=shape,
        dtype=dtype,
        adapter=adapter,
        targets=(*((request.adapter,) if adapter and request.adapter else ()), request.target),
    )


def _origins(
    checkpoint: Checkpoint, base: Base | None, shape: Architecture, adapter: StoredAdapter | None
) -> dict[str, Origin]:
    if adapter is not None:
        return base_origins(checkpoint, base, shape, adapter)
    names = plain_names(checkpoint.weights, (*shape.expected, *shape.tied))
    return {name: Origin(weights=checkpoint.weights, name=stored) for name, stored in names.items()}


def _quantise(
    checkpoint: Checkpoint, config: Any, dtype: torch.dtype, adapter: StoredAdapter | None
) -> Change | None:
    """What 4-bit training of this run made of the base's tensors; None where it did nothing."""
    plan = checkpoint.plan
    if adapter is None or plan is None or not plan.quantization:
        return None
    return as_quantised(architecture(config, dtype).skeleton, plan.quantization, dtype_of(plan.model.dtype))


def _exported(request: Request, job: _Job, compared: Compared, started: float) -> Exported:
    entries = job.architecture.expected.values()
    return Exported(
        checkpoint=job.checkpoint.folder,
        model=request.target,
        adapter=request.adapter if job.adapter is not None else None,
        dtype=str(job.dtype).removeprefix("torch."),
        parameters=sum(entry.elements for entry in entries),
        size_bytes=sum(entry.size_bytes for entry in entries),
        tensors=compared.tensors,
        compared_blocks=compared.blocks,
        tokenizer=(request.target / "tokenizer_config.json").is_file(),
        seconds=time.monotonic() - started,
    )
