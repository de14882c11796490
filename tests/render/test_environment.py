"""What the launcher adds to the environment, and what it keeps out of it."""

from __future__ import annotations

from typing import Any

import pytest

from fsdpwiz.render.environment import ALLOCATOR, launch_environment, rank_environment
from tests.plan.recipes import cpu, cuda, make_facts, make_plan

ON_CPU = {"ACCELERATE_USE_CPU": "true", "ACCELERATE_TORCH_DEVICE": "cpu", "GLIBC_TUNABLES": ALLOCATOR}
RECORDER = {"TORCH_FR_BUFFER_SIZE": "2000"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"cluster": cpu(2)}, {**ON_CPU, **RECORDER, "OMP_NUM_THREADS": "4"}),
        ({"cluster": cpu(1)}, {**ON_CPU, "OMP_NUM_THREADS": "8"}),
        ({"cluster": cuda(8)}, RECORDER),
        (
            {"cluster": cuda(8), "env": {"NCCL_DEBUG": "INFO", "TORCH_FR_BUFFER_SIZE": "9"}},
            {"TORCH_FR_BUFFER_SIZE": "9", "NCCL_DEBUG": "INFO"},
        ),
    ],
)
def test_rank_environment(given: dict[str, Any], expected: dict[str, str]) -> None:
    assert rank_environment(make_plan(**given)) == expected


def test_traces_of_a_former_run_are_left_out() -> None:
    stray = ["FSDP_VERSION", "ACCELERATE_USE_FSDP", "PARALLELISM_CONFIG_TP_SIZE", "LOCAL_RANK", "MASTER_PORT"]
    inherited = {name: "1" for name in stray} | {"PATH": "/bin", "HF_HOME": "/hf", "RANKED": "yes"}
    found = launch_environment(make_plan(make_facts(gpus=2), cluster=cuda(2)), inherited)
    assert not set(stray) & found.keys()
    assert inherited.items() - found.items() == {(name, "1") for name in stray}


@pytest.mark.parametrize(
    ("ranks", "fsdp", "inherited", "expected"),
    [
        (1, {}, {}, "0"),
        (1, {}, {"CUDA_VISIBLE_DEVICES": "3,1"}, "3"),
        (1, {}, {"CUDA_VISIBLE_DEVICES": "GPU-abc"}, "GPU-abc"),
        (2, {}, {"CUDA_VISIBLE_DEVICES": "3,1"}, "3,1"),
        (2, {}, {}, None),
        (1, {"offload_params": True}, {}, None),
    ],
)
def test_one_process_sees_one_gpu(
    ranks: int, fsdp: dict[str, Any], inherited: dict[str, str], expected: str | None
) -> None:
    plan = make_plan(make_facts(gpus=4), cluster=cuda(ranks), fsdp=fsdp)
    assert launch_environment(plan, inherited).get("CUDA_VISIBLE_DEVICES") == expected


@pytest.mark.parametrize(
    ("inherited", "env", "expected"),
    [
        ({}, {}, ALLOCATOR),
        ({"GLIBC_TUNABLES": "glibc.malloc.check=3"}, {}, "glibc.malloc.check=3"),
        ({"GLIBC_TUNABLES": "glibc.malloc.check=3"}, {"GLIBC_TUNABLES": "a=1"}, "a=1"),
    ],
)
def test_tunables_that_are_set_stay(inherited: dict[str, str], env: dict[str, str], expected: str) -> None:
    plan = make_plan(cluster=cpu(2), env=env)
    assert launch_environment(plan, inherited)["GLIBC_TUNABLES"] == expected
