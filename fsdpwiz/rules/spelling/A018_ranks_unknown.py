"""The number of ranks is not known

## What

The recipe says `device: cuda` and not how many GPUs a node has, and no GPU is seen here; or it names fewer
than one node or rank.

## Why

Accelerate would start one process only, or none. Without the number neither the world nor the batch can be
planned.

## Example

    cluster:
      device: cuda
      nodes: 2

## How to fix

Set `cluster.gpus_per_node`, the ranks of each node.

## When to ignore

Never: nothing can be planned.

## References

accelerate, `commands/launch.py`: `num_processes`.
"""

from __future__ import annotations

from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.rule import Found

NAME = "ranks-unknown"
SEVERITY = "error"


def word(problem: Problem) -> Found:
    if problem.key == "cluster.nodes":
        return Found(
            message=f"`cluster.nodes` is {problem.detail.get('nodes')}; a run needs at least one node"
        )
    key = problem.key or "cluster.gpus_per_node"
    return Found(
        message=f"`{key}` must say how many ranks a node has: no GPU is seen here, and nothing else tells",
        key=key,
    )
