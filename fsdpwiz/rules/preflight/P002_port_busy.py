"""The rendezvous port is taken

## What

Another process listens on the port that the ranks were to meet on.

## Why

The ranks would wait for each other, or join another run's rendezvous.

## Example

    fsdpwiz run smollm2-135m-sft --main-address node1:29500

## How to fix

Leave the port out, so that a free one is taken, or name another one after the address. Where the holder is
a rank of a run that died, end it.

## When to ignore

Never: the launch cannot work.

## References

torch.distributed, static rendezvous.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.problem import Problem
from fsdpwiz.facts.types import Port
from fsdpwiz.rules.rule import Found

NAME = "port-busy"
SEVERITY = "error"


def word(problem: Problem) -> Found:
    return _found(problem.detail.get("port"), problem.detail.get("holder"))


def check(port: Port) -> Iterator[Found]:
    if not port.free:
        yield _found(port.number, port.holder)


def _found(number: object, holder: object) -> Found:
    held = f" by {holder}" if holder else ""
    return Found(message=f"Port {number} is taken{held}; name another port or leave it out")
