"""Accelerate's own launcher, plugin and mesh, run in this process under an environment of our making."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

from fsdpwiz.plan.types import Plan
from fsdpwiz.render.accelerate_yaml import accelerate_yaml
from fsdpwiz.render.environment import launch_environment
from fsdpwiz.render.launch_command import launch_command


@contextlib.contextmanager
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Exactly `variables`, whatever was set before or is set within."""
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def launched_environment(plan: Plan, folder: Path, inherited: Mapping[str, str]) -> dict[str, str]:
    """What a rank inherits: our YAML and our launch line, put through Accelerate's launcher."""
    from accelerate.commands.launch import _validate_launch_command, launch_command_parser
    from accelerate.utils.launch import prepare_multi_gpu_env, prepare_simple_launcher_cmd_env

    path = folder / "accelerate.yaml"
    path.write_text(accelerate_yaml(plan), encoding="utf-8")
    words = launch_command(
        plan, plan_path=folder / "plan.json", accelerate_path=path, main_address="127.0.0.1", node_rank=1
    )
    with environment(launch_environment(plan, inherited)):
        arguments = launch_command_parser().parse_args(words[3:])
        arguments, _, _ = _validate_launch_command(arguments)
        assert arguments.module and arguments.training_script == "fsdpwiz.train"
        # The dispatch of accelerate.commands.launch.launch_command.
        if (arguments.use_fsdp or arguments.multi_gpu) and not arguments.cpu:
            return prepare_multi_gpu_env(arguments)
        return prepare_simple_launcher_cmd_env(arguments)[1]


def built_plugin(variables: Mapping[str, str]) -> dict[str, Any]:
    """The fields of the plugin that Accelerator would make of `variables`, as plain values.

    A GPU is feigned: FSDP1 asks for one where it sends weights from rank 0.
    """
    from accelerate.utils import FullyShardedDataParallelPlugin

    with (
        environment(variables),
        mock.patch("accelerate.utils.dataclasses.is_cuda_available", return_value=True),
        mock.patch("torch.cuda.current_device", return_value=0),
    ):
        plugin = FullyShardedDataParallelPlugin()
        if variables["ACCELERATE_MIXED_PRECISION"] != "no":
            plugin.set_mixed_precision(variables["ACCELERATE_MIXED_PRECISION"])
    fields = {name: getattr(plugin, name) for name in plugin.__dataclass_fields__}
    return {name: plain(value) for name, value in fields.items()}


def built_mesh(variables: Mapping[str, str]) -> dict[str, Any]:
    """The fields of the ParallelismConfig that Accelerator would make of `variables`."""
    from accelerate.parallelism_config import ParallelismConfig

    with environment(variables):
        config = ParallelismConfig()
    return {name: getattr(config, name) for name in config.__dataclass_fields__}


def plain(value: Any) -> Any:
    """Enumerations as names, policies and offload objects as what they say."""
    import torch
    from torch.distributed.fsdp import CPUOffload, CPUOffloadPolicy, OffloadPolicy

    if isinstance(value, torch.dtype):
        return str(value).removeprefix("torch.")
    if isinstance(value, CPUOffload):
        return value.offload_params
    if isinstance(value, OffloadPolicy):
        return isinstance(value, CPUOffloadPolicy)
    if hasattr(value, "param_dtype"):
        names = ("param_dtype", "reduce_dtype", "output_dtype", "buffer_dtype")
        return {name: plain(getattr(value, name)) for name in names if hasattr(value, name)}
    if hasattr(value, "name") and hasattr(value, "value"):
        return value.name.removeprefix("_")
    return getattr(value, "__name__", value) if callable(value) else value
