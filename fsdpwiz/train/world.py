"""Is this the world that the plan describes? Asked by every rank before the first step.

A launch that goes wrong does not stop upstream: with one variable missing, N ranks train alone,
or as plain DDP, and report success. So the ranks count each other, and look at what was wrapped.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fsdpwiz.core.errors import FsdpwizError
from fsdpwiz.core.findings import Finding, Quantity
from fsdpwiz.plan.types import Plan
from fsdpwiz.train.precision import trainable_dtypes

Fault = tuple[str, Any, Any]


def check(trainer: Any, plan: Plan, load: Any | None = None) -> None:
    """Raise FsdpwizError with the finding P010 unless the prepared `trainer` is as planned.

    `load` is the streaming load that had to fill its shards.
    """
    faults = list(_faults(trainer, plan))
    if load is not None and load.calls != 1:
        faults.append(("streaming loads of the model", 1, load.calls))
    if faults:
        raise FsdpwizError(_finding(trainer, faults))


def _faults(trainer: Any, plan: Plan) -> Iterator[Fault]:
    yield from _ranks(trainer, plan)
    kind = distributed_type(trainer.model_wrapped)
    if kind != plan.world.distributed_type:
        yield "distributed type", plan.world.distributed_type, kind
        return
    yield from _trainable_dtype(trainer, plan)
    if kind in _WRAPPED:
        yield from _WRAPPED[kind](trainer.model_wrapped, plan)


def distributed_type(model: Any) -> str:
    """What the model is wrapped in: "FSDP2", "FSDP1", "DDP" or "NO"."""
    from torch.distributed.fsdp import FSDPModule, FullyShardedDataParallel
    from torch.nn.parallel import DistributedDataParallel

    if isinstance(model, DistributedDataParallel):
        return "DDP"
    if any(isinstance(module, FSDPModule) for module in model.modules()):
        return "FSDP2"
    return (
        "FSDP1" if any(isinstance(module, FullyShardedDataParallel) for module in model.modules()) else "NO"
    )


def _ranks(trainer: Any, plan: Plan) -> Iterator[Fault]:
    counted = _count_ranks(trainer.accelerator.device)
    if counted != plan.world.world_size:
        yield "ranks that answered", plan.world.world_size, counted
    if trainer.accelerator.num_processes != plan.world.world_size:
        yield "processes known to Accelerate", plan.world.world_size, trainer.accelerator.num_processes


def _count_ranks(device: Any) -> int:
    import torch
    import torch.distributed as dist

    if not dist.is_initialized():
        return 1
    one = torch.ones(1, device=device)
    dist.all_reduce(one)
    return int(one.item())


def _trainable_dtype(trainer: Any, plan: Plan) -> Iterator[Fault]:
    found = trainable_dtypes(trainer.model)
    if found != {plan.model.trainable_dtype}:
        yield "dtype of trainable parameters", plan.model.trainable_dtype, ", ".join(sorted(found)) or "none"


def _fsdp2(model: Any, plan: Plan) -> Iterator[Fault]:
    from torch.distributed.fsdp import FSDPModule
    from torch.distributed.tensor import DTensor

    yield from _units(model, plan, FSDPModule)
    trainable = [p for p in model.parameters() if p.requires_grad]
    whole = sum(not isinstance(p, DTensor) for p in trainable)
    if whole:
        yield "trainable parameters that are not sharded", 0, whole
        return
    mesh = plan.world.mesh
    planned_shards = mesh.dp_shard * mesh.cp  # context-parallel ranks share the shards
    sizes = {p.device_mesh.size() for p in trainable}
    if sizes != {mesh.dp_replicate * planned_shards}:
        yield "ranks that share gradients", mesh.dp_replicate * planned_shards, sorted(sizes)
    shards = {_shards(p) for p in trainable}
    if shards != {planned_shards}:
        yield "shards of a parameter", planned_shards, sorted(shards)


def _shards(parameter: Any) -> int:
    count = 1
    for axis, placement in enumerate(parameter.placements):
        if placement.is_shard():
            count *= parameter.device_mesh.size(axis)
    return count


def _fsdp1(model: Any, plan: Plan) -> Iterator[Fault]:
    from torch.distributed.fsdp import FullyShardedDataParallel

    yield from _units(model, plan, FullyShardedDataParallel)
    units = [m for m in model.modules() if isinstance(m, FullyShardedDataParallel)]
    planned = str((plan.fsdp or {}).get("sharding_strategy", "FULL_SHARD"))
    # torch names one of them _HYBRID_SHARD_ZERO2.
    strategies = {unit.sharding_strategy.name.lstrip("_") for unit in units}
    if strategies != {planned} and not _is_one_shard(plan):
        yield "sharding strategy", planned, ", ".join(sorted(strategies))
    if not planned.startswith("HYBRID"):
        sizes = {unit.process_group.size() for unit in units}
        if sizes != {plan.world.world_size}:
            yield "ranks that share gradients", plan.world.world_size, sorted(sizes)


def _is_one_shard(plan: Plan) -> bool:
    """FSDP1 turns every strategy into NO_SHARD where there is one rank."""
    return plan.world.world_size == 1


def _ddp(model: Any, plan: Plan) -> Iterator[Fault]:
    size = model.process_group.size()
    if size != plan.world.world_size:
        yield "ranks that share gradients", plan.world.world_size, size


_WRAPPED = {"FSDP2": _fsdp2, "FSDP1": _fsdp1, "DDP": _ddp}


def _units(model: Any, plan: Plan, unit_class: type) -> Iterator[Fault]:
    """Every module of a planned class must be a unit of its own."""
    if not plan.units:
        return
    wrapped = {id(_inner(module)) for module in model.modules() if isinstance(module, unit_class)}
    planned = [module for module in model.modules() if _is_one_of(module, plan.units)]
    units = sum(id(module) in wrapped for module in planned)
    if not planned or units != len(planned):
        yield f"wrapped units ({', '.join(plan.units)})", len(planned) or "at least 1", units


def _is_one_of(module: Any, class_names: tuple[str, ...]) -> bool:
    # FSDP2 gives each unit a class of its own, derived from the module's.
    return any(known.__name__ in class_names for known in type(module).__mro__)


def _inner(module: Any) -> Any:
    """The module inside FSDP1's and the activation checkpoint's wrappers."""
    while True:
        for name in ("_fsdp_wrapped_module", "_checkpoint_wrapped_module"):
            if name in module._modules:
                module = module._modules[name]
                break
        else:
            return module


def _finding(trainer: Any, faults: list[Fault]) -> Finding:
    rank = trainer.accelerator.process_index
    said = "; ".join(f"{what}: planned {planned}, found {found}" for what, planned, found in faults)
    return Finding(
        code="P010",
        name="world-differs-from-plan",
        severity="error",
        rank=rank,
        message=(
            f"Rank {rank} is not in the world that the plan describes: {said}; nothing was trained. Start "
            "the run with `fsdpwiz run`, or with the lines of its command.txt and the environment they set"
        ),
        evidence=tuple(
            Quantity(name=what, value={"planned": planned, "found": found}, source=f"rank {rank}")
            for what, planned, found in faults
        ),
    )
