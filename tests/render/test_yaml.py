"""accelerate.yaml: the keys that Accelerate reads, under the names by which it reads them."""

from __future__ import annotations

from typing import Any

import pytest
from ruamel.yaml import YAML

from fsdpwiz.render.accelerate_yaml import accelerate_config, accelerate_yaml
from fsdpwiz.render.yaml_text import scalar
from tests.plan.recipes import cpu, cuda, make_plan

IGNORED_IN_THE_FILE = {"same_network", "rdzv_backend", "enable_cpu_affinity", "max_restarts", "machine_rank"}
OF_VERSION_1 = {
    "fsdp_sharding_strategy", "fsdp_backward_prefetch", "fsdp_forward_prefetch", "fsdp_use_orig_params",
    "fsdp_sync_module_states",
}  # fmt: skip
OF_VERSION_2 = {"fsdp_reshard_after_forward", "fsdp_activation_checkpointing_offload"}


def test_version_1_has_its_own_keys() -> None:
    keys = accelerate_config(make_plan(cluster=cuda(8), fsdp={"version": 1}))["fsdp_config"].keys()
    assert keys >= OF_VERSION_1
    assert not keys & OF_VERSION_2


def test_version_2_has_its_own_keys() -> None:
    keys = accelerate_config(make_plan(cluster=cuda(8)))["fsdp_config"].keys()
    assert keys >= OF_VERSION_2
    assert not keys & OF_VERSION_1


def test_mesh_carries_the_prefix() -> None:
    config = accelerate_config(make_plan(cluster=cuda(8), parallelism={"dp_replicate_size": 2}))
    mesh = config["parallelism_config"]
    assert mesh["parallelism_config_dp_replicate_size"] == 2
    assert mesh["parallelism_config_dp_shard_size"] == 4
    assert all(key.startswith("parallelism_config_") for key in mesh)
    assert "parallelism_config" not in accelerate_config(make_plan(cluster=cuda(8)))


@pytest.mark.parametrize(
    ("given", "distributed_type"),
    [
        ({"cluster": cuda(8)}, "FSDP"),
        ({"cluster": cuda(8), "fsdp": None}, "MULTI_GPU"),
        ({"cluster": cpu(2), "fsdp": None}, "MULTI_GPU"),
        ({"cluster": cuda(1)}, "NO"),
    ],
)
def test_distributed_type(given: dict[str, Any], distributed_type: str) -> None:
    config = accelerate_config(make_plan(**given))
    assert config["distributed_type"] == distributed_type
    assert ("fsdp_config" in config) == (distributed_type == "FSDP")
    assert not config.keys() & IGNORED_IN_THE_FILE
    assert config["num_processes"] == make_plan(**given).world.world_size


@pytest.mark.parametrize("precision", ["no", "bf16", "fp16"])
def test_precision_stays_text(precision: str) -> None:
    text = accelerate_yaml(make_plan(cluster=cuda(1), mixed_precision=precision))
    reader = YAML(typ="safe", pure=True)
    reader.version = (1, 1)
    found = reader.load(text)
    assert found["mixed_precision"] == precision
    assert found["distributed_type"] == "NO"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (3, "3"),
        (0.5, "0.5"),
        ("no", "'no'"),
        ("NO", "'NO'"),
        ("Yes", "'Yes'"),
        ("FULL_SHARD", "FULL_SHARD"),
        ("A,B", "A,B"),
        ("1e8", "'1e8'"),
        ("a: b", "'a: b'"),
        ("it's", "'it''s'"),
        ("", "''"),
        ("a\nb", '"a\\nb"'),
        ("- x", "'- x'"),
    ],
)
def test_scalar(value: Any, text: str) -> None:
    assert scalar(value) == text
