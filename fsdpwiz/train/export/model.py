"""The end of training: the live model becomes a verified folder, an adapter beside it, perhaps a push."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from fsdpwiz.core.findings import Finding
from fsdpwiz.plan.types import Plan
from fsdpwiz.runs.layout import RunFolder
from fsdpwiz.train.export import folder as folders
from fsdpwiz.train.export.adapter import stored_form, verify_adapter, write_adapter
from fsdpwiz.train.export.architecture import Architecture, architecture
from fsdpwiz.train.export.base import Base, read_base
from fsdpwiz.train.export.companions import write_companions
from fsdpwiz.train.export.dtypes import dtype_of
from fsdpwiz.train.export.live import LiveWeights, bare
from fsdpwiz.train.export.merge import ADAPTER, LoraMerge, peft_skeleton, unmergeable
from fsdpwiz.train.export.problems import not_verified
from fsdpwiz.train.export.produce import SHARD_LIMIT_BYTES, produce
from fsdpwiz.train.export.push import push
from fsdpwiz.train.export.ranks import Ranks
from fsdpwiz.train.export.state import LiveState, adapter_tensors, ties_broken
from fsdpwiz.train.export.verify import Compared


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportReport:
    """What stands in the run folder now.

    `gathered` says why rank 0 gathered the weights, None where each rank wrote its own rows. On rank 0
    alone: `pushed`, the commit's address, and `findings`, which stopped nothing (P012).
    """

    model: Path
    adapter: Path | None
    dtype: str
    parameters: int
    size_bytes: int
    tensors: int
    compared_blocks: int
    seconds: float
    gathered: str | None = None
    pushed: str | None = None
    findings: tuple[Finding, ...] = ()


def export_model(
    model: nn.Module,
    *,
    plan: Plan,
    folder: RunFolder,
    tokenizer: Any,
    accelerator: Any,
    shard_limit_bytes: int = SHARD_LIMIT_BYTES,
) -> ExportReport:
    """Write, verify and announce the trained model of `plan`; call it on all ranks with the live model.

    FsdpwizError on all ranks (P011 not verified, P003 no disk space); the run folder then has no `model`
    or `adapter` of this training.
    """
    started = time.monotonic()
    ranks = Ranks.here(accelerator.device)
    ranks.from_first(lambda: _clear(folder))
    export = _Export.of(model, plan, ranks)
    with folders.discarded_on_failure(folder.model, folder.adapter, here=ranks.first):
        export.adapter(folder.adapter, ranks)
        compared = export.weights(folder.model, ranks, tokenizer, shard_limit_bytes)
        ranks.from_first(lambda: _announce(folder, export.adapted))
    # Not collective: an upload may take longer than the process group waits.
    pushed, findings = _pushed(folder.model, plan) if ranks.first else (None, ())
    return _report(folder, export, compared, started, pushed, findings)


@dataclass(slots=True, kw_only=True)
class _Export:
    """One export: the live weights, what they become, and the adapter where there is one."""

    live: nn.Module
    weights_held: LiveWeights
    base: Base
    dtype: torch.dtype
    architecture: Architecture
    merge: LoraMerge | None
    peft_model: Any
    peft_config: Any
    tensors: dict[str, torch.Tensor]

    @property
    def adapted(self) -> bool:
        return self.merge is not None

    @classmethod
    def of(cls, model: nn.Module, plan: Plan, ranks: Ranks) -> _Export:
        live, weights = bare(model), LiveWeights(model)
        base = ranks.from_first(
            lambda: read_base(
                plan.model.name_or_path,
                revision=plan.model.revision,
                trust_remote_code=plan.model.trust_remote_code,
            )
        )
        dtype = dtype_of(plan.checkpoint.export_dtype or base.dtype or _live_dtype(weights))
        trust = plan.model.trust_remote_code
        shape = architecture(live.config, dtype, trust_remote_code=trust)
        merge, peft_model, peft_config, tensors = None, None, None, {}
        if hasattr(live, "peft_config"):
            peft_config = live.peft_config[ADAPTER]
            if (key := unmergeable(peft_config)) is not None:
                raise not_verified(f"an adapter with `{key}` cannot be merged")
            peft_model = peft_skeleton(shape.skeleton, peft_config)
            gathered = adapter_tensors(weights, ranks)
            tensors = stored_form(peft_model, gathered) if ranks.first else {}
            merge = LoraMerge(peft_model, tensors)
        untie = ties_broken(weights, shape.tied, merge)
        shape = architecture(live.config, dtype, untie=untie, trust_remote_code=trust)
        if base.use_cache is not None:
            shape.config.use_cache = base.use_cache
        return cls(
            live=live,
            weights_held=weights,
            base=base,
            dtype=dtype,
            architecture=shape,
            merge=merge,
            peft_model=peft_model,
            peft_config=peft_config,
            tensors=tensors,
        )

    def adapter(self, target: Path, ranks: Ranks) -> None:
        """The adapter's files, verified, still beside their place. Collective."""
        if self.adapted:
            ranks.from_first(lambda: self._adapter(target))

    def _adapter(self, target: Path) -> None:
        size_bytes = sum(tensor.nbytes for tensor in self.tensors.values())
        partial = folders.begin(target, size_bytes)
        write_adapter(partial, self.tensors, self.peft_config, self.base.name_or_path)
        verify_adapter(partial, self.peft_model, self.tensors)

    def weights(self, target: Path, ranks: Ranks, tokenizer: Any, shard_limit_bytes: int) -> Compared:
        """The model's files, verified, still beside their place. Collective."""
        state = LiveState(self.weights_held, self.architecture, self.dtype, ranks, self.merge)
        return produce(
            state,
            target,
            self.architecture,
            ranks,
            companions=lambda partial: write_companions(
                partial,
                self.architecture,
                generation_config=getattr(self.live, "generation_config", None),
                tokenizer=tokenizer,
                code_folder=self.base.folder,
            ),
            shard_limit_bytes=shard_limit_bytes,
        )


def _clear(folder: RunFolder) -> None:
    """A former attempt's model is not this training's: gone before anything can fail."""
    for target in (folder.model, folder.adapter):
        folders.discard(target)
        folders.remove(target)


def _announce(folder: RunFolder, adapted: bool) -> None:
    if adapted:
        folders.commit(folder.adapter)
    folders.commit(folder.model)


def _pushed(model: Path, plan: Plan) -> tuple[str | None, tuple[Finding, ...]]:
    if not plan.training.get("push_to_hub"):
        return None, ()
    address, finding = push(model, plan.training, name=plan.name)
    return address, (finding,) if finding else ()


def _live_dtype(weights: LiveWeights) -> torch.dtype:
    return next(slot.tensor.dtype for slot in weights.slots if slot.is_float and not slot.quantised)


def _report(
    folder: RunFolder,
    export: _Export,
    compared: Compared,
    started: float,
    pushed: str | None,
    findings: tuple[Finding, ...],
) -> ExportReport:
    entries = export.architecture.expected.values()
    return ExportReport(
        model=folder.model,
        adapter=folder.adapter if export.adapted else None,
        dtype=str(export.dtype).removeprefix("torch."),
        parameters=sum(entry.elements for entry in entries),
        size_bytes=sum(entry.size_bytes for entry in entries),
        tensors=compared.tensors,
        compared_blocks=compared.blocks,
        seconds=time.monotonic() - started,
        gathered=compared.gathered,
        pushed=pushed,
        findings=findings,
    )
