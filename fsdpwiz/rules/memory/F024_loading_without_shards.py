"""A way of loading that does not exist here

## What

`model.loading` is `rank0` or `streaming`, but the run is DDP or one process; or `streaming` under FSDP1, or
of a model whose weights are read or changed while they are loaded.

## Why

Without shards every process needs all weights, so each reads them itself. Streaming hands each rank its own
shards only, which FSDP2's tensors allow and FSDP1's flat parameters do not. Nobody holds a whole tensor then,
so nothing can be made of one: a quantised base, or an adapter that is initialised from the base weights.

## Example

    fsdp: null
    model: {loading: rank0}

## How to fix

Remove the key: the default is what exists.

## When to ignore

Never: the value cannot be obeyed.

## References

accelerate, `fsdp_cpu_ram_efficient_loading`.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.findings import Fix
from fsdpwiz.core.problem import Problem
from fsdpwiz.plan.live_shards import not_streamable
from fsdpwiz.plan.types import Plan
from fsdpwiz.recipe.types import Recipe
from fsdpwiz.rules.rule import Found
from fsdpwiz.rules.wording import literal

NAME = "loading-without-shards"
SEVERITY = "error"
SEVERITY_UNLESS_RUN = "warning"

_KEY = "model.loading"
_FIX = Fix(title=f"remove `{_KEY}`", edits={_KEY: None}, safety="safe")
_KINDS = {"NO": "one process", "DDP": "DDP", "FSDP1": "FSDP1", "FSDP2": "FSDP2"}


def word(problem: Problem) -> Found:
    return _found(problem.detail.get("got"), str(problem.detail.get("distributed_type", "NO")))


def check(recipe: Recipe, plan: Plan) -> Iterator[Found]:
    given, kind = recipe.value(_KEY), plan.world.distributed_type
    if (given == "rank0" and kind in ("DDP", "NO")) or (given == "streaming" and kind != "FSDP2"):
        yield _found(given, kind)
    elif given == "streaming" and (reason := not_streamable(recipe.value)) is not None:
        yield Found(
            message=f"`{_KEY}: streaming` does not exist for this model: {reason}", key=_KEY, fixes=(_FIX,)
        )


def _found(value: object, kind: str) -> Found:
    return Found(
        message=f"`{_KEY}: {literal(value)}` does not exist for {_KINDS.get(kind, kind)}",
        key=_KEY,
        severity="info" if kind == "NO" else None,
        fixes=(_FIX,),
    )
