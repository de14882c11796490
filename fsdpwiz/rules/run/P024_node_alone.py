"""The nodes of a run did not find each other

## What

A node waited in vain for node 0 to make the run folder, or stopped because another node had failed.

## Why

All nodes of a run write to one folder, so it must lie on a file system that all of them see, under the same
path.

## Example

    Node 1 waited 600 s for node 0 to start the run in `runs/x/20260101-120000`

## How to fix

Start node 0 first, with the same recipe and `--run-id` as its output says, and set `output_dir` to a shared
folder.

## When to ignore

Never.

## References

`fsdpwiz run --help`
"""

from __future__ import annotations

from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.rule import Found
from fsdpwiz.rules.wording import literal

NAME = "node-alone"
SEVERITY = "error"
STAGE = "training"


def word(problem: Problem) -> Found:
    detail = problem.detail
    node = detail.get("node_rank")
    path = literal(detail.get("path"))
    if "waited_s" in detail:
        waited = f"Node {node} waited {detail['waited_s']:.0f} s for node 0 to start the run in `{path}`"
        return Found(message=f"{waited}: is that a folder that both see?")
    how = f"node {detail.get('other')} had {detail.get('how', 'failed')}"
    return Found(message=f"Node {node} was stopped because {how}")
