"""A model folder from a checkpoint, without the processes that wrote it and without loading it whole."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig
from transformers import AutoConfig, AutoTokenizer, GenerationConfig

from fsdpwiz.train.export import folder as folders
from fsdpwiz.train.export.adapter import stored_form, verify_adapter, write_adapter
from fsdpwiz.train.export.architecture import Architecture, architecture
from fsdpwiz.train.export.base import Base, read_base
from fsdpwiz.train.export.checkpoint import Checkpoint, open_checkpoint
from fsdpwiz.train.export.companions import write_companions
from fsdpwiz.train.export.dtypes import dtype_of
from fsdpwiz.train.export.merge import ADAPTER, LoraMerge, peft_skeleton, unmergeable
from fsdpwiz.train.export.names import PEFT_PREFIX, base_name
from fsdpwiz.train.export.problems import bad_source, target_exists
from fsdpwiz.train.export.produce import SHARD_LIMIT_BYTES, produce
from fsdpwiz.train.export.ranks import Ranks
from fsdpwiz.train.export.requantise import as_quantised
from fsdpwiz.train.export.stored_state import Origin, StoredState, plain_names, ties_differ
from fsdpwiz.train.export.verify import Compared
from fsdpwiz.train.export.weights import SafetensorsWeights, Weights


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """`model` names the base where the checkpoint does not; `adapter` is where the adapter goes, if anywhere."""

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
    No code of the checkpoint or the model is run.
    """
    started = time.monotonic()
    for target in (request.target, request.adapter):
        if target is not None and target.exists() and not request.force:
            raise target_exists(target)
    job = _Job.of(request)
    with folders.discarded_on_failure(*job.targets, here=True):
        compared = job.write(request)
        for target in job.targets:
            folders.commit(target)
    return _exported(request, job, compared, started)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Adapter:
    """The adapter's configuration and tensors, and what merges them."""

    config: LoraConfig
    peft_model: Any
    tensors: Mapping[str, torch.Tensor]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """One export: state to write, architecture to write it for, what stands beside it."""

    checkpoint: Checkpoint
    base: Base | None
    state: StoredState
    architecture: Architecture
    dtype: torch.dtype
    adapter: _Adapter | None
    targets: tuple[Path, ...]

    @classmethod
    def of(cls, request: Request) -> _Job:
        checkpoint = open_checkpoint(request.source)
        base = _base(checkpoint, request)
        config = _config(checkpoint, base)
        dtype = _dtype(checkpoint, base, config, request)
        shape = _architecture(checkpoint, config, dtype)
        adapter = _adapter(checkpoint, config, dtype)
        origins = (
            _origins(checkpoint, shape)
            if adapter is None
            else _base_origins(checkpoint, base, shape, adapter)
        )
        merge = None if adapter is None else LoraMerge(adapter.peft_model, adapter.tensors)
        untie = ties_differ(origins, shape.tied, merge)
        if untie:
            shape = architecture(config, dtype, untie=True)
        if base is not None and base.use_cache is not None:
            shape.config.use_cache = base.use_cache
        quantise = None
        if adapter is not None and checkpoint.plan is not None and checkpoint.plan.quantization:
            skeleton = architecture(config, dtype).skeleton
            held = dtype_of(checkpoint.plan.model.dtype)
            quantise = as_quantised(skeleton, checkpoint.plan.quantization, held)
        state = StoredState(origins, shape, dtype, merge=merge, quantise=quantise)
        apart = (request.adapter,) if adapter is not None and request.adapter is not None else ()
        return cls(
            checkpoint=checkpoint,
            base=base,
            state=state,
            architecture=shape,
            dtype=dtype,
            adapter=adapter,
            targets=(*apart, request.target),
        )

    def write(self, request: Request) -> Compared:
        """Write and verify everything beside its place."""
        if self.adapter is not None and request.adapter is not None:
            size_bytes = sum(tensor.nbytes for tensor in self.adapter.tensors.values())
            partial = folders.begin(request.adapter, size_bytes)
            name = self.base.name_or_path if self.base is not None else ""
            write_adapter(partial, self.adapter.tensors, self.adapter.config, name)
            verify_adapter(partial, self.adapter.peft_model, self.adapter.tensors)
        return produce(
            self.state,
            request.target,
            self.architecture,
            Ranks.here(),
            companions=self._companions,
            shard_limit_bytes=request.shard_limit_bytes,
        )

    def _companions(self, partial: Path) -> None:
        write_companions(
            partial,
            self.architecture,
            generation_config=_generation_config(self.checkpoint, self.base),
            tokenizer=_tokenizer(self.checkpoint, self.base),
        )


def _base(checkpoint: Checkpoint, request: Request) -> Base | None:
    name = request.model or checkpoint.base_model
    revision = checkpoint.plan.model.revision if checkpoint.plan is not None and not request.model else None
    return read_base(name, revision=revision) if name else None


def _config(checkpoint: Checkpoint, base: Base | None) -> Any:
    """The checkpoint's configuration, else the base model's."""
    places = [str(checkpoint.folder)] if checkpoint.has_config else []
    places += [str(base.folder or base.name_or_path)] if base is not None else []
    if not places:
        raise bad_source(checkpoint.folder, "it has no config.json: name its base model with `--model`")
    try:
        return AutoConfig.from_pretrained(places[0], trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise bad_source(
            checkpoint.folder, f"the configuration in `{places[0]}` cannot be read: {error}"
        ) from error


def _dtype(checkpoint: Checkpoint, base: Base | None, config: Any, request: Request) -> torch.dtype:
    wanted = request.dtype or (
        checkpoint.plan.checkpoint.export_dtype if checkpoint.plan is not None else None
    )
    known = base.dtype if base is not None else None
    stored = next(
        (dtype for _, dtype in checkpoint.weights.tensors.values() if dtype.is_floating_point), None
    )
    return dtype_of(wanted or known or getattr(config, "dtype", None) or stored or torch.float32)


def _architecture(checkpoint: Checkpoint, config: Any, dtype: torch.dtype) -> Architecture:
    try:
        return architecture(config, dtype)
    except (ValueError, KeyError) as error:
        raise bad_source(
            checkpoint.folder, f"no causal language model has this configuration: {error}"
        ) from error


def _origins(checkpoint: Checkpoint, shape: Architecture) -> dict[str, Origin]:
    names = plain_names(checkpoint.weights, (*shape.expected, *shape.tied))
    return {name: Origin(weights=checkpoint.weights, name=stored) for name, stored in names.items()}


def _adapter(checkpoint: Checkpoint, config: Any, dtype: torch.dtype) -> _Adapter | None:
    """The adapter of a checkpoint that holds one, read whole; None for a checkpoint of a whole model."""
    weights = checkpoint.weights
    stored = [name for name in weights.tensors if ".lora_" in name]
    if not stored:
        return None
    given = checkpoint.adapter_config()
    if given is None:
        reason = "it holds a LoRA adapter and no adapter_config.json, which tells how it is scaled: put it beside it"
        raise bad_source(checkpoint.folder, reason)
    lora = _lora_config(checkpoint, given)
    skeleton = architecture(config, dtype).skeleton
    peft_model = peft_skeleton(skeleton, lora)
    return _Adapter(config=lora, peft_model=peft_model, tensors=_adapter_tensors(weights, stored, peft_model))


def _lora_config(checkpoint: Checkpoint, given: Mapping[str, Any]) -> LoraConfig:
    try:
        lora = LoraConfig.from_peft_type(**{"peft_type": "LORA", "task_type": "CAUSAL_LM", **given})
    except (TypeError, ValueError, KeyError) as error:
        raise bad_source(
            checkpoint.folder, f"its adapter's configuration is not one of LoRA: {error}"
        ) from error
    if not isinstance(lora, LoraConfig):
        raise bad_source(checkpoint.folder, "its adapter is not LoRA")
    if (key := unmergeable(lora)) is not None:
        raise bad_source(checkpoint.folder, f"an adapter with `{key}` cannot be merged")
    return lora


def _adapter_tensors(weights: Weights, stored: list[str], peft_model: Any) -> dict[str, torch.Tensor]:
    start = stored[0].find(PEFT_PREFIX)
    prefix = stored[0][: max(start, 0)]
    named = {name.removeprefix(prefix): name for name in weights.tensors if name.startswith(prefix)}
    tensors = {name: weights.read(full).clone() for name, full in named.items()}
    if any(f".{ADAPTER}." in name or name.endswith(f".{ADAPTER}") for name in tensors):
        return stored_form(peft_model, tensors)
    return tensors


def _base_origins(
    checkpoint: Checkpoint, base: Base | None, shape: Architecture, adapter: _Adapter
) -> dict[str, Origin]:
    """The base model's tensors, those that the adapter replaces whole taken from it."""
    if base is None or base.folder is None:
        name = f"`{base.name_or_path}` is not here" if base is not None else "nothing names it"
        raise bad_source(
            checkpoint.folder, f"its base model is needed and {name}: give its folder with `--model`"
        )
    weights = SafetensorsWeights(base.folder, inside=False)
    names = plain_names(weights, (*shape.expected, *shape.tied))
    origins = {name: Origin(weights=weights, name=stored) for name, stored in names.items()}
    replacing = _Held({name: tensor for name, tensor in adapter.tensors.items() if ".lora_" not in name})
    for stored in replacing.tensors:
        origins[base_name(stored) or stored] = Origin(weights=replacing, name=stored)
    return origins


class _Held:
    """Tensors in memory as `Weights`."""

    def __init__(self, held: Mapping[str, torch.Tensor]) -> None:
        self._held = held
        self.tensors = {name: (tuple(tensor.shape), tensor.dtype) for name, tensor in held.items()}

    def read(self, name: str) -> torch.Tensor:
        return self._held[name]


def _tokenizer(checkpoint: Checkpoint, base: Base | None) -> Any:
    places = [str(checkpoint.folder)] if checkpoint.has_tokenizer else []
    places += [str(base.folder)] if base is not None and base.folder is not None else []
    for place in places:
        try:
            return AutoTokenizer.from_pretrained(place, trust_remote_code=False, local_files_only=True)
        except (OSError, ValueError, KeyError):
            continue
    return None


def _generation_config(checkpoint: Checkpoint, base: Base | None) -> Any:
    places = [checkpoint.folder, *([base.folder] if base is not None and base.folder is not None else [])]
    for place in places:
        try:
            return GenerationConfig.from_pretrained(str(place), local_files_only=True)
        except (OSError, ValueError):
            continue
    return None


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
