"""Properties of every plan."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsdpwiz.plan.resolve import resolve
from fsdpwiz.plan.types import Plan
from fsdpwiz.render.accelerate_yaml import accelerate_config, accelerate_yaml
from fsdpwiz.render.effective import effective
from tests.plan.recipes import cpu, cuda, make_facts, make_recipe

sizes = st.integers(1, 6)
words = st.text("abcxyz019 .*:'\"#|-_é☃\U00010000\\", max_size=9)
flags = st.booleans()


def optional(**values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Some of the keys."""
    return st.fixed_dictionaries({}, optional=values)


fsdp = st.none() | optional(
    version=st.sampled_from([1, 2]),
    reshard_after_forward=flags,
    sharding_strategy=st.sampled_from(["FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD", "HYBRID_SHARD"]),
    offload_params=flags,
    activation_checkpointing=flags,
    state_dict_type=st.sampled_from(["FULL_STATE_DICT", "SHARDED_STATE_DICT"]),
    auto_wrap_policy=st.sampled_from(["TRANSFORMER_BASED_WRAP", "SIZE_BASED_WRAP", "NO_WRAP"]),
    transformer_layer_cls_to_wrap=st.text("ABCab_", min_size=1),
    ignored_modules=words.filter(bool),
)
clusters = st.builds(cuda, sizes, sizes) | st.builds(cpu, sizes, sizes)
recipes = optional(
    name=st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,12}", fullmatch=True),
    fsdp=fsdp,
    cluster=clusters,
    sft=optional(
        per_device_train_batch_size=sizes,
        max_length=st.none() | st.integers(1, 4096),
        learning_rate=st.floats(1e-9, 1.0),
        packing=flags,
    ),
    global_batch_size=st.none() | st.integers(1, 96),
    mixed_precision=st.sampled_from([None, "bf16", "fp16", "no"]),
    parallelism=st.none() | optional(dp_replicate_size=sizes, dp_shard_size=sizes),
    peft=st.none() | optional(r=sizes, use_dora=flags),
    quantization=st.none() | optional(load_in_4bit=flags),
    env=st.dictionaries(st.from_regex(r"[A-Z_]{1,8}", fullmatch=True), words, max_size=2),
)


def plan_of(recipe: dict[str, Any]) -> Plan | None:
    plan, problems = resolve(make_recipe(**recipe), make_facts(gpus=3))
    assert plan is not None or problems
    return plan


@given(recipes)
@settings(max_examples=100, deadline=None)
def test_document_is_the_plan(recipe: dict[str, Any]) -> None:
    plan = plan_of(recipe)
    if plan is not None:
        document = json.loads(json.dumps(plan.to_json()))
        assert Plan.from_json(document) == plan
        assert Plan.from_json(document).to_json() == document


@given(recipes)
@settings(max_examples=100, deadline=None)
def test_resolving_again_changes_nothing(recipe: dict[str, Any]) -> None:
    loaded, facts = make_recipe(**recipe), make_facts(gpus=3)
    assert resolve(loaded, facts) == resolve(loaded, facts)


@given(recipes)
@settings(max_examples=100, deadline=None)
def test_batch_and_mesh_multiply(recipe: dict[str, Any]) -> None:
    plan = plan_of(recipe)
    if plan is None:
        return
    mesh, world = plan.world.mesh, plan.world
    assert mesh.dp_replicate * mesh.dp_shard * mesh.cp * mesh.tp == world.world_size
    assert world.nodes * world.ranks_per_node == world.world_size
    ranks = mesh.dp_replicate * mesh.dp_shard
    assert plan.batch.micro * plan.batch.accumulation * ranks == plan.batch.global_
    if recipe.get("global_batch_size"):
        assert plan.batch.global_ == recipe["global_batch_size"]
    if world.distributed_type in ("FSDP1", "FSDP2"):
        assert plan.training["gradient_checkpointing"] is False


@given(recipes)
@settings(max_examples=100, deadline=None)
def test_every_yaml_reader_reads_the_same(recipe: dict[str, Any]) -> None:
    yaml = pytest.importorskip("yaml")
    from ruamel.yaml import YAML

    plan = plan_of(recipe)
    if plan is None:
        return
    text = accelerate_yaml(plan)
    assert yaml.safe_load(text) == accelerate_config(plan)
    assert YAML(typ="safe", pure=True).load(text) == accelerate_config(plan)
    assert all(setting.name for setting in effective(plan).yaml)
    assert effective(plan).text().isprintable() or "\n" in effective(plan).text()
