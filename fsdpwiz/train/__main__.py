"""`python -m fsdpwiz.train PLAN.json`: one rank of a run, started by `accelerate launch` or torchrun.

The run folder is the folder of PLAN.json. Nothing heavy is imported before the output is redirected.
"""

from __future__ import annotations

import sys

from fsdpwiz.train import process


def main(arguments: list[str]) -> None:
    """Train, or run the plan's own script."""
    this = process.this_process(arguments)
    process.begin(this)
    process.finish(this, lambda: _work(this))


def _work(this: process.RankProcess) -> None:
    from fsdpwiz.plan.types import Plan

    plan = Plan.read(this.plan_path)
    if plan.script is not None:
        from fsdpwiz.train.script import run_script

        run_script(plan, this)
    else:
        from fsdpwiz.train import process_group
        from fsdpwiz.train.run import run

        run(plan, this.folder, attempt=this.attempt_number)
        process_group.close()


if __name__ == "__main__":
    main(sys.argv[1:])
