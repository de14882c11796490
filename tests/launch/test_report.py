"""The last screen of a run."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from fsdpwiz.launch.follow import Breakdown, Progress
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


STEPS = Breakdown(steps=10, tokens=10_000, step_s=20.0, data_s=1.0, optimizer_s=3.0, save_stall_s=0.25)


def test_where_the_time_went():
    lines = screen(plan_of(), progress=Progress(step=20, breakdown=STEPS))
    parts = "forward and backward 80 %, optimizer 15 %, waiting for data 5 %"
    assert f"Step time {parts}; saves held training up for 0.2 s in all" in lines
    saved = replace(STEPS, save_stall_s=200.0)
    assert screen(plan_of(), progress=Progress(step=20, breakdown=saved))[3].endswith("3 min 20 s in all")
    unsaved = replace(STEPS, save_stall_s=0.0)
    assert f"Step time {parts}" in screen(plan_of(), progress=Progress(step=20, breakdown=unsaved))


GPUS = ("cluster={device: cuda, nodes: 1, gpus_per_node: 4, gpu: A100-80GB}", "mixed_precision=bf16")
LLAMA_7B = {
    "num_hidden_layers": 32,
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "vocab_size": 32000,
    "tie_word_embeddings": False,
}


def exported(tmp_path, config, parameters=6_738_415_616):
    run = RunFolder(tmp_path)
    run.attempt(1).folder.mkdir(parents=True)
    run.attempt(1).export.write_text(json.dumps({"parameters": parameters}))
    run.model.mkdir()
    (run.model / "config.json").write_text(json.dumps(config))
    return run


def speed(run, *overrides, batch=32):
    """The article's: 3158.7 tokens/s on each of four cards, batches of 32 sequences of 4,096."""
    plan = plan_of(*GPUS, f"sft.per_device_train_batch_size={batch // 4}", *overrides)
    steps = Breakdown(steps=1, tokens=batch * 4096, step_s=batch * 4096 / (4 * 3158.7))
    progress = Progress(step=20, tokens_per_s=4 * 3158.7, breakdown=steps)
    outcome = Outcome(state="finished", exit_code=0, seconds=200, progress=progress)
    return next(line for line in report(plan, run, outcome).splitlines() if line.startswith("Speed"))


def test_tokens_per_gpu_and_mfu(tmp_path):
    """0.41 of the peak without attention and with the embedding, as that article counts."""
    run = exported(tmp_path, LLAMA_7B)
    linear, attention = 6 * (6_738_415_616 - 32000 * 4096), 6 * 32 * 4096 * 4096
    expected = (linear + attention) * 3158.7 / 312e12
    assert expected == pytest.approx(0.434, abs=0.001)
    assert speed(run) == "Speed     12,635 tokens/s (3,159 per GPU), MFU 0.43"


def test_what_mfu_counts(tmp_path):
    run = exported(tmp_path, LLAMA_7B)
    assert speed(run, "sft.packing=true").endswith("MFU 0.40")
    assert speed(run, "peft={r: 4}").endswith("MFU 0.30")


@pytest.mark.parametrize(
    ("config", "overrides"),
    [
        ({**LLAMA_7B, "num_local_experts": 8}, ()),
        ({"hidden_size": 4096}, ()),
        ([], ()),
        (LLAMA_7B, ("mixed_precision=no",)),
        (LLAMA_7B, ("cluster.gpu=null", "cluster.gpu_memory_gb=80")),
        (LLAMA_7B, ("cluster={device: cpu, nodes: 1, processes_per_node: 4}", "mixed_precision=bf16")),
    ],
)
def test_no_mfu_where_something_is_not_known(config, overrides, tmp_path):
    assert "MFU" not in speed(exported(tmp_path, config), *overrides)


def test_no_mfu_of_a_run_without_a_model(tmp_path):
    assert "MFU" not in speed(RunFolder(tmp_path))
