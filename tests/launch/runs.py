"""Plans and run folders for the tests of launching."""

import sys
from pathlib import Path

from fsdpwiz.exec.interrupts import Interrupts
from fsdpwiz.facts.types import Facts
from fsdpwiz.launch.display import Silence
from fsdpwiz.launch.local import run_local
from fsdpwiz.launch.node import Node
from fsdpwiz.plan.resolve import resolve
from fsdpwiz.plan.types import Plan
from fsdpwiz.recipe.load import read_recipe
from fsdpwiz.runs.layout import RunFolder

STAND_IN = Path(__file__).with_name("stand_in.py")
RECIPE = """
name: tiny
model: {name_or_path: owner/model}
data: {name_or_path: owner/data}
sft: {max_steps: 3}
cluster: {device: cpu, nodes: 1, processes_per_node: 2}
"""


def plan_of(*overrides: str, recipe: str = RECIPE) -> Plan:
    plan, problems = resolve(read_recipe(recipe, overrides), Facts())
    assert plan is not None, problems
    return plan


def launched(
    folder: Path, behaviour: str, *overrides: str, attempt=1, node=None, interrupts=None, display=None
):
    """Run the stand-in launcher on a plan and return how it ended, with the run's folder."""
    plan = plan_of(*overrides)
    run = RunFolder(folder)
    folder.mkdir(exist_ok=True)
    outcome = run_local(
        plan,
        run,
        attempt=attempt,
        node=node or Node(),
        display=display or Silence(),
        interrupts=interrupts or Interrupts(),
        command=[sys.executable, str(STAND_IN), str(run.plan), behaviour],
    )
    return outcome, run


def rank_pids(run: RunFolder, attempt: int = 1) -> list[int]:
    return [int(path.read_text()) for path in run.attempt(attempt).folder.glob("rank-*.pid")]
