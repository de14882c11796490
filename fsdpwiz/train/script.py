"""`python -m fsdpwiz.train.script PLAN.json`: a user's own training script as a rank of a run.

It gets the same log, error file, stacks and events as ours, and FSDP on CPU where the plan is for a CPU.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from fsdpwiz.plan.types import Plan
from fsdpwiz.train import process
from fsdpwiz.train.events import Events


def run_script(plan: Plan, this: process.RankProcess) -> None:
    """Run the plan's script as `__main__` with its arguments; its exit code stays its own.

    Raises ValueError for a plan without script.
    """
    if plan.script is None:
        raise ValueError("the plan names no script")
    events = Events(this.attempt.events(this.rank))
    events.start()
    with events.phase("start"):
        if plan.world.device == "cpu":
            from fsdpwiz.train import cpu_fsdp

            cpu_fsdp.enable(timeout_s=plan.process_group_timeout_s)
    sys.argv = [plan.script, *plan.script_args]
    sys.path.insert(0, str(Path(plan.script).resolve().parent))
    try:
        with events.phase("train"):
            _run(plan.script)
        events.mark("end")
    finally:
        events.stop()


def _run(script: str) -> None:
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as stop:
        if stop.code not in (None, 0):
            raise


def main(arguments: list[str]) -> None:
    this = process.this_process(arguments)
    process.begin(this)
    process.finish(this, lambda: run_script(Plan.read(this.plan_path), this))


if __name__ == "__main__":
    main(sys.argv[1:])
