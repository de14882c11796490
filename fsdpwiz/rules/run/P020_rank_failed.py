"""A rank failed

## What

A rank of the run ended with an exception. The finding names the rank that failed first, and its own
traceback is shown.

## Why

When one rank goes, the others fail in turn because their peer is gone, and the launcher's summary may name
one of those. Errors of that kind (connection closed, reset or timed out) are passed over where another rank
has a better one.

## Example

    Rank 1 failed: `ValueError: no row has a completion`

## How to fix

Read the traceback; the rank's whole output is in `attempts/N/rank-R.log`. `fsdpwiz run --resume RUN` goes
on from the latest complete checkpoint.

## When to ignore

Never.

## References

torch.distributed.elastic, error files.
"""

from __future__ import annotations

from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.rule import Found
from fsdpwiz.rules.wording import literal

NAME = "rank-failed"
SEVERITY = "error"
STAGE = "training"


def word(problem: Problem) -> Found:
    detail = problem.detail
    message = literal(detail.get("message") or "no message").replace("\n", " ")
    rank = detail.get("rank")
    secondary = (
        "; it only says that another rank was gone, and none says why" if detail.get("secondary") else ""
    )
    log = f"; its output is in `{detail['log']}`" if detail.get("log") else ""
    return Found(
        message=f"Rank {rank} failed: `{message}`{secondary}{log}",
        rank=rank if isinstance(rank, int) else None,
    )
