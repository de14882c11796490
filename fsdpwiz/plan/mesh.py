"""The device mesh: how the ranks of a world are arranged, and how many of them see data of their own."""

from __future__ import annotations

from typing import Any

from fsdpwiz.plan.choices import Choices
from fsdpwiz.plan.types import ClusterPlan, DistributedType, Mesh, World

_AXES = ("dp_replicate", "dp_shard", "cp", "tp")
_HYBRID = frozenset({"HYBRID_SHARD", "HYBRID_SHARD_ZERO2"})


def distributed_type(choices: Choices, world_size: int) -> DistributedType:
    """FSDP1, FSDP2, DDP (an explicit `fsdp: null` on several ranks) or NO (one rank without offload)."""
    if choices.recipe.has("fsdp") and choices.given("fsdp") is None:
        return "NO" if world_size == 1 else "DDP"
    if world_size == 1 and not choices.given("fsdp.offload_params"):
        return "NO"
    return "FSDP1" if choices.given("fsdp.version") == 1 else "FSDP2"


def decide_world(
    choices: Choices, cluster: ClusterPlan, kind: DistributedType, fsdp: dict[str, Any] | None
) -> tuple[World | None, dict[str, Any] | None]:
    """The world and the pinned `parallelism` section; problem C004 where the mesh does not fill the world."""
    ranks = cluster.gpus_per_node or cluster.processes_per_node or 1
    world_size = cluster.nodes * ranks
    parallelism = None
    if kind == "FSDP2" and choices.given("parallelism"):
        parallelism = _parallelism(choices, world_size)
        mesh = Mesh(**{axis: parallelism[f"{axis}_size"] for axis in _AXES})
    else:
        mesh = _plain_mesh(kind, cluster.nodes, ranks, (fsdp or {}).get("sharding_strategy"))
    if mesh.dp_replicate * mesh.dp_shard * mesh.cp * mesh.tp != world_size:
        choices.report("C004", "parallelism", mesh=mesh.model_dump(), world_size=world_size)
        return None, parallelism
    _note_origins(choices, kind, parallelism is not None)
    world = World(
        nodes=cluster.nodes,
        ranks_per_node=ranks,
        world_size=world_size,
        device=cluster.device,
        mesh=mesh,
        distributed_type=kind,
    )
    return world, parallelism


def _parallelism(choices: Choices, world_size: int) -> dict[str, Any]:
    by = choices.library("accelerate")
    sizes = {f"{axis}_size": 1 for axis in _AXES}
    for name in sizes:
        if name != "dp_shard_size":
            sizes[name] = int(choices.choose(f"parallelism.{name}", 1, by=by))
    others = sizes["dp_replicate_size"] * sizes["cp_size"] * sizes["tp_size"]
    filled = world_size // others if others > 0 and world_size % others == 0 else 1
    key = "parallelism.dp_shard_size"
    if choices.is_given(key):
        sizes["dp_shard_size"] = int(choices.choose(key, None))
    else:
        sizes["dp_shard_size"] = choices.derive(key, filled, "the ranks that the other axes leave")
    return {**_further_keys(choices, sizes), **sizes}


def _further_keys(choices: Choices, sizes: dict[str, int]) -> dict[str, Any]:
    further = {key: value for key, value in dict(choices.given("parallelism")).items() if value is not None}
    pinned = {name: choices.choose(f"parallelism.{name}", None) for name in further if name not in sizes}
    if sizes["cp_size"] > 1:
        by = choices.library("accelerate")
        for name, default in (("cp_backend", "torch"), ("cp_comm_strategy", "allgather")):
            pinned[name] = choices.choose(f"parallelism.{name}", default, by=by)
    return pinned


def _plain_mesh(kind: DistributedType, nodes: int, ranks: int, strategy: str | None) -> Mesh:
    if kind == "DDP" or strategy == "NO_SHARD":
        return Mesh(dp_replicate=nodes * ranks)
    if kind == "FSDP1" and strategy in _HYBRID:
        return Mesh(dp_replicate=nodes, dp_shard=ranks)
    return Mesh(dp_shard=nodes * ranks)


def _note_origins(choices: Choices, kind: DistributedType, has_parallelism: bool) -> None:
    ranks_key = (
        "cluster.gpus_per_node"
        if "cluster.gpus_per_node" in choices.origins
        else "cluster.processes_per_node"
    )
    choices.carry("world.nodes", None, "cluster.nodes")
    choices.carry("world.ranks_per_node", None, ranks_key)
    choices.carry("world.device", None, "cluster.device")
    choices.derive("world.world_size", None, "cluster.nodes and the processes per node")
    choices.derive("world.mesh", None, "parallelism" if has_parallelism else f"{kind} and the world size")
    choices.derive("world.distributed_type", None, "fsdp and the world size")
