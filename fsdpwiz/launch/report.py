"""The one screen at a run's end: what was trained, how it went, where the model is."""

from __future__ import annotations

from pathlib import Path

from fsdpwiz.core.units import format_seconds
from fsdpwiz.launch.display import rate
from fsdpwiz.launch.follow import Breakdown, Progress
from fsdpwiz.launch.local import Outcome
from fsdpwiz.launch.utilisation import utilisation
from fsdpwiz.plan.types import Plan
from fsdpwiz.runs.layout import RunFolder
from fsdpwiz.runs.state import last_attempt

_WIDTH = 10


def report(plan: Plan, run: RunFolder, outcome: Outcome) -> str:
    """Aligned lines; what is not known is left out."""
    rows = [
        ("Trained", _subject(plan)),
        ("World", _world(plan)),
        ("Steps", _steps(outcome)),
        ("Loss", _loss(outcome.progress)),
        ("Speed", _speed(plan, run, outcome.progress)),
        ("Step time", _parts(outcome.progress.breakdown)),
        ("Run", str(run.root)),
    ]
    if outcome.model is not None:
        rows.append(("Model", str(outcome.model)))
        rows.append(("Pushed", outcome.pushed or ""))
        rows += zip(("Load it", ""), _loading(outcome.model, run), strict=True)
    return "\n".join(f"{name:<{_WIDTH}}{text}" for name, text in rows if text)


def _subject(plan: Plan) -> str:
    if plan.script is not None:
        return f"`{plan.script}`, a script of your own"
    adapters = f", {plan.peft.get('peft_type', 'LoRA')}" if plan.peft is not None else ""
    quantised = " on a quantised base" if plan.quantization is not None else ""
    return f"{plan.model.name_or_path} on {plan.data.name_or_path} by {plan.method}{adapters}{quantised}"


def _world(plan: Plan) -> str:
    world = plan.world
    nodes = f" on {world.nodes} nodes" if world.nodes > 1 else ""
    count = "1 process" if world.world_size == 1 else f"{world.world_size} processes"
    kind = "" if world.distributed_type == "NO" else f", {world.distributed_type}"
    return f"{count} ({world.device}){nodes}{kind}, precision {plan.precision}"


def _steps(outcome: Outcome) -> str:
    progress = outcome.progress
    if progress.step is None:
        return f"in {format_seconds(outcome.seconds)}"
    begun = (progress.first_step or 1) - 1
    after = f", from step {begun}" if begun > 0 else ""
    return f"{progress.step}{after}, in {format_seconds(outcome.seconds)}"


def _loss(progress: Progress) -> str:
    if progress.loss is None:
        return ""
    if progress.first_loss is None or progress.first_loss == progress.loss:
        return f"{progress.loss:.4g}"
    return f"{progress.first_loss:.4g} at first, {progress.loss:.4g} at last"


def _speed(plan: Plan, run: RunFolder, progress: Progress) -> str:
    parts = []
    if progress.tokens_per_s is not None:
        cards = plan.world.world_size if plan.world.device == "cuda" else 1
        each = f" ({rate(progress.tokens_per_s / cards)} per GPU)" if cards > 1 else ""
        parts.append(f"{rate(progress.tokens_per_s)} tokens/s{each}")
    if progress.step_s is not None:
        parts.append(f"{progress.step_s:.3g} s a step")
    if progress.breakdown is not None:
        share = utilisation(plan, run, last_attempt(run), progress.breakdown)
        parts += [f"MFU {share:.2f}"] if share is not None else []
    return ", ".join(parts)


def _parts(breakdown: Breakdown | None) -> str:
    """Where the time of a step went; what saves added is told in seconds, for it is no part of it."""
    if breakdown is None or not breakdown.step_s:
        return ""
    computing_s = max(breakdown.step_s - breakdown.data_s - breakdown.optimizer_s, 0.0)
    parts = [
        f"{name} {100 * seconds / breakdown.step_s:.0f} %"
        for name, seconds in (
            ("forward and backward", computing_s),
            ("optimizer", breakdown.optimizer_s),
            ("waiting for data", breakdown.data_s),
        )
    ]
    stall_s = breakdown.save_stall_s
    held = f"{stall_s:.1f} s" if stall_s < 10 else format_seconds(stall_s)
    return ", ".join(parts) + (f"; saves held training up for {held} in all" if stall_s >= 0.05 else "")


def _loading(model: Path, run: RunFolder) -> tuple[str, str]:
    if model == run.adapter:
        return (
            "from peft import AutoPeftModelForCausalLM",
            f"model = AutoPeftModelForCausalLM.from_pretrained({str(model)!r})",
        )
    return (
        "from transformers import AutoModelForCausalLM",
        f"model = AutoModelForCausalLM.from_pretrained({str(model)!r})",
    )
