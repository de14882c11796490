"""The command that starts a run on one node."""

from __future__ import annotations

from pathlib import Path

from fsdpwiz.plan.types import Plan

TRAINER_MODULE = "fsdpwiz.train"
SCRIPT_MODULE = "fsdpwiz.train.script"
DEFAULT_PORT = 29500


def launch_command(
    plan: Plan,
    *,
    plan_path: Path,
    accelerate_path: Path,
    node_rank: int = 0,
    main_address: str | None = None,
    port: int | None = None,
    python: str = "python",
) -> list[str]:
    """`accelerate launch` for node `node_rank`.

    Where the node's rank, the address and the rendezvous belong to the command: the YAML is one
    file for all nodes, and Accelerate ignores some of them in it. On one node port 0, unless
    `port` is given, takes a free one. Raises ValueError for several nodes without `main_address`.
    """
    words = [python, "-m", "accelerate.commands.launch", "--config_file", str(accelerate_path)]
    if plan.world.nodes > 1:
        words += _rendezvous(plan, node_rank, main_address, port)
    elif plan.world.distributed_type != "NO":
        words += ["--main_process_port", str(port or 0)]
    return [*words, "-m", rank_module(plan), str(plan_path)]


def rank_module(plan: Plan) -> str:
    """What each rank runs: our trainer, or the runner of the user's own script."""
    return SCRIPT_MODULE if plan.script is not None else TRAINER_MODULE


def require_address(plan: Plan, main_address: str | None) -> str:
    """The address of node 0; ValueError where several nodes have none to meet at."""
    if main_address is None:
        raise ValueError(f"{plan.world.nodes} nodes need the address of node 0 (main_address)")
    return main_address


def _rendezvous(plan: Plan, node_rank: int, main_address: str | None, port: int | None) -> list[str]:
    address = require_address(plan, main_address)
    return [
        *("--machine_rank", str(node_rank)),
        *("--main_process_ip", address),
        *("--main_process_port", str(port or DEFAULT_PORT)),
        *("--rdzv_backend", "static"),
        "--same_network",
    ]
