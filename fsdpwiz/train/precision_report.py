"""The precision contract, looked at: which dtypes parameters, gradients, states and reduction really have.

Upstream has broken it silently more than once (Accelerate 1.13 left the masters of FSDP2 in 16 bits), and a
training in the wrong precision looks like one that does not learn.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fsdpwiz.core.atomic import write_text
from fsdpwiz.core.errors import FsdpwizError
from fsdpwiz.core.findings import Finding, Quantity
from fsdpwiz.plan.types import Plan
from fsdpwiz.train import dtypes_held
from fsdpwiz.train.export.ranks import Ranks

Fault = tuple[str, str, str]
_FSDP = ("FSDP1", "FSDP2")
_BITS = {"float16": 16, "bfloat16": 16, "float32": 32, "float64": 64}
_PACKED = 128
# Its second moment is in 16 bits by its own default, which the recipe's `optim` asks for.
_OWN_STATES = ("adamw_anyprecision",)


def planned(plan: Plan) -> dict[str, str | None]:
    """The contract: the dtype of each part; None where there is no such part.

    Optimizer states may be wider than that, and packed into integers by an optimizer that does so.
    """
    trainable = plan.model.trainable_dtype
    mixed = dtypes_held.AUTOCAST.get(plan.mixed_precision)
    compute = trainable if mixed is None else dtypes_held.names([mixed])[0]
    reduction: str | None = None
    if plan.world.distributed_type in _FSDP:
        reduction = plan.reduce_dtype or compute
    elif plan.world.world_size > 1:
        reduction = trainable
    frozen = plan.model.dtype if plan.peft is not None else None
    return {
        "trainable": trainable,
        "frozen": frozen,
        "compute": compute,
        "reduction": reduction,
        "gradients": trainable,
        "optimizer": trainable,
    }


class PrecisionReport:
    """One attempt's, on one rank. Rank 0 writes it to `path`; a contradiction is P018 on every rank."""

    def __init__(self, trainer: Any, plan: Plan, path: Path) -> None:
        self._trainer = trainer
        self._plan = plan
        self._path = path
        self._planned = planned(plan)
        self._found: dict[str, list[str]] = {}
        self._complete = False

    def prepared(self) -> None:
        """Before the first step: what is held, computed and summed in which dtype. Collective."""
        units = dtypes_held.units(self._trainer.model_wrapped)
        self._found = {
            "trainable": dtypes_held.names(dtype for unit in units for dtype in unit.trainable),
            "frozen": dtypes_held.names(dtype for unit in units for dtype in unit.frozen),
            "compute": dtypes_held.computed(units, self._trainer.accelerator.mixed_precision),
            "reduction": dtypes_held.reduced(units),
        }
        self._judge()

    def before_step(self) -> None:
        """Gradients are there: look at them, the first time."""
        if not self._complete:
            self._found["gradients"] = dtypes_held.gradients(self._trainer.optimizer)

    def after_step(self) -> None:
        """The optimizer has made its states: look at them after its first step. Collective then."""
        if self._complete or self._trainer.accelerator.optimizer_step_was_skipped:
            return
        self._complete = True
        self._found["optimizer"] = dtypes_held.states(self._trainer.optimizer)
        self._judge()

    def _judge(self) -> None:
        ranks = Ranks.here(self._trainer.accelerator.device)
        if ranks.first:
            # A disk that cannot take it is no reason to end a training.
            with contextlib.suppress(OSError):
                write_text(self._path, json.dumps(self._document(), indent=2) + "\n")
        faults = list(self._faults())
        ranks.raise_first(FsdpwizError(_finding(self._plan, faults, ranks.rank)) if faults else None)

    def _document(self) -> dict[str, Any]:
        return {
            "schema": 1,
            "precision": self._plan.precision,
            "mixed_precision": self._plan.mixed_precision,
            "planned": self._planned,
            "found": {name: self._found.get(name) for name in self._planned},
        }

    def _faults(self) -> Iterator[Fault]:
        for name, what in _PARTS.items():
            dtype, found = self._planned[name], self._found.get(name)
            wrong = [one for one in found or () if not self._allowed(name, one)]
            if dtype is not None and wrong:
                yield what, dtype, ", ".join(wrong)

    def _allowed(self, name: str, found: str) -> bool:
        dtype = self._planned[name]
        if found == dtype:
            return True
        if name == "optimizer":
            own = str(self._plan.training.get("optim", "")).startswith(_OWN_STATES)
            return own or _BITS.get(found, _PACKED) > _BITS.get(str(dtype), 0)
        if name == "frozen":
            wide = found == "float32" and any(dtypes_held.kept_wide(self._trainer.model))
            return self._plan.quantization is not None or wide
        return False


_PARTS = {
    "trainable": "dtype of trained weights",
    "frozen": "dtype of frozen weights",
    "compute": "dtype of the computation",
    "reduction": "dtype that gradients are summed in",
    "gradients": "dtype of gradients",
    "optimizer": "dtype of optimizer states",
}


def _finding(plan: Plan, faults: list[Fault], rank: int) -> Finding:
    said = "; ".join(f"{what}: planned {dtype}, found {found}" for what, dtype, found in faults)
    return Finding(
        code="P018",
        name="precision-differs-from-plan",
        severity="error",
        key="mixed_precision",
        rank=rank,
        message=(
            f"Rank {rank} does not hold the planned precision `{plan.precision}`: {said}; the training was "
            "stopped before anything was saved. Launch it with `fsdpwiz run`, whose environment sets what "
            "upstream reads, and compare the installed versions with those in the run's versions.json"
        ),
        evidence=tuple(
            Quantity(name=what, value={"planned": dtype, "found": found}, source=f"rank {rank}")
            for what, dtype, found in faults
        ),
    )
