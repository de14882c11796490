"""What a recipe's `cluster` section says of one node, with the catalogue for what it leaves out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from fsdpwiz.core.units import GB
from fsdpwiz.facts.gpu_catalogue import gpu_by_name, nearest_gpu_names
from fsdpwiz.facts.one_line import one_line
from fsdpwiz.facts.types import Gpu, Gpus, Host
from fsdpwiz.facts.unknown import UnknownFact

_MAX_CARDS = 256


def declared_gpus(cluster: Mapping[str, Any]) -> Gpus:
    """The cards of a node; "catalogued" where their memory is the catalogue's, else "declared".

    Raises UnknownFact where the section does not say enough.
    """
    if cluster.get("device") == "cpu":
        return Gpus(source="declared", cards=())
    name = cluster.get("gpu")
    count = _count(cluster.get("gpus_per_node"))
    if count is None:
        raise UnknownFact("`cluster.gpus_per_node` is not given")
    known = gpu_by_name(name) if isinstance(name, str) else None
    said_bytes = _bytes(cluster.get("gpu_memory_gb"))
    memory_bytes = said_bytes if said_bytes is not None or known is None else known.memory_bytes
    if memory_bytes is None:
        raise UnknownFact(_unknown_memory(name))
    cards = tuple(
        Gpu(
            index=index,
            name=known.name if known else one_line(name, limit=80) if isinstance(name, str) else "GPU",
            memory_bytes=memory_bytes,
            compute_capability=known.compute_capability if known else None,
        )
        for index in range(count)
    )
    return Gpus(source="catalogued" if said_bytes is None else "declared", cards=cards)


def declared_host(cluster: Mapping[str, Any]) -> Host:
    """A node's memory; raises UnknownFact where the section does not give it."""
    memory_bytes = _bytes(cluster.get("host_memory_gb"))
    if memory_bytes is None:
        raise UnknownFact("`cluster.host_memory_gb` is not given")
    return Host(source="declared", cores=None, memory_bytes=memory_bytes)


def _unknown_memory(name: object) -> str:
    if not isinstance(name, str):
        return "`cluster.gpu` is not given"
    nearest = nearest_gpu_names(name)
    hint = f"; the nearest are {', '.join(f'`{near}`' for near in nearest)}" if nearest else ""
    named = one_line(name)
    return f"the catalogue has no GPU `{named}` and `cluster.gpu_memory_gb` is not given{hint}"


def _count(value: object) -> int | None:
    usable = isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _MAX_CARDS
    return value if usable and isinstance(value, int) else None


def _bytes(value_gb: object) -> int | None:
    """Decimal gigabytes as bytes; None for what is no positive number."""
    if not isinstance(value_gb, int | float) or isinstance(value_gb, bool) or not 0 < value_gb < math.inf:
        return None
    return round(value_gb * GB)
