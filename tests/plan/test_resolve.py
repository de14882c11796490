"""Recipes and facts to plans: worlds, meshes, batches, and what cannot be planned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fsdpwiz.facts.types import Data, Gpu, Gpus, Host, Model
from fsdpwiz.plan.resolve import resolve
from fsdpwiz.plan.types import Plan
from tests.plan.recipes import FILE, cpu, cuda, make_facts, make_plan, make_recipe


@pytest.mark.parametrize(
    ("given", "kind", "mesh"),
    [
        ({"cluster": cpu(2)}, "FSDP2", {"dp_shard": 2}),
        ({"cluster": cpu(2), "fsdp": {}}, "FSDP2", {"dp_shard": 2}),
        ({"cluster": cpu(2), "fsdp": {"version": 1}}, "FSDP1", {"dp_shard": 2}),
        ({"cluster": cpu(2), "fsdp": None}, "DDP", {"dp_replicate": 2}),
        ({"cluster": cpu(1), "fsdp": None}, "NO", {}),
        ({"cluster": cpu(1)}, "NO", {}),
        ({"cluster": cpu(1), "fsdp": {"offload_params": True}}, "FSDP2", {}),
        ({"cluster": cpu(1), "fsdp": {"offload_params": True, "version": 1}}, "FSDP1", {}),
        ({"cluster": cuda(8, nodes=2)}, "FSDP2", {"dp_shard": 16}),
        (
            {"cluster": cuda(8, nodes=2), "fsdp": {"version": 1, "sharding_strategy": "HYBRID_SHARD"}},
            "FSDP1",
            {"dp_replicate": 2, "dp_shard": 8},
        ),
        (
            {"cluster": cuda(8), "fsdp": {"version": 1, "sharding_strategy": "NO_SHARD"}},
            "FSDP1",
            {"dp_replicate": 8},
        ),
        (
            {"cluster": cuda(8), "parallelism": {"dp_replicate_size": 2}},
            "FSDP2",
            {"dp_replicate": 2, "dp_shard": 4},
        ),
        (
            {"cluster": cuda(8), "parallelism": {"dp_replicate_size": 2, "cp_size": 2, "tp_size": 2}},
            "FSDP2",
            {"dp_replicate": 2, "cp": 2, "tp": 2},
        ),
    ],
)
def test_world(given: dict[str, Any], kind: str, mesh: dict[str, int]) -> None:
    plan = make_plan(**given)
    assert plan.world.distributed_type == kind
    assert plan.world.mesh.model_dump() == {"dp_replicate": 1, "dp_shard": 1, "cp": 1, "tp": 1, **mesh}
    assert (plan.fsdp is None) == (kind in ("DDP", "NO"))


def test_cluster_is_filled_from_this_machine() -> None:
    with_gpus = make_plan(make_facts(gpus=4))
    assert (with_gpus.cluster.device, with_gpus.cluster.gpus_per_node) == ("cuda", 4)
    assert with_gpus.origins["cluster.gpus_per_node"]["source"] == "measured"
    assert with_gpus.cluster.gpu_memory_gb == 85.0
    for gpus in (0, None):
        without = make_plan(make_facts(gpus=gpus))
        assert (without.cluster.device, without.cluster.processes_per_node) == ("cpu", 2)
        assert without.world.world_size == 2


def test_given_cluster_means_gpus() -> None:
    assert make_plan(make_facts(gpus=2), cluster={"nodes": 3}).world.world_size == 6
    assert make_plan(cluster={"gpus_per_node": 8}).cluster.device == "cuda"


def test_declared_gpus_stand_where_fewer_are_here() -> None:
    plan = make_plan(make_facts(gpus=1), cluster=cuda(8))
    assert plan.world.world_size == 8


def test_of_declared_and_measured_memory_the_smaller_counts() -> None:
    facts = make_facts(gpus=2)
    cluster = {**cuda(2), "gpu_memory_gb": 90, "host_memory_gb": 32}
    plan = make_plan(facts, cluster=cluster)
    assert (plan.cluster.gpu_memory_gb, plan.cluster.host_memory_gb) == (85.0, 32.0)
    origin = plan.origins["cluster.gpu_memory_gb"]
    assert origin["source"] == "measured" and "90" in origin["by"]
    assert plan.origins["cluster.host_memory_gb"]["source"] == "recipe"


def test_machine_without_gpu_says_nothing_of_a_node_with_gpus() -> None:
    card = Gpu(index=0, name="A100-80GB", memory_bytes=85_899_345_920, compute_capability=(8, 0))
    facts = make_facts(declared_gpus=Gpus(source="catalogued", cards=(card,)))
    plan = make_plan(facts, cluster={**cuda(8), "gpu": "A100-80GB", "host_memory_gb": 1000})
    assert plan.cluster.host_memory_gb == 1000
    assert plan.cluster.gpu_memory_gb == 85.899
    assert plan.origins["cluster.gpu_memory_gb"]["source"] == "catalogued"


@pytest.mark.parametrize(
    ("given", "code", "key"),
    [
        ({"cluster": {"device": "cuda"}}, "A018", "cluster.gpus_per_node"),
        ({"launcher": "slurm"}, "A018", "cluster.gpus_per_node"),
        ({"cluster": cuda(8), "parallelism": {"dp_replicate_size": 3}}, "C004", "parallelism"),
        (
            {"cluster": cuda(8), "parallelism": {"dp_replicate_size": 2, "dp_shard_size": 2}},
            "C004",
            "parallelism",
        ),
        ({"cluster": cuda(8), "global_batch_size": 12}, "J014", "global_batch_size"),
        ({"cluster": cuda(8), "global_batch_size": 4}, "J014", "global_batch_size"),
    ],
)
def test_what_cannot_be_planned(given: dict[str, Any], code: str, key: str) -> None:
    plan, problems = resolve(make_recipe(**given), make_facts())
    assert plan is None
    assert [(problem.code, problem.key) for problem in problems] == [(code, key)]
    if "." not in key and key in given:
        assert (problems[0].file, problems[0].line is not None) == (FILE, True)


def test_unknown_ranks_hide_no_later_choice() -> None:
    plan, problems = resolve(make_recipe(cluster={"device": "cuda"}, global_batch_size=7), make_facts())
    assert plan is None and [problem.code for problem in problems] == ["A018"]


def test_versions_name_whose_default_it_is() -> None:
    plan = make_plan(cluster=cpu(2), sft={"learning_rate": 0.001})
    assert plan.origins["sft.max_length"] == {
        "source": "default",
        "by": "trl 1.16.0",
        "file": None,
        "line": None,
    }
    assert plan.origins["fsdp.reshard_after_forward"]["by"] == "accelerate 1.15.0"
    origin = plan.origins["sft.learning_rate"]
    assert origin["source"] == "recipe" and origin["file"] == FILE and origin["line"] > 1


def test_every_value_has_an_origin() -> None:
    plan = make_plan(
        cluster=cuda(8),
        parallelism={"dp_replicate_size": 2},
        peft={"r": 4},
        quantization={"load_in_4bit": True},
        env={"A": "b"},
        slurm={"options": {"partition": "gpu"}},
        script="train.py",
    )
    known = set(plan.origins)
    for key in leaves(plan):
        sections = [key.rsplit(".", depth)[0] for depth in range(key.count(".") + 1)]
        assert known & set(sections), key


def leaves(plan: Plan) -> list[str]:
    """Dotted keys of everything decided."""
    document = {
        key: value
        for key, value in plan.to_json().items()
        if key not in ("schema", "method", "versions", "hash", "origins")
    }

    def walk(node: dict[str, Any], prefix: str) -> list[str]:
        found: list[str] = []
        for name, value in node.items():
            inner = isinstance(value, dict) and value
            found += walk(value, f"{prefix}{name}.") if inner else [f"{prefix}{name}"]
        return found

    return walk(document, "")


def test_found_files_replace_relative_names(tmp_path: Path) -> None:
    rows = Data(source="measured", where="file", files=(tmp_path / "rows.jsonl",), format="messages")
    folder = Data(
        source="measured", where="folder", files=(tmp_path / "a" / "1.jsonl", tmp_path / "a" / "2.jsonl")
    )
    model = Model(
        source="measured", where="folder", path=tmp_path / "model", architecture="LlamaForCausalLM",
        layer_classes=("LlamaDecoderLayer",), config={}, has_weights=True,
    )  # fmt: skip
    facts = make_facts(data=rows, eval_data=folder, model=model)
    plan = make_plan(facts, data={"name_or_path": "rows.jsonl", "eval_name_or_path": "a"})
    assert plan.model.name_or_path == str(tmp_path / "model")
    assert plan.data.name_or_path == str(tmp_path / "rows.jsonl")
    assert plan.data.eval_name_or_path == str(tmp_path / "a")
    assert plan.data.format == "messages"


def test_script_brings_model_and_data_itself() -> None:
    recipe = make_recipe(model={}, data={}, script="train.py", script_args=["--steps", "3"], cluster=cpu(2))
    plan, problems = resolve(recipe, make_facts(model=None))
    assert plan is not None and not problems
    assert (plan.script, plan.script_args) == ("train.py", ("--steps", "3"))
    assert plan.units == () and plan.fsdp is not None


def test_name_is_the_files() -> None:
    assert make_plan().name == "tiny"
    assert make_plan(name="mine").name == "mine"


@pytest.mark.parametrize(
    ("environment", "given", "cores", "threads", "source"),
    [
        ({}, {}, 8, "4", "derived"),
        ({}, {}, 1, "1", "derived"),
        ({"OMP_NUM_THREADS": "3"}, {}, 8, "3", "measured"),
        ({"OMP_NUM_THREADS": "3"}, {"OMP_NUM_THREADS": "7"}, 8, "7", "recipe"),
        ({}, {}, None, None, None),
    ],
)
def test_threads_of_a_rank(
    environment: dict[str, str],
    given: dict[str, str],
    cores: int | None,
    threads: str | None,
    source: str | None,
) -> None:
    host = Host(source="measured", cores=cores, memory_bytes=None)
    plan = make_plan(make_facts(host=host, environment=environment), cluster=cpu(2), env=given)
    assert plan.env.get("OMP_NUM_THREADS") == threads
    assert (plan.origins.get("env.OMP_NUM_THREADS") or {}).get("source") == source


def test_cores_here_say_nothing_of_a_node_with_gpus() -> None:
    assert make_plan(cluster=cuda(2)).env == {}
    assert make_plan(make_facts(gpus=2), cluster=cuda(2)).env == {"OMP_NUM_THREADS": "4"}


def test_hash_follows_values_and_not_where_they_come_from() -> None:
    plain = make_plan(cluster=cpu(2))
    assert make_plan(cluster=cpu(2)).hash == plain.hash
    said = make_plan(cluster=cpu(2), sft={"max_length": 1024})
    assert said.origins != plain.origins and said.hash == plain.hash
    assert make_plan(cluster=cpu(2), sft={"max_length": 1023}).hash != plain.hash
