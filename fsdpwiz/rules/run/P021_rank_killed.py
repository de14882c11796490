"""A rank was killed by a signal

## What

A process of the run was ended from outside: it left no exception, its exit code is that of a signal.

## Why

SIGKILL is how the kernel's out-of-memory killer and a cgroup's memory limit end a process; SIGSEGV and
SIGABRT are crashes inside a library; SIGBUS is often a full `/dev/shm`.

## Example

    Rank 1 was killed by SIGKILL

## How to fix

After SIGKILL look at the kernel's log (`dmesg`) and the memory in `attempts/N/events-R.jsonl`: fewer
processes per node, a smaller batch or `model.loading` that holds less on the host. After a crash the stacks
are in `attempts/N/stack-R.txt` and the rank's log.

## When to ignore

Never.

## References

signal(7)
"""

from __future__ import annotations

from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.rule import Found
from fsdpwiz.rules.wording import literal

NAME = "rank-killed"
SEVERITY = "error"
STAGE = "training"

_MEANING = {
    "SIGKILL": "as the kernel does when memory runs out",
    "SIGSEGV": "a crash inside a library",
    "SIGABRT": "a library gave up",
    "SIGBUS": "often a full `/dev/shm` or disk",
}


def word(problem: Problem) -> Found:
    detail = problem.detail
    rank, signal = detail.get("rank"), literal(detail.get("signal"))
    meaning = f" ({_MEANING[signal]})" if signal in _MEANING else ""
    log = f"; its output is in `{detail['log']}`" if detail.get("log") else ""
    return Found(
        message=f"Rank {rank} was killed by {signal}{meaning}{log}",
        rank=rank if isinstance(rank, int) else None,
    )
