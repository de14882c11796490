"""The environment that `accelerate launch` really gives the ranks of a plan, read off its own launcher."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from fsdpwiz.plan.types import Plan
from fsdpwiz.render.accelerate_yaml import accelerate_yaml
from fsdpwiz.render.environment import rank_environment


def launched_environment(plan: Plan, port: int) -> dict[str, str]:
    """What the launcher sets for the plan's rendered YAML, without starting anything."""
    from accelerate.commands import launch

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "accelerate.yaml"
        path.write_text(accelerate_yaml(plan), encoding="utf-8")
        words = ["--config_file", str(path), "--main_process_port", str(port), "train.py"]
        arguments: Any = launch.launch_command_parser().parse_args(words)
        arguments, _, _ = launch._validate_launch_command(arguments)
        if plan.world.distributed_type == "NO":
            _, environment = launch.prepare_simple_launcher_cmd_env(arguments)
        else:
            environment = launch.prepare_multi_gpu_env(arguments)
    changed = {name: value for name, value in environment.items() if os.environ.get(name) != value}
    return {**changed, **rank_environment(plan), "OMP_NUM_THREADS": "1"}
