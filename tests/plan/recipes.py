"""Recipes and facts made of plain values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fsdpwiz.facts.types import Facts, Gpu, Gpus, Host, Model, Software
from fsdpwiz.plan.resolve import resolve
from fsdpwiz.plan.types import Plan
from fsdpwiz.recipe.load import read_recipe
from fsdpwiz.recipe.types import Recipe

VERSIONS = {
    "torch": "2.13.0",
    "accelerate": "1.15.0",
    "transformers": "5.24.0",
    "trl": "1.16.0",
    "peft": "0.21.2",
}
FILE = "tiny.yaml"
LLAMA = Model(
    source="catalogued",
    where="catalogue",
    path=None,
    architecture="LlamaForCausalLM",
    layer_classes=("LlamaDecoderLayer",),
    config={},
    has_weights=None,
)


def make_recipe(**given: Any) -> Recipe:
    """The recipe of a file with these keys, which must have no fault; with a model and data unless given."""
    content = {"model": {"name_or_path": "org/model"}, "data": {"name_or_path": "org/data"}, **given}
    recipe = read_recipe(json.dumps(content, indent=1, ensure_ascii=False), path=Path(FILE))
    assert not recipe.problems, recipe.problems
    return recipe


def make_facts(*, gpus: int | None = 0, capability: tuple[int, int] | None = (8, 0), **changes: Any) -> Facts:
    """A node with 8 cores and `gpus` cards of 80 GB (None: unknown), a Llama, and the tested versions."""
    card = {"name": "NVIDIA A100-SXM4-80GB", "memory_bytes": 85_000_000_000, "compute_capability": capability}
    cards = tuple(Gpu(index=index, **card) for index in range(gpus or 0))  # type: ignore[arg-type]
    known: dict[str, Any] = {
        "gpus": None if gpus is None else Gpus(source="measured", cards=cards),
        "host": Host(source="measured", cores=8, memory_bytes=64_000_000_000),
        "software": Software(source="measured", versions=VERSIONS, python="3.11.9"),
        "model": LLAMA,
    }
    return Facts(**{**known, **changes})


def make_plan(facts: Facts | None = None, **given: Any) -> Plan:
    """The plan of such a recipe; fails where there is none."""
    plan, problems = resolve(make_recipe(**given), facts or make_facts())
    assert plan is not None, problems
    return plan


def cuda(ranks: int, nodes: int = 1) -> dict[str, Any]:
    """A `cluster` section of GPUs."""
    return {"device": "cuda", "nodes": nodes, "gpus_per_node": ranks}


def cpu(ranks: int, nodes: int = 1) -> dict[str, Any]:
    """A `cluster` section of CPU processes."""
    return {"device": "cpu", "nodes": nodes, "processes_per_node": ranks}
