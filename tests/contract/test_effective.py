"""No setting is lost: upstream really builds what the plan says and what `effective` shows."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fsdpwiz.plan.types import Plan
from fsdpwiz.render.accelerate_environment import accelerate_environment
from fsdpwiz.render.effective import effective
from fsdpwiz.render.environment import is_stray, rank_environment
from fsdpwiz.render.torchrun import torchrun_environment
from tests.contract.upstream import built_mesh, built_plugin, launched_environment
from tests.plan.recipes import cpu, cuda, make_facts, make_plan

pytestmark = pytest.mark.slow

# Objects that no key reaches; Accelerate derives them from the rest.
NOT_PLAIN = {"param_init_fn", "state_dict_config", "optim_state_dict_config"}
BOTH = (True, False)
WRAPS: tuple[dict[str, Any], ...] = (
    {},
    {
        "auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
        "transformer_layer_cls_to_wrap": "FirstLayer,SecondLayer",
    },
    {"auto_wrap_policy": "SIZE_BASED_WRAP"},
    {"auto_wrap_policy": "SIZE_BASED_WRAP", "min_num_params": 12345},
    {"auto_wrap_policy": "NO_WRAP"},
)
STRATEGIES = ("FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD", "HYBRID_SHARD", "HYBRID_SHARD_ZERO2")


def fsdp2_plans() -> Iterator[Plan]:
    checkpointing = ((True, True), (True, False), (False, False))
    for reshard, offload, state, wrap, (keep, keep_offload) in itertools.product(
        BOTH, BOTH, ("SHARDED_STATE_DICT", "FULL_STATE_DICT"), WRAPS, checkpointing
    ):
        fsdp = {
            "version": 2,
            "reshard_after_forward": reshard,
            "offload_params": offload,
            "state_dict_type": state,
            "activation_checkpointing": keep,
            "activation_checkpointing_offload": keep_offload,
            **wrap,
        }
        yield make_plan(make_facts(gpus=8), cluster=cuda(8), fsdp=fsdp)


def fsdp1_plans() -> Iterator[Plan]:
    states = ("SHARDED_STATE_DICT", "FULL_STATE_DICT", "LOCAL_STATE_DICT")
    prefetches = ("BACKWARD_PRE", "BACKWARD_POST", "NO_PREFETCH")
    for strategy, state, (prefetch, forward), wrap, keep in itertools.product(
        STRATEGIES, states, itertools.product(prefetches, BOTH), WRAPS, BOTH
    ):
        fsdp = {
            "version": 1,
            "sharding_strategy": strategy,
            "state_dict_type": state,
            "backward_prefetch": prefetch,
            "forward_prefetch": forward,
            "activation_checkpointing": keep,
            "offload_params": forward,
            "use_orig_params": keep,
            **wrap,
        }
        yield make_plan(make_facts(gpus=8), cluster=cuda(8), fsdp=fsdp)


def other_plans() -> Iterator[Plan]:
    for version, loading, precision, reduce_dtype in itertools.product(
        (1, 2), ("rank0", "every_rank"), ("bf16", "fp16", "no"), (None, "float32")
    ):
        model = {"name_or_path": "org/model", "loading": loading}
        yield make_plan(
            make_facts(gpus=8),
            cluster=cuda(8, nodes=2),
            fsdp={"version": version},
            model=model,
            mixed_precision=precision,
            reduce_dtype=reduce_dtype,
        )
    for version, ignored in itertools.product(
        (1, 2), (r"model\.(visual|audio)\..*", "it's: a #hard one", "no")
    ):
        yield make_plan(cluster=cpu(2), fsdp={"version": version, "ignored_modules": ignored})
    yield make_plan(cluster=cpu(1), fsdp={"offload_params": True})
    yield make_plan(make_facts(model=None), cluster=cpu(2))


def mesh_plans() -> Iterator[Plan]:
    meshes: tuple[dict[str, Any], ...] = (
        {"dp_replicate_size": 2},
        {"dp_replicate_size": 2, "dp_shard_size": 4},
        {"cp_size": 2},
        {"cp_size": 4, "cp_comm_strategy": "alltoall"},
        {"tp_size": 2},
        {"dp_replicate_size": 2, "dp_shard_size": 2, "tp_size": 2},
    )
    for mesh, nodes in itertools.product(meshes, (1, 2)):
        yield make_plan(cluster=cuda(8 // nodes, nodes=nodes), parallelism=mesh)


@pytest.fixture(scope="module")
def inherited() -> dict[str, str]:
    """This shell's environment with the traces of a former run, which must not leak into the next."""
    stray = {
        "FSDP_IGNORED_MODULES": ".*",
        "FSDP_VERSION": "1",
        "ACCELERATE_USE_FSDP": "true",
        "LOCAL_RANK": "0",
    }
    assert all(is_stray(name) for name in stray)
    return {**os.environ, **stray}


@pytest.mark.parametrize("plans", [fsdp2_plans, fsdp1_plans, other_plans, mesh_plans])
def test_plugin_and_mesh_are_the_plan(plans: Any, tmp_path: Path, inherited: dict[str, str]) -> None:
    seen = 0
    for plan in plans():
        variables = launched_environment(plan, tmp_path, inherited)
        assert_environment(plan, variables)
        assert_plugin(plan, built_plugin(variables))
        assert built_plugin({"PATH": "", **torchrun_environment(plan)}) == built_plugin(variables)
        assert_mesh(plan, variables)
        seen += 1
    assert seen > 5


def assert_environment(plan: Plan, variables: dict[str, str]) -> None:
    expected = {**accelerate_environment(plan), **rank_environment(plan)}
    assert {name: variables.get(name) for name in expected} == expected
    shown = {setting.name: setting.value for setting in effective(plan).environment}
    assert shown == expected
    ours = {setting.name for setting in effective(plan).environment}
    unseen = {
        name for name in variables if name.startswith(("FSDP_", "PARALLELISM_CONFIG_")) and name not in ours
    }
    # Defaults of Accelerate's launcher for keys that the plan's version of FSDP does not read.
    assert unseen <= UNREAD[plan.fsdp["version"] if plan.fsdp else None]


UNREAD = {
    2: {
        "FSDP_SHARDING_STRATEGY", "FSDP_FORWARD_PREFETCH", "FSDP_USE_ORIG_PARAMS", "FSDP_SYNC_MODULE_STATES",
        "FSDP_MIN_NUM_PARAMS", "PARALLELISM_CONFIG_SP_SIZE", "PARALLELISM_CONFIG_SP_BACKEND",
        "PARALLELISM_CONFIG_CP_BACKEND",
    },
    1: {"FSDP_RESHARD_AFTER_FORWARD", "FSDP_MIN_NUM_PARAMS", "FSDP_ACTIVATION_CHECKPOINTING_OFFLOAD"},
}  # fmt: skip


def assert_plugin(plan: Plan, built: dict[str, Any]) -> None:
    fsdp = plan.fsdp
    assert fsdp is not None
    shown = {setting.name: setting.value for setting in effective(plan).plugin}
    for name in NOT_PLAIN:
        built.pop(name)
    assert built == shown
    assert built["fsdp_version"] == fsdp["version"]
    assert built["cpu_offload"] == fsdp["offload_params"]
    assert built["state_dict_type"] == fsdp["state_dict_type"]
    assert built["cpu_ram_efficient_loading"] == (plan.model.loading in ("rank0", "streaming"))
    assert built["activation_checkpointing"] == fsdp["activation_checkpointing"]
    assert tuple(built["transformer_cls_names_to_wrap"] or ()) == plan.units
    if fsdp["version"] == 1:
        assert built["sharding_strategy"] == fsdp["sharding_strategy"]
        assert built["use_orig_params"] == fsdp["use_orig_params"]
        assert built["forward_prefetch"] == fsdp["forward_prefetch"]
        assert (built["backward_prefetch"] or "NO_PREFETCH") == fsdp["backward_prefetch"]
        assert built["sync_module_states"] == (plan.model.loading == "rank0")
    else:
        assert built["reshard_after_forward"] == fsdp["reshard_after_forward"]


def assert_mesh(plan: Plan, variables: dict[str, str]) -> None:
    if plan.parallelism is None:
        assert "ACCELERATE_USE_PARALLELISM_CONFIG" not in variables
        return
    assert variables["ACCELERATE_USE_PARALLELISM_CONFIG"] == "true"
    built, mesh = built_mesh(variables), plan.world.mesh
    sizes = {name: built[f"{name}_size"] for name in ("dp_replicate", "dp_shard", "cp", "tp")}
    assert sizes == mesh.model_dump()
    shown = {setting.name: setting.value for setting in effective(plan).parallelism}
    assert {name: shown[name] for name in shown if name in built} == {
        name: built[name] for name in shown if name in built
    }
    if mesh.cp > 1:
        assert built["cp_handler"].cp_comm_strategy == shown["cp_comm_strategy"]


@pytest.mark.parametrize(
    ("given", "use_fsdp", "processes"),
    [
        ({"cluster": cpu(2), "fsdp": None}, False, 2),
        ({"cluster": cuda(4), "fsdp": None}, False, 4),
        ({"cluster": cpu(1)}, False, 1),
        ({"cluster": cuda(1)}, False, 1),
    ],
)
def test_without_fsdp_no_plugin(
    given: dict[str, Any], use_fsdp: bool, processes: int, tmp_path: Path, inherited: dict[str, str]
) -> None:
    plan = make_plan(**given)
    variables = launched_environment(plan, tmp_path, inherited)
    assert plan.world.world_size == processes
    assert ("ACCELERATE_USE_FSDP" in variables) == use_fsdp
    assert "LOCAL_RANK" not in variables
    assert variables.get("ACCELERATE_USE_CPU", "false").lower() == str(plan.world.device == "cpu").lower()
    assert effective(plan).plugin == ()
