"""Training throughput through `fsdpwiz run` against the same SFTTrainer script started by hand, steps only.

    python benchmarks/throughput.py [--pairs N] [--steps N] [--same-environment] [--write]

Both train the demo's model, cut to its first layers, on the demo's data, with the same Accelerate YAML and
training arguments: those that fsdpwiz renders. The two sides of a pair take turns in going first.
The time is from the end of the last warm-up step to the end of the last step. The bar: the median ratio
of steps per second is at least 0.98. Exits 1 where it is missed.

The stock script starts in the environment of whoever starts it by hand, with the threads of a rank that
fsdpwiz sets. `--same-environment` hands it everything that fsdpwiz sets for its ranks, glibc's allocator on
a CPU among it: what then differs is the trainer alone.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from demo import demo_model
from record import write_result

BAR = 0.98
LAYERS = 6
WARM_UP_STEPS = 2
RUN_TIMEOUT_S = 600
ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
WORK = ROOT / ".cache" / "benchmark"
RECIPE = ROOT / "recipes" / "smollm2-135m-sft.yaml"
DATA = ROOT / "recipes" / "data" / "python-docs-qa.jsonl"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument(
        "--same-environment", action="store_true", help="start the stock script with all that fsdpwiz sets"
    )
    parser.add_argument("--write", action="store_true", help="add the table to benchmarks/results")
    options = parser.parse_args()
    model = cut_model(WORK / "model")
    overrides = overrides_for(model, WARM_UP_STEPS + options.steps)
    stock_files = render(overrides)
    stock_files["handed"] = handed(stock_files, everything=options.same_environment)
    pairs = [run_pair(index, overrides, stock_files) for index in range(options.pairs)]
    table, ratio = tabulate(pairs, options.steps)
    print(table)
    if options.write:
        write_result("throughput-same-environment" if options.same_environment else "throughput", table)
    return 0 if ratio >= BAR else 1


def cut_model(folder: Path) -> Path:
    """The demo's model with its first LAYERS layers, made once."""
    if (folder / "model.safetensors").exists():
        return folder
    demo = demo_model()
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model: Any = AutoModelForCausalLM.from_pretrained(demo)
    model.model.layers = model.model.layers[:LAYERS]
    model.config.num_hidden_layers = LAYERS
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(demo).save_pretrained(folder)
    return folder


def overrides_for(model: Path, steps: int) -> list[str]:
    """What both sides train, as overrides of the demo's recipe."""
    return [
        f"model.name_or_path={model}",
        f"output_dir={WORK / 'runs'}",
        "data.eval_name_or_path=null",
        "sft.eval_strategy=no",
        "sft.eval_steps=null",
        "sft.max_length=128",
        "sft.per_device_train_batch_size=2",
        f"sft.max_steps={steps}",
    ]


def render(overrides: list[str]) -> dict[str, Any]:
    """The rendered files and settings, for the side that is started by hand."""
    command = [str(BIN / "fsdpwiz"), "render", str(RECIPE), *overrides, "--effective", "--json"]
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def run_pair(index: int, overrides: list[str], rendered: dict[str, Any]) -> tuple[float, float]:
    """Steps per second of (ours, stock); which runs first alternates."""
    sides = {"ours": lambda: run_ours(overrides), "stock": lambda: run_stock(rendered)}
    order = list(sides) if index % 2 == 0 else list(sides)[::-1]
    rates = {side: steps_per_second(sides[side]()) for side in order}
    print(f"pair {index + 1}: ours {rates['ours']:.4f}, stock {rates['stock']:.4f} steps/s", flush=True)
    return rates["ours"], rates["stock"]


def run_ours(overrides: list[str]) -> list[float]:
    """When each step of a `fsdpwiz run` ended, from its metrics."""
    shutil.rmtree(WORK / "runs", ignore_errors=True)
    command = [str(BIN / "fsdpwiz"), "run", str(RECIPE), *overrides, "--quiet"]
    subprocess.run(command, check=True, timeout=RUN_TIMEOUT_S, stdout=subprocess.DEVNULL)
    metrics = next((WORK / "runs").glob("*/*/metrics.jsonl"))
    records = [json.loads(line) for line in metrics.read_text(encoding="utf-8").splitlines()]
    return [record["time"] for record in records if record.get("step_s")]


def run_stock(rendered: dict[str, Any]) -> list[float]:
    """When each step of the stock script ended."""
    folder = WORK / "stock"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "accelerate.yaml").write_text(rendered["files"]["accelerate.yaml"], encoding="utf-8")
    settings = folder / "settings.json"
    settings.write_text(json.dumps(stock_settings(rendered, folder)), encoding="utf-8")
    command = [str(BIN / "accelerate"), "launch", "--config_file", str(folder / "accelerate.yaml")]
    command += ["--main_process_port", "0", str(Path(__file__).with_name("stock_train.py")), str(settings)]
    with (folder / "log.txt").open("w", encoding="utf-8") as log:
        subprocess.run(
            command,
            check=True,
            timeout=RUN_TIMEOUT_S,
            stdout=log,
            stderr=log,
            env={**os.environ, **rendered["handed"]},
        )
    return [float(line) for line in (folder / "times.txt").read_text(encoding="utf-8").split()]


def stock_settings(rendered: dict[str, Any], folder: Path) -> dict[str, Any]:
    """What the stock script is told."""
    plan = json.loads(rendered["files"]["plan.json"])
    return {
        "model": plan["model"]["name_or_path"],
        "data": str(DATA),
        "output": str(folder / "output"),
        "times": str(folder / "times.txt"),
        "arguments": {item["name"]: item["value"] for item in rendered["effective"]["training_arguments"]},
    }


def handed(rendered: dict[str, Any], *, everything: bool) -> dict[str, str]:
    """Variables for the stock script; without the threads of a rank the launcher would set them to one."""
    settings = {item["name"]: item["value"] for item in rendered["effective"]["environment"]}
    names = (
        ("OMP_NUM_THREADS", "GLIBC_TUNABLES", "TORCH_FR_BUFFER_SIZE") if everything else ("OMP_NUM_THREADS",)
    )
    return {name: settings[name] for name in names if name in settings}


def steps_per_second(times: list[float]) -> float:
    """Steps per second after the warm-up steps."""
    counted = times[WARM_UP_STEPS - 1 :]
    return (len(counted) - 1) / (counted[-1] - counted[0])


def tabulate(pairs: list[tuple[float, float]], steps: int) -> tuple[str, float]:
    """The table, and the median ratio."""
    ratios = [ours / stock for ours, stock in pairs]
    ratio = statistics.median(ratios)
    ours, stock = (statistics.median(side) for side in zip(*pairs, strict=True))
    table = "\n".join(
        [
            "| `fsdpwiz run`, steps/s | stock script, steps/s | ratio, median | lowest to highest | bar |",
            "| --- " * 5 + "|",
            f"| {ours:.4f} | {stock:.4f} | {ratio:.3f} | {min(ratios):.3f} to {max(ratios):.3f} "
            f"({len(pairs)} pairs of {steps} steps) | {BAR} |",
        ]
    )
    return table, ratio


if __name__ == "__main__":
    sys.exit(main())
