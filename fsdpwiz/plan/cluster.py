"""The machines of a run: what the recipe declares, filled from what was measured."""

from __future__ import annotations

from typing import Literal

from fsdpwiz.core.units import GB
from fsdpwiz.facts.types import Facts, Gpus, Knowledge
from fsdpwiz.plan.choices import OURS, SOURCES, Choices
from fsdpwiz.plan.types import ClusterPlan

DEFAULT_CPU_PROCESSES = 2

_OF_THE_OTHER_DEVICE = {"cuda": ("processes_per_node",), "cpu": ("gpus_per_node", "gpu", "gpu_memory_gb")}


def decide_cluster(choices: Choices, facts: Facts) -> ClusterPlan | None:
    """The cluster, or None with problem A018 where the number of processes per node is not known.

    A declared number of GPUs stands even where fewer are here, for a smaller world than the
    recipe's must never be trained silently. Of a declared and a measured memory size the smaller counts.
    """
    device = _device(choices, facts)
    nodes = int(choices.choose("cluster.nodes", 1))
    ranks = _gpus_per_node(choices, facts) if device == "cuda" else _processes_per_node(choices)
    memory = _memory(choices, facts, device)
    gpu = _gpu_name(choices, facts) if device == "cuda" else None
    for key in _OF_THE_OTHER_DEVICE[device]:
        choices.derive(f"cluster.{key}", None, "cluster.device")
    if ranks is None or nodes < 1:
        key = "cluster.gpus_per_node" if device == "cuda" else "cluster.processes_per_node"
        choices.report("A018", key if ranks is None else "cluster.nodes", nodes=nodes)
        return None
    return ClusterPlan(
        device=device,
        nodes=nodes,
        gpus_per_node=ranks if device == "cuda" else None,
        processes_per_node=ranks if device == "cpu" else None,
        gpu=gpu,
        gpu_memory_gb=memory.get("cluster.gpu_memory_gb"),
        host_memory_gb=memory.get("cluster.host_memory_gb"),
    )


def known_gpus(facts: Facts) -> Gpus | None:
    """The cards of a node: the target's where it has any, else those that the recipe declares."""
    return next((gpus for gpus in (facts.gpus, facts.declared_gpus) if gpus is not None and gpus.cards), None)


def is_elsewhere(facts: Facts, device: str) -> bool:
    """Whether the run is plainly not for this machine: it wants GPUs, and there is none here."""
    return device == "cuda" and facts.gpus is not None and not facts.gpus.cards


def _device(choices: Choices, facts: Facts) -> Literal["cuda", "cpu"]:
    key = "cluster.device"
    if choices.given("cluster"):
        return "cpu" if choices.choose(key, "cuda") == "cpu" else "cuda"
    if facts.gpus is not None and facts.gpus.cards:
        choices.record(key, "cuda", SOURCES[facts.gpus.source], None)
        return "cuda"
    if choices.given("launcher") == "slurm":
        choices.record(key, "cuda", "default", OURS)
        return "cuda"
    choices.record(key, "cpu", "measured", "no GPU here")
    return "cpu"


def _gpus_per_node(choices: Choices, facts: Facts) -> int | None:
    key = "cluster.gpus_per_node"
    if choices.is_given(key):
        count = int(choices.choose(key, None))
    elif facts.gpus is not None and facts.gpus.cards:
        count = len(facts.gpus.cards)
        choices.record(key, count, SOURCES[facts.gpus.source], "the GPUs of a node")
    else:
        return None
    return count if count >= 1 else None


def _processes_per_node(choices: Choices) -> int | None:
    count = int(choices.choose("cluster.processes_per_node", DEFAULT_CPU_PROCESSES))
    return count if count >= 1 else None


def _gpu_name(choices: Choices, facts: Facts) -> str | None:
    key = "cluster.gpu"
    known = known_gpus(facts)
    if known is not None and not choices.is_given(key) and len({card.name for card in known.cards}) == 1:
        return str(choices.record(key, known.cards[0].name, SOURCES[known.source], None))
    name = choices.choose(key, None)
    return None if name is None else str(name)


def _memory(choices: Choices, facts: Facts, device: str) -> dict[str, float | None]:
    """Memory of a card and of a node in GB. A machine without GPU says nothing of a node with GPUs."""
    known: dict[str, tuple[int | None, Knowledge]] = {}
    gpus = known_gpus(facts) if device == "cuda" else None
    if gpus is not None:
        known["cluster.gpu_memory_gb"] = (min(card.memory_bytes for card in gpus.cards), gpus.source)
    if facts.host is not None and not is_elsewhere(facts, device):
        known["cluster.host_memory_gb"] = (facts.host.memory_bytes, facts.host.source)
    keys = ("cluster.gpu_memory_gb",) * (device == "cuda") + ("cluster.host_memory_gb",)
    return {key: _smaller(choices, key, *known.get(key, (None, "measured"))) for key in keys}


def _smaller(choices: Choices, key: str, known_bytes: int | None, knowledge: Knowledge) -> float | None:
    declared = choices.given(key)
    if known_bytes is None or (declared is not None and declared * GB <= known_bytes):
        chosen = choices.choose(key, None)
        return None if chosen is None else float(chosen)
    why = None if declared is None else f"smaller than the {declared} declared"
    return float(choices.record(key, round(known_bytes / GB, 3), SOURCES[knowledge], why))
