"""Go through the product on one GPU as a user would, in at most six minutes; every line also runs on a CPU.

    python scripts/gpu_check.py [--device cuda|cpu] [--work FOLDER]

Facts, validate, a run in a world of one, a run under FSDP2 on one rank, the same killed and resumed, export,
tokens/s and MFU. Needs no network: the model has random weights. Exits 1 at the first step that fails.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from fsdpwiz.facts.gpus import read_gpus
from fsdpwiz.facts.host import read_host

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
RECIPE = ROOT / "recipes" / "smollm2-135m-sft.yaml"
LIMIT_S = 360
STEP_TIMEOUT_S = 180
STEPS = 10
SAVE_STEPS = 3
LOSS_TOLERANCE = 2e-3
# Dense bf16 FLOP/s without sparsity, from the makers' data sheets, by a part of the card's name.
PEAK_FLOPS = {
    "B200": 2.25e15,
    "H200": 9.89e14,
    "H100": 9.89e14,
    "A100": 3.12e14,
    "L40S": 3.62e14,
    "4090": 1.65e14,
}


class CheckError(Exception):
    """A step did not do what it should."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Where and on what the check runs."""

    device: str
    work: Path

    @property
    def model(self) -> Path:
        return self.work / "model"

    @property
    def overrides(self) -> list[str]:
        """What every run has in common."""
        is_cpu = self.device == "cpu"
        return [
            f"model.name_or_path={self.model}",
            f"output_dir={self.work / 'runs'}",
            f"cluster.device={self.device}",
            "cluster.processes_per_node=1" if is_cpu else "cluster.gpus_per_node=1",
            "sft.eval_strategy=no",
            "sft.eval_steps=null",
            "data.eval_name_or_path=null",
            "sft.packing=true",
            f"sft.max_length={128 if is_cpu else 1024}",
            f"sft.per_device_train_batch_size={16 if is_cpu else 8}",
            f"sft.max_steps={STEPS}",
            "sft.learning_rate=1.0e-3",
            "sft.lr_scheduler_type=constant",
            "sft.save_strategy=steps",
            f"sft.save_steps={SAVE_STEPS}",
        ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--work", type=Path, default=ROOT / ".cache" / "gpu-check")
    options = parser.parse_args()
    setting = Setting(device=options.device, work=options.work.absolute())
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "0")
    shutil.rmtree(setting.work, ignore_errors=True)
    setting.work.mkdir(parents=True)
    start = time.monotonic()
    for number, (title, step) in enumerate(STEPS_IN_ORDER, start=1):
        begin = time.monotonic()
        try:
            said = step(setting)
        except (CheckError, subprocess.SubprocessError, OSError) as error:
            print(f"{number}/{len(STEPS_IN_ORDER)} {title}: FAILED\n{error}", flush=True)
            return 1
        print(
            f"{number}/{len(STEPS_IN_ORDER)} {title}: {said} ({time.monotonic() - begin:.0f} s)", flush=True
        )
    took_s = time.monotonic() - start
    print(f"all passed in {took_s:.0f} s (limit {LIMIT_S} s)")
    return 0 if took_s <= LIMIT_S else 1


def facts(setting: Setting) -> str:
    """What NVML says of the card, or the host's own cores and memory."""
    if setting.device == "cpu":
        host = read_host()
        return f"{host.cores} cores, {(host.memory_bytes or 0) / 1e9:.1f} GB"
    cards = read_gpus(os.environ).cards
    if not cards:
        raise CheckError("NVML lists no GPU")
    card = cards[0]
    return f"{card.name}, {card.memory_bytes / 1e9:.1f} GB, compute capability {card.compute_capability}"


def model(setting: Setting) -> str:
    size = "tiny" if setting.device == "cpu" else "large"
    call([sys.executable, str(ROOT / "scripts" / "small_model.py"), str(setting.model), size])
    return f"{parameters(setting.model) / 1e6:.1f} million parameters"


def validate(setting: Setting) -> str:
    document = fsdpwiz("validate", str(RECIPE), *setting.overrides)
    return f"{document['counts']['passed']} checks passed, {document['counts']['found']} findings"


def world_of_one(setting: Setting) -> str:
    """One rank without FSDP: the case of one card."""
    run = trained(setting, "one")
    plan = json.loads((run / "plan.json").read_text(encoding="utf-8"))
    expect(
        plan["world"]["distributed_type"] == "NO",
        f"a world of one ran as {plan['world']['distributed_type']}",
    )
    return f"loss {losses(run)[1]:.3f} to {losses(run)[STEPS]:.3f}"


def fsdp2(setting: Setting) -> str:
    """FSDP2 on one rank, under NCCL on a GPU."""
    run = trained(setting, "fsdp2", "fsdp.offload_params=true")
    plan = json.loads((run / "plan.json").read_text(encoding="utf-8"))
    expect(plan["world"]["distributed_type"] == "FSDP2", f"FSDP2 ran as {plan['world']['distributed_type']}")
    alone, sharded = losses(latest(setting, "one")), losses(run)
    compare("FSDP2 and a world of one", alone, sharded, tolerance=LOSS_TOLERANCE * 10)
    return f"loss {sharded[1]:.3f} to {sharded[STEPS]:.3f}, as without FSDP; {streamed_and_saved(run)}"


def streamed_and_saved(run: Path) -> str:
    """The shards were streamed into place, and saved beside the steps into a checkpoint with checksums."""
    plan = json.loads((run / "plan.json").read_text(encoding="utf-8"))
    chosen = (plan["model"]["loading"], plan["checkpoint"]["mode"])
    expect(chosen == ("streaming", "async"), f"the plan loads and saves by {chosen}")
    noticed = run / "attempts" / "1" / "findings.jsonl"
    expect(not noticed.exists(), noticed.read_text(encoding="utf-8") if noticed.exists() else "")
    checkpoints = sorted((run / "checkpoints").glob("step-*"))
    expect(bool(checkpoints), "there is no complete checkpoint")
    manifest = json.loads((checkpoints[-1] / "fsdpwiz.json").read_text(encoding="utf-8"))
    size_bytes = sum(file["bytes"] for file in manifest["files"].values())
    stalled_s = [record["save_stall_s"] for record in metrics(run) if record["save_stall_s"]]
    return (
        f"streamed; {len(stalled_s)} stalls by saves of {size_bytes / 1e6:.0f} MB, "
        f"{statistics.median(stalled_s):.2f} s in the median"
    )


def kill_and_resume(setting: Setting) -> str:
    """A run killed with SIGKILL behind a checkpoint and resumed has the losses of one that went through."""
    command = run_command(setting, "killed", "fsdp.offload_params=true")
    with (setting.work / "killed.log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
        killed_at = kill_behind_checkpoint(setting, process)
    run = latest(setting, "killed")
    fsdpwiz("run", "--resume", str(run))
    compare(
        "resumed and uninterrupted run",
        losses(latest(setting, "fsdp2")),
        losses(run),
        tolerance=LOSS_TOLERANCE,
    )
    return f"killed behind {killed_at}, the resumed losses are those of the uninterrupted run"


def export(setting: Setting) -> str:
    """The last checkpoint as a model that loads."""
    target = setting.work / "exported"
    fsdpwiz("export", str(latest(setting, "killed")), "--out", str(target))
    loads(target)
    return f"{sum(file.stat().st_size for file in target.iterdir()) / 1e6:.0f} MB that from_pretrained loads"


def speed(setting: Setting) -> str:
    """Tokens per second and model FLOP/s utilisation of the world of one."""
    tokens_per_s = statistics.median(record["tokens_per_s"] for record in metrics(latest(setting, "one"))[2:])
    peak, source = peak_flops(setting)
    utilisation = tokens_per_s * flops_per_token(setting) / peak
    return f"{tokens_per_s:.0f} tokens/s, MFU {utilisation:.1%} of {peak / 1e12:.2g} TFLOP/s ({source})"


STEPS_IN_ORDER: list[tuple[str, Callable[[Setting], str]]] = [
    ("facts", facts),
    ("model", model),
    ("validate", validate),
    ("run, a world of one", world_of_one),
    ("run, FSDP2 on one rank", fsdp2),
    ("kill and resume", kill_and_resume),
    ("export", export),
    ("speed", speed),
]


def trained(setting: Setting, name: str, *overrides: str) -> Path:
    """The folder of a run that trained and whose model loads."""
    call(run_command(setting, name, *overrides))
    run = latest(setting, name)
    loads(run / "model")
    return run


def run_command(setting: Setting, name: str, *overrides: str) -> list[str]:
    return [str(BIN / "fsdpwiz"), "run", str(RECIPE), *setting.overrides, f"name={name}", *overrides]


def latest(setting: Setting, name: str) -> Path:
    return max((setting.work / "runs" / name).iterdir())


def kill_behind_checkpoint(setting: Setting, process: subprocess.Popen[bytes]) -> str:
    """Wait for a complete checkpoint, then kill launcher and ranks; the checkpoint's name."""
    deadline = time.monotonic() + STEP_TIMEOUT_S
    while time.monotonic() < deadline:
        found = sorted((setting.work / "runs" / "killed").glob("*/checkpoints/step-*"))
        if found:
            for victim in [
                *psutil.Process(process.pid).children(recursive=True),
                psutil.Process(process.pid),
            ]:
                victim.kill()
            process.wait()
            return found[0].name
        if process.poll() is not None:
            raise CheckError(
                f"the run ended before a checkpoint: {(setting.work / 'killed.log').read_text()}"
            )
        time.sleep(0.01)
    process.kill()
    raise CheckError(f"no checkpoint within {STEP_TIMEOUT_S} s")


def fsdpwiz(*words: str) -> dict[str, Any]:
    """The document of a verb that must end with exit code 0."""
    document: dict[str, Any] = json.loads(call([str(BIN / "fsdpwiz"), *words, "--json"]))
    return document


def call(command: list[str]) -> str:
    result = subprocess.run(command, capture_output=True, text=True, timeout=STEP_TIMEOUT_S, check=False)
    if result.returncode:
        raise CheckError(
            f"{' '.join(command)}\nexit code {result.returncode}\n{result.stdout}\n{result.stderr}"
        )
    return result.stdout


def loads(folder: Path) -> None:
    """Load a model in a process of its own, strictly."""
    code = (
        "import sys; from transformers import AutoModelForCausalLM, AutoTokenizer; folder = sys.argv[1]; "
        "_, info = AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True); "
        "assert not info['missing_keys'] and not info['unexpected_keys'], info; "
        "assert AutoTokenizer.from_pretrained(folder).chat_template"
    )
    call([sys.executable, "-c", code, str(folder)])


def metrics(run: Path) -> list[dict[str, Any]]:
    """The records of steps, of the last attempt that made each."""
    lines = (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    by_step = {record["step"]: record for record in map(json.loads, lines) if record.get("step_s")}
    return [by_step[step] for step in sorted(by_step)]


def losses(run: Path) -> dict[int, float]:
    return {record["step"]: record["loss"] for record in metrics(run)}


def compare(what: str, one: dict[int, float], other: dict[int, float], *, tolerance: float) -> None:
    expect(
        sorted(one) == sorted(other) == list(range(1, STEPS + 1)),
        f"{what}: steps {sorted(one)}, {sorted(other)}",
    )
    for step, loss in one.items():
        close = math.isclose(loss, other[step], rel_tol=tolerance)
        expect(close, f"{what}: step {step} has losses {loss} and {other[step]}")


def expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise CheckError(otherwise)


def parameters(folder: Path) -> int:
    """The number of a model's parameters, from the headers of its files."""
    from safetensors import safe_open

    total = 0
    for file in folder.glob("*.safetensors"):
        with safe_open(file, framework="np") as weights:
            total += sum(math.prod(weights.get_slice(name).get_shape()) for name in weights.keys())  # noqa: SIM118
    return total


def flops_per_token(setting: Setting) -> float:
    """Forward and backward: 6 per parameter, and 12 x layers x hidden x sequence for attention."""
    config = json.loads((setting.model / "config.json").read_text(encoding="utf-8"))
    sequence = 128 if setting.device == "cpu" else 1024
    attention = 12 * config["num_hidden_layers"] * config["hidden_size"] * sequence
    return 6 * parameters(setting.model) + attention


def peak_flops(setting: Setting) -> tuple[float, str]:
    """The card's dense bf16 FLOP/s by its data sheet; where it is not known, what a large product reaches."""
    if setting.device == "cuda":
        name = read_gpus(os.environ).cards[0].name
        known = [peak for part, peak in PEAK_FLOPS.items() if part in name]
        if known:
            return known[0], "data sheet"
    code = (
        "import sys, time, torch; device = sys.argv[1]; size = 1024 if device == 'cpu' else 8192; "
        "dtype = torch.float32 if device == 'cpu' else torch.bfloat16; "
        "a = torch.randn(size, size, device=device, dtype=dtype); wait = getattr(torch, device).synchronize; "
        "[a @ a for _ in range(3)]; wait(); start = time.perf_counter(); [a @ a for _ in range(10)]; wait(); "
        "print(10 * 2 * size ** 3 / (time.perf_counter() - start))"
    )
    return float(call([sys.executable, "-c", code, setting.device])), "measured product"


if __name__ == "__main__":
    sys.exit(main())
