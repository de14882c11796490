"""FSDP on CPU under Accelerate 1.15: what a rank needs before it builds its training arguments.

    from fsdpwiz.train import cpu_fsdp
    cpu_fsdp.enable()

Accelerate 1.15 knows FSDP on accelerators only, and says nothing on a CPU: with
`distributed_type: FSDP` each rank trains alone, with `use_cpu` besides it trains plain DDP
(`accelerate/state.py`, the list of distributed types before `ACCELERATE_USE_FSDP` is read).
Everything that the trainer does differently on a CPU is in this module:

- the ranks form a gloo group (`ACCELERATE_USE_CPU`), and `AcceleratorState` takes the FSDP plugin;
- the device is "cpu", not "cpu:0", which FSDP1 refuses (`ACCELERATE_TORCH_DEVICE`);
- parameters offloaded by FSDP2 are not pinned: there is no accelerator to pin memory for;
- the group's timeout is set here: `TrainingArguments` ignores `ddp_timeout` with `use_cpu`.
"""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

ACCELERATE_VERSIONS = ("1.15.",)
_MARK = "_fsdpwiz_cpu_fsdp"


def enable(*, timeout_s: float | None = None) -> None:
    """Make FSDP and DDP work on this rank's CPU; with `timeout_s` the gloo group is made too.

    Call it before SFTConfig or Accelerator is built. Calling it again changes nothing. Raises
    RuntimeError for a version of Accelerate that this was not written for.
    """
    _check_version()
    os.environ["ACCELERATE_USE_CPU"] = "true"
    os.environ["ACCELERATE_TORCH_DEVICE"] = "cpu"
    _let_the_state_take_the_plugin()
    _let_offload_go_unpinned()
    if timeout_s is not None:
        _init_process_group(timeout_s)


def training_arguments() -> dict[str, Any]:
    """The training arguments that differ on a CPU."""
    return {"use_cpu": True, "dataloader_pin_memory": False}


def _check_version() -> None:
    import accelerate

    version = accelerate.__version__
    if not version.startswith(ACCELERATE_VERSIONS):
        raise RuntimeError(
            f"FSDP on CPU was written for Accelerate {ACCELERATE_VERSIONS[0]}x, here is {version}: "
            'run `pip install "accelerate>=1.15,<1.16"`'
        )


def _let_the_state_take_the_plugin() -> None:
    from accelerate.state import AcceleratorState, PartialState
    from accelerate.utils import DistributedType

    original = AcceleratorState.__init__
    if getattr(original, _MARK, False):
        return

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        fresh = not AcceleratorState._shared_state
        original(self, *args, **kwargs)
        plugin = kwargs.get("fsdp_plugin")
        if not fresh or plugin is None or self.distributed_type != DistributedType.MULTI_CPU:
            return
        self.distributed_type = DistributedType.FSDP
        if self._mixed_precision != "no":
            plugin.set_mixed_precision(self._mixed_precision)
        self.fsdp_plugin = plugin
        # Every later AcceleratorState() starts from a copy of the partial state.
        PartialState._shared_state["distributed_type"] = DistributedType.FSDP

    setattr(__init__, _MARK, True)
    AcceleratorState.__init__ = __init__


def _let_offload_go_unpinned() -> None:
    from accelerate.utils import FullyShardedDataParallelPlugin

    original = FullyShardedDataParallelPlugin.set_cpu_offload
    if getattr(original, _MARK, False):
        return

    def set_cpu_offload(self: Any) -> None:
        from torch.distributed.fsdp import CPUOffloadPolicy

        original(self)
        if isinstance(self.cpu_offload, CPUOffloadPolicy):
            self.cpu_offload = CPUOffloadPolicy(pin_memory=False)

    setattr(set_cpu_offload, _MARK, True)
    FullyShardedDataParallelPlugin.set_cpu_offload = set_cpu_offload


def _init_process_group(timeout_s: float) -> None:
    import torch.distributed as dist

    launched = {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}.issubset(os.environ)
    if launched and not dist.is_initialized():
        dist.init_process_group("gloo", timeout=timedelta(seconds=timeout_s))
