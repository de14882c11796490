"""The launch lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fsdpwiz.render.launch_command import launch_command
from fsdpwiz.render.torchrun import torchrun_command
from tests.plan.recipes import cpu, cuda, make_plan

LAUNCH = ["py", "-m", "accelerate.commands.launch", "--config_file", "a.yaml"]
MEET = ["--main_process_ip", "node0", "--main_process_port"]


@pytest.mark.parametrize(
    ("given", "where", "expected"),
    [
        ({"cluster": cpu(2)}, {}, [*LAUNCH, "--main_process_port", "0", "-m", "fsdpwiz.train", "p.json"]),
        (
            {"cluster": cpu(2)},
            {"port": 1234},
            [*LAUNCH, "--main_process_port", "1234", "-m", "fsdpwiz.train", "p.json"],
        ),
        ({"cluster": cpu(1)}, {}, [*LAUNCH, "-m", "fsdpwiz.train", "p.json"]),
        (
            {"cluster": cpu(1), "script": "t.py", "script_args": ["--x"]},
            {},
            [*LAUNCH, "-m", "fsdpwiz.train.script", "p.json"],
        ),
        (
            {"cluster": cuda(8, nodes=2)},
            {"main_address": "node0", "node_rank": 1},
            [
                *LAUNCH,
                *("--machine_rank", "1"),
                *MEET,
                "29500",
                *("--rdzv_backend", "static", "--same_network"),
                *("-m", "fsdpwiz.train", "p.json"),
            ],
        ),
    ],
)
def test_accelerate(given: dict[str, Any], where: dict[str, Any], expected: list[str]) -> None:
    plan = make_plan(**given)
    paths = {"plan_path": Path("p.json"), "accelerate_path": Path("a.yaml"), "python": "py"}
    assert launch_command(plan, **paths, **where) == expected


def test_several_nodes_need_an_address() -> None:
    plan = make_plan(cluster=cuda(8, nodes=2))
    with pytest.raises(ValueError, match="2 nodes"):
        launch_command(plan, plan_path=Path("p.json"), accelerate_path=Path("a.yaml"))


TORCHRUN = ["py", "-m", "torch.distributed.run", "--nproc_per_node"]


@pytest.mark.parametrize(
    ("given", "where", "expected"),
    [
        ({"cluster": cpu(2)}, {}, [*TORCHRUN, "2", "--standalone", "-m", "fsdpwiz.train", "p.json"]),
        ({"cluster": cpu(1)}, {}, ["py", "-m", "fsdpwiz.train", "p.json"]),
        (
            {"cluster": cuda(8, nodes=2)},
            {},
            [
                *TORCHRUN,
                "8",
                *("--nnodes", "2", "--node_rank", "NODE_RANK"),
                *("--master_addr", "MAIN_ADDRESS", "--master_port", "29500"),
                *("-m", "fsdpwiz.train", "p.json"),
            ],
        ),
        (
            {"cluster": cuda(8, nodes=2)},
            {"main_address": "node0", "node_rank": 1, "port": 7},
            [
                *TORCHRUN,
                "8",
                *("--nnodes", "2", "--node_rank", "1", "--master_addr", "node0", "--master_port", "7"),
                *("-m", "fsdpwiz.train", "p.json"),
            ],
        ),
    ],
)
def test_torchrun(given: dict[str, Any], where: dict[str, Any], expected: list[str]) -> None:
    assert torchrun_command(make_plan(**given), plan_path=Path("p.json"), python="py", **where) == expected
