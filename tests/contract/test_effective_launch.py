"""The rendered command and environment, really started: the ranks find themselves in the planned world."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fsdpwiz.plan.types import Plan
from fsdpwiz.render.accelerate_yaml import accelerate_yaml
from fsdpwiz.render.environment import launch_environment
from fsdpwiz.render.launch_command import launch_command
from fsdpwiz.render.torchrun import torchrun_command, torchrun_environment
from tests.plan.recipes import cpu, make_plan

pytestmark = pytest.mark.slow

PROBE = Path(__file__).parent / "probe.py"
CASES: dict[str, tuple[dict[str, Any], str]] = {
    "fsdp2": ({"cluster": cpu(2), "mixed_precision": "bf16"}, "FSDP"),
    "fsdp1": ({"cluster": cpu(2), "fsdp": {"version": 1}}, "FSDP"),
    "ddp": ({"cluster": cpu(2), "fsdp": None}, "MULTI_CPU"),
    "one process": ({"cluster": cpu(1)}, "NO"),
    "one rank with offload": ({"cluster": cpu(1), "fsdp": {"offload_params": True}}, "FSDP"),
}


@pytest.mark.parametrize("name", CASES)
def test_launched_world_is_planned(name: str, tmp_path: Path) -> None:
    given, kind = CASES[name]
    plan = probing_plan(tmp_path, given)
    words = launch_command(
        plan,
        plan_path=tmp_path / "plan.json",
        accelerate_path=tmp_path / "accelerate.yaml",
        python=sys.executable,
    )
    start([words], launch_environment(plan, os.environ))
    assert_world(plan, kind, tmp_path)


@pytest.mark.parametrize("launcher", ["accelerate", "torchrun"])
def test_two_nodes_meet(launcher: str, tmp_path: Path, free_port: int) -> None:
    plan = probing_plan(tmp_path, {"cluster": cpu(1, nodes=2)})
    plan_path, address = tmp_path / "plan.json", "127.0.0.1"
    commands = []
    for node in (0, 1):
        where = {"node_rank": node, "main_address": address, "port": free_port, "python": sys.executable}
        if launcher == "accelerate":
            yaml = tmp_path / "accelerate.yaml"
            commands.append(launch_command(plan, plan_path=plan_path, accelerate_path=yaml, **where))
        else:
            commands.append(torchrun_command(plan, plan_path=plan_path, **where))
    environ = launch_environment(plan, os.environ)
    start(commands, {**environ, **torchrun_environment(plan)} if launcher == "torchrun" else environ)
    assert_world(plan, "FSDP", tmp_path)


@pytest.fixture
def free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def probing_plan(folder: Path, given: dict[str, Any]) -> Plan:
    """A plan whose script is the probe, with its files in `folder`."""
    seen = folder / "seen it's"
    seen.mkdir()
    words = [str(seen), "--word", "two words", "a'b"]
    plan = make_plan(script=str(PROBE), script_args=words, env={"OMP_NUM_THREADS": "1"}, **given)
    (folder / "plan.json").write_text(json.dumps(plan.to_json()), encoding="utf-8")
    (folder / "accelerate.yaml").write_text(accelerate_yaml(plan), encoding="utf-8")
    return plan


def start(commands: list[list[str]], environ: dict[str, str]) -> None:
    running = [
        subprocess.Popen(words, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for words in commands
    ]
    try:
        for process in running:
            said, _ = process.communicate(timeout=150)
            assert process.returncode == 0, said
    finally:
        for process in running:
            process.kill()


def assert_world(plan: Plan, kind: str, folder: Path) -> None:
    seen = [json.loads(path.read_text()) for path in sorted((folder / "seen it's").glob("*.json"))]
    logs = "".join(path.read_text() for path in folder.glob("attempts/1/rank-*.log"))
    assert len(seen) == plan.world.world_size, logs
    mesh = {name: size for name, size in plan.world.mesh.model_dump().items() if size > 1}
    for rank in seen:
        assert rank["distributed_type"] == kind
        assert rank["processes"] == rank["group"] == plan.world.world_size
        assert rank["device"] == "cpu"
        assert rank["mixed_precision"] == plan.mixed_precision
        assert rank["fsdp_version"] == (plan.fsdp["version"] if plan.fsdp else None)
        assert rank["threads"] == "1"
        assert rank["arguments"] == ["--word", "two words", "a'b"]
        assert rank["mesh"] == (mesh if plan.parallelism else None)
