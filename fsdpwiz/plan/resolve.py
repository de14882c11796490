"""Recipe and facts to a plan: the only place where a default is filled in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fsdpwiz.core.problem import Problem
from fsdpwiz.facts.types import Facts
from fsdpwiz.methods.method import method_of
from fsdpwiz.plan.adapters import decide_peft
from fsdpwiz.plan.batch import decide_batch
from fsdpwiz.plan.choices import Choices
from fsdpwiz.plan.cluster import decide_cluster
from fsdpwiz.plan.fingerprint import fingerprint
from fsdpwiz.plan.identity import decide_data, decide_launch, decide_model
from fsdpwiz.plan.loading import decide_checkpoint, decide_loading, loading_flags
from fsdpwiz.plan.mesh import decide_world, distributed_type
from fsdpwiz.plan.precision import decide_precision
from fsdpwiz.plan.sharding import decide_fsdp
from fsdpwiz.plan.training import decide_training
from fsdpwiz.plan.types import Plan
from fsdpwiz.recipe.types import Recipe


def resolve(recipe: Recipe, facts: Facts) -> tuple[Plan | None, tuple[Problem, ...]]:
    """The plan of `recipe` on the machines that `facts` describe, and the problems met.

    Goes on after a problem as far as it can, so that one call names them all. There is no plan
    where the processes per node are unknown (A018), the mesh does not fill the world (C004), the
    global batch is not divisible (J014), or the recipe's own faults leave no model or data.
    """
    versions = dict(facts.software.versions) if facts.software is not None else {}
    choices = Choices(recipe, versions)
    values = _decide(choices, facts)
    if values is None:
        return None, tuple(choices.problems)
    origins = {key: origin.to_json() for key, origin in sorted(choices.origins.items())}
    plan = Plan(**values, versions=_versions(facts), hash="", origins=origins)
    return plan.model_copy(update={"hash": fingerprint(plan.to_json())}), tuple(choices.problems)


def _decide(choices: Choices, facts: Facts) -> dict[str, Any] | None:
    method = method_of(choices.recipe.origins)
    cluster = decide_cluster(choices, facts)
    device = cluster.device if cluster else "cuda"
    ranks = (cluster.gpus_per_node or cluster.processes_per_node or 1) if cluster else 2
    world_size = cluster.nodes * ranks if cluster else ranks
    kind = distributed_type(choices, world_size)
    precision = decide_precision(choices, facts, device, kind)
    fsdp, units = decide_fsdp(choices, facts, kind, device)
    loading = decide_loading(choices, kind, device, world_size)
    training = decide_training(choices, method, kind, precision.mixed_precision, facts.model)
    peft = decide_peft(choices)
    checkpoint = decide_checkpoint(choices, kind, fsdp, str(training.get("optim", "")))
    model = decide_model(choices, facts, loading, precision)
    data = decide_data(choices, facts)
    launch = decide_launch(choices, facts, device, ranks)
    world, parallelism = decide_world(choices, cluster, kind, fsdp) if cluster else (None, None)
    batch = decide_batch(choices, method.section, world, training.get("max_length")) if world else None
    if cluster is None or world is None or batch is None or model is None or data is None:
        return None
    training |= {
        "per_device_train_batch_size": batch.micro,
        "gradient_accumulation_steps": batch.accumulation,
    }
    return {
        "method": method.section,
        "model": model,
        "data": data,
        "training": training,
        "fsdp": loading_flags(choices, fsdp, loading),
        "units": units,
        "mixed_precision": precision.mixed_precision,
        "reduce_dtype": precision.reduce_dtype,
        "precision": precision.precision,
        "quantization": precision.quantization,
        "peft": peft,
        "checkpoint": checkpoint,
        "cluster": cluster,
        "world": world,
        "parallelism": parallelism,
        "batch": batch,
        **launch,
    }


def _versions(facts: Facts) -> Mapping[str, str]:
    if facts.software is None:
        return {}
    return {"python": facts.software.python, **facts.software.versions}
