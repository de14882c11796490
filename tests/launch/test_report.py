"""The last screen of a run."""

from pathlib import Path

import pytest

from fsdpwiz.launch.follow import Progress
from fsdpwiz.launch.local import Outcome
from fsdpwiz.launch.report import report
from fsdpwiz.runs.layout import RunFolder
from tests.launch.runs import plan_of

RUN = RunFolder(Path("/runs/tiny/20260101-000000"))
PROGRESS = Progress(
    step=20, first_step=1, total_steps=20, first_loss=2.75, loss=1.3512, tokens_per_s=1234.4, step_s=10.04
)


def screen(plan, model=None, progress=PROGRESS):
    outcome = Outcome(state="finished", exit_code=0, seconds=200, progress=progress, model=model)
    return report(plan, RUN, outcome).splitlines()


def test_everything_a_user_wants_to_know():
    assert screen(plan_of(), RUN.model) == [
        "Trained   owner/model on owner/data by sft",
        "World     2 processes (cpu), FSDP2, precision float32",
        "Steps     20, in 3 min 20 s",
        "Loss      2.75 at first, 1.351 at last",
        "Speed     1,234 tokens/s, 10 s a step",
        "Run       /runs/tiny/20260101-000000",
        "Model     /runs/tiny/20260101-000000/model",
        "Load it   from transformers import AutoModelForCausalLM",
        "          model = AutoModelForCausalLM.from_pretrained('/runs/tiny/20260101-000000/model')",
    ]


def test_adapters_load_by_peft():
    lines = screen(plan_of("peft={r: 4}"), RUN.adapter)
    assert "LORA" in lines[0].upper() and "AutoPeftModelForCausalLM.from_pretrained" in lines[-1]


def test_a_resumed_run_says_from_where():
    lines = screen(plan_of(), progress=Progress(step=20, first_step=11))
    assert "Steps     20, from step 10, in 3 min 20 s" in lines


@pytest.mark.parametrize("override", ["script=train.py", "cluster.processes_per_node=1", "fsdp=null"])
def test_other_worlds_have_a_screen_too(override):
    assert len(screen(plan_of(override), progress=Progress())) == 4
