"""The checkpoints of one training, one at a time, beside its steps."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_optimizer_state_dict

from fsdpwiz.plan.types import Plan
from fsdpwiz.train.headroom import headroom_bytes
from fsdpwiz.train.saving.agreement import Agreement
from fsdpwiz.train.saving.foresight import Foresight
from fsdpwiz.train.saving.save import Checksums, Part, Save
from fsdpwiz.train.saving.sizes import local_bytes, state_bytes
from fsdpwiz.train.saving.staging import ALIGNMENT_BYTES, Staging

MODEL_FOLDER, OPTIMIZER_FOLDER = "pytorch_model_fsdp_0", "optimizer_0"
PATIENCE_S = 7200.0


def takes(plan: Plan) -> bool:
    """Whether checkpoints of this plan are written here: those of FSDP2 in shards."""
    sharded = (plan.fsdp or {}).get("state_dict_type") == "SHARDED_STATE_DICT"
    return plan.world.distributed_type == "FSDP2" and sharded


class Checkpointer:
    """Building one is collective. `stalled` is told every time span that training was kept waiting."""

    def __init__(self, plan: Plan, stalled: Callable[[float], None]) -> None:
        self._agreement = Agreement(max(PATIENCE_S, plan.process_group_timeout_s))
        self._stalled = stalled
        self._limit_gb = plan.checkpoint.staging_gb
        self._ranks_per_node = plan.world.ranks_per_node
        self._staging = Staging(pinned=plan.world.device == "cuda")
        self._foresight: Foresight | None = None
        self._hooked: Any = None
        self._save: Save | None = None
        self.copied_bytes = 0

    def expect(self, optimizer: Any) -> None:
        """A save will come: what its first one will copy is reserved beside the steps before it."""
        self._foresight = Foresight()
        self._hook(optimizer)

    def begin(
        self,
        folder: Path,
        model: Any,
        optimizer: Any,
        *,
        adapter_only: bool,
        complete: Callable[[Checksums], None],
    ) -> None:
        """Begin to write the state of now into `folder`; `complete` follows on rank 0. Collective.

        Until the next step of `optimizer` nothing may change the parameters or its state.
        """
        if self._save is not None:
            raise RuntimeError("the checkpoint before was not waited for")
        states = _states(model, optimizer, adapter_only=adapter_only)
        parts = [Part(folder / name, state) for name, state in states.items()]
        self._hook(optimizer)
        self._foresight = None
        self._staging.begin(self._limit_bytes(_aligned_bytes(states)))
        self._save = Save(parts, self._agreement, complete=complete)
        self._save.start()

    def wait(self) -> None:
        """Return when nothing is being written any more; raises what a save failed by, on every rank."""
        if self._save is not None:
            save, self._save = self._save, None
            try:
                save.wait()
            finally:
                self.copied_bytes += save.copied_bytes

    def _hook(self, optimizer: Any) -> None:
        inner = getattr(optimizer, "optimizer", optimizer)
        if self._hooked is not inner:
            self._hooked = inner
            inner.register_step_pre_hook(self._before_step)

    def _before_step(self, optimizer: Any, *_: Any) -> None:
        if self._save is not None:
            begin_s = time.perf_counter()
            self._save.settle(self._staging.copy)
            self._stalled(time.perf_counter() - begin_s)
        elif self._foresight is not None:
            self._reserve(optimizer, self._foresight.unwritten_bytes(optimizer))

    def _reserve(self, optimizer: Any, unwritten_bytes: int | None) -> None:
        if unwritten_bytes:
            # A state dict holds a little more: buffers, and what aligning takes.
            limit_bytes = self._limit_bytes(state_bytes(optimizer) * 17 // 16)
            self._staging.warm(min(unwritten_bytes, limit_bytes), limit_bytes)

    def _limit_bytes(self, needed_bytes: int) -> int:
        if self._limit_gb is not None:
            return min(int(self._limit_gb * 1e9), needed_bytes)
        room_bytes = headroom_bytes() // self._ranks_per_node + self._staging.held_bytes
        return min(room_bytes, needed_bytes)


def _states(model: Any, optimizer: Any, *, adapter_only: bool) -> dict[str, Any]:
    """Model and optimizer as Accelerate saves them (1.15, utils/fsdp_utils.py), their tensors live."""
    from accelerate.utils.fsdp_utils import _get_model_state_dict

    options = StateDictOptions(full_state_dict=False, cpu_offload=False)
    with torch.no_grad():
        weights = _get_model_state_dict(model, adapter_only=adapter_only, sd_options=options)
        moments = get_optimizer_state_dict(model, optimizer, options=options)
    return {MODEL_FOLDER: {"model": weights}, OPTIMIZER_FOLDER: {"optimizer": moments}}


def _aligned_bytes(state: Any) -> int:
    """This rank's part of a state, with what aligning each tensor may take besides."""
    if isinstance(state, Mapping):
        return sum(map(_aligned_bytes, state.values()))
    return local_bytes(state) + ALIGNMENT_BYTES if isinstance(state, torch.Tensor) else 0
