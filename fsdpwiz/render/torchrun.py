"""The same run by torchrun: the command, and the variables that `accelerate launch` would have set."""

from __future__ import annotations

from pathlib import Path

from fsdpwiz.plan.types import Plan
from fsdpwiz.render.accelerate_environment import accelerate_environment
from fsdpwiz.render.environment import rank_environment
from fsdpwiz.render.launch_command import DEFAULT_PORT, rank_module


def torchrun_command(
    plan: Plan,
    *,
    plan_path: Path,
    node_rank: int = 0,
    main_address: str | None = None,
    port: int | None = None,
    python: str = "python",
) -> list[str]:
    """torchrun for node `node_rank`; a world of one without FSDP needs no launcher.

    Several nodes without `main_address` get the placeholders NODE_RANK and MAIN_ADDRESS.
    """
    ranks = [rank_module(plan), str(plan_path)]
    if plan.world.distributed_type == "NO":
        return [python, "-m", *ranks]
    words = [python, "-m", "torch.distributed.run", "--nproc_per_node", str(plan.world.ranks_per_node)]
    if plan.world.nodes == 1:
        words += ["--standalone"] if port is None else ["--master_port", str(port)]
        return [*words, "-m", *ranks]
    return [
        *words,
        *("--nnodes", str(plan.world.nodes)),
        *("--node_rank", "NODE_RANK" if main_address is None else str(node_rank)),
        *("--master_addr", main_address or "MAIN_ADDRESS"),
        *("--master_port", str(port or DEFAULT_PORT)),
        "-m",
        *ranks,
    ]


def torchrun_environment(plan: Plan) -> dict[str, str]:
    """All variables that torchrun's ranks need to get the plugin of `accelerate launch`.

    Without ACCELERATE_USE_FSDP the weights would be loaded whole on every rank, and offload
    would lack its gloo backend.
    """
    return {**accelerate_environment(plan), **rank_environment(plan)}
