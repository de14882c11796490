"""A cluster that this machine is not

## What

With `launcher: local` the recipe's `cluster` names another card, or more memory of a card or of the host,
than this machine has.

## Why

What was planned for that machine may not fit this one. Of a declared and a measured size the smaller
counts. `run` stops; the other verbs warn.

## Example

    cluster: {gpu: A100-80GB, gpus_per_node: 8, host_memory_gb: 1000}     # on 8 × RTX 4090

## How to fix

Correct the key, or remove `cluster`, which is then filled from this machine.

## When to ignore

When the difference is known not to matter, e.g. another name of the same card.

## References

None.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from fsdpwiz.core.findings import Fix
from fsdpwiz.core.units import GB, format_bytes
from fsdpwiz.facts.types import Gpus, Host
from fsdpwiz.plan.types import Plan
from fsdpwiz.recipe.types import Recipe
from fsdpwiz.rules.rule import Found

NAME = "cluster-differs"
SEVERITY = "error"
SEVERITY_UNLESS_RUN = "warning"

_TOLERANCE = 0.95


def check(recipe: Recipe, plan: Plan, gpus: Gpus | None, host: Host | None) -> Iterator[Found]:
    if plan.launcher != "local":
        return
    if gpus is not None and gpus.source == "measured" and gpus.cards and plan.world.device == "cuda":
        yield from _name(recipe, gpus)
        smallest = min(card.memory_bytes for card in gpus.cards)
        yield from _memory(recipe, "cluster.gpu_memory_gb", "its smallest card", smallest)
    if host is not None and host.source == "measured" and host.memory_bytes is not None:
        yield from _memory(recipe, "cluster.host_memory_gb", "this machine", host.memory_bytes)


def _name(recipe: Recipe, gpus: Gpus) -> Iterator[Found]:
    key = "cluster.gpu"
    declared = recipe.value(key)
    other = next((card.name for card in gpus.cards if not _same_card(str(declared), card.name)), None)
    if declared is None or other is None:
        return
    fix = Fix(title="take this machine's card", edits={key: None}, safety="unsafe")
    yield Found(message=f"`{key}: {declared}` is declared; this machine has {other}", key=key, fixes=(fix,))


def _same_card(declared: str, measured: str) -> bool:
    """Whether the model number of "A100-80GB" stands in NVML's name, e.g. "NVIDIA A100-SXM4-80GB"."""
    words = [
        word
        for word in re.split(r"[^a-z0-9]+", declared.lower())
        if word and word not in ("nvidia", "rtx", "geforce")
    ]
    name = re.split(r"[^a-z0-9]+", measured.lower())
    joined = "".join(name)
    return bool(words) and (words[0] in name or words[0] in joined)


def _memory(recipe: Recipe, key: str, what: str, measured_bytes: int) -> Iterator[Found]:
    declared_gb = recipe.value(key)
    if not isinstance(declared_gb, (int, float)) or measured_bytes >= declared_gb * GB * _TOLERANCE:
        return
    fix = Fix(title="take the measured size", edits={key: None}, safety="safe")
    yield Found(
        message=f"`{key}: {declared_gb:g}` is declared; {what} has {format_bytes(measured_bytes)}",
        key=key,
        fixes=(fix,),
    )
