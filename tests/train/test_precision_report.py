"""Which dtypes a training really has is looked at, written down, and compared with the plan."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fsdpwiz.train.precision_report import planned
from tests.train import plans
from tests.train.export.pool import Pool
from tests.train.test_losses import ALIGNED, LORA, LORA_BF16, QLORA

pytestmark = pytest.mark.slow

F32, BF16 = ["float32"], ["bfloat16"]
TWO: dict[str, Any] = {"ranks": 2, "training": {"max_steps": 1}}
ONE: dict[str, Any] = {"training": {"max_steps": 1}}
CONSTRAINED: dict[str, Any] = {
    "precision": "memory_constrained",
    "model": {"dtype": "bfloat16", "trainable_dtype": "bfloat16"},
}


def document(outcome: Any) -> dict[str, Any]:
    return json.loads(outcome.folder.attempt(1).precision.read_text(encoding="utf-8"))


# What is trained and how, the mode; trainable, frozen, compute, reduction, gradients, optimizer.
CASES: dict[str, tuple[dict[str, Any], str, tuple[list[str], ...]]] = {
    "fsdp2": ({"kind": "FSDP2", **TWO}, "float32", (F32, [], F32, F32, F32, F32)),
    "fsdp2-aligned": (
        {"kind": "FSDP2", **TWO, **ALIGNED, "reduce_dtype": "bfloat16"},
        "aligned",
        (F32, [], BF16, BF16, F32, F32),
    ),
    "fsdp2-aligned-reduced-in-fp32": (
        {"kind": "FSDP2", **TWO, **ALIGNED, "reduce_dtype": "float32"},
        "aligned",
        (F32, [], BF16, F32, F32, F32),
    ),
    "fsdp2-memory-constrained": (
        {"kind": "FSDP2", **TWO, **CONSTRAINED},
        "memory_constrained",
        (BF16, [], BF16, BF16, BF16, BF16),
    ),
    "fsdp2-lora": (
        {"kind": "FSDP2", **TWO, **LORA_BF16, "reduce_dtype": "bfloat16"},
        "aligned",
        (F32, BF16, BF16, BF16, F32, F32),
    ),
    "fsdp2-qlora": (
        {"kind": "FSDP2", **TWO, **QLORA, "reduce_dtype": "bfloat16"},
        "quantised",
        (BF16, BF16, BF16, BF16, BF16, BF16),
    ),
    "fsdp1": ({"kind": "FSDP1", **TWO}, "float32", (F32, [], F32, F32, F32, F32)),
    "fsdp1-aligned": (
        {"kind": "FSDP1", **TWO, **ALIGNED, "reduce_dtype": "float32"},
        "aligned",
        (F32, [], BF16, F32, F32, F32),
    ),
    "fsdp1-memory-constrained": (
        {"kind": "FSDP1", **TWO, **CONSTRAINED},
        "memory_constrained",
        (BF16, [], BF16, BF16, BF16, BF16),
    ),
    "fsdp1-lora": (
        {"kind": "FSDP1", **TWO, **LORA_BF16, "reduce_dtype": "bfloat16"},
        "aligned",
        (F32, BF16, BF16, BF16, F32, F32),
    ),
    "fsdp1-qlora": (
        {"kind": "FSDP1", **TWO, **QLORA, "reduce_dtype": "bfloat16"},
        "quantised",
        (BF16, BF16, BF16, BF16, BF16, BF16),
    ),
    "ddp-aligned": ({"kind": "DDP", **TWO, **ALIGNED}, "aligned", (F32, [], BF16, F32, F32, F32)),
    "one-memory-constrained": (
        {**ONE, **CONSTRAINED},
        "memory_constrained",
        (BF16, [], BF16, [], BF16, BF16),
    ),
    "one-lora": ({**ONE, "peft": LORA}, "float32", (F32, F32, F32, [], F32, F32)),
}


@pytest.mark.parametrize("name", CASES)
def test_what_was_found_is_written(name: str, bench: Any) -> None:
    how, mode, expected = CASES[name]
    plan = bench.plan(**how)
    found = document(bench.train(f"precision-{name}", plan))
    parts = ("trainable", "frozen", "compute", "reduction", "gradients", "optimizer")
    assert found["found"] == dict(zip(parts, expected, strict=True))
    assert (found["schema"], found["precision"], found["planned"]) == (1, mode, planned(plan))


def test_an_optimizer_with_wider_states_is_no_contradiction(bench: Any) -> None:
    plan = bench.plan(**CONSTRAINED, training={"max_steps": 1, "optim": "adafactor"})
    assert document(bench.train("precision-adafactor", plan))["found"]["optimizer"] == F32


def test_a_computation_in_another_dtype_stops_every_rank(bench: Any) -> None:
    plan = bench.plan(kind="FSDP2", ranks=2, **ALIGNED, training={"bf16": False})
    full = bench.plan(kind="FSDP2", ranks=2)
    outcome = bench.ranks.train(plan, bench.root / "precision-compute", launched_as=full)
    for rank, report in enumerate(outcome.ranks):
        finding = report["finding"]
        assert (finding["code"], finding["rank"]) == ("P018", rank)
        assert "dtype of the computation: planned bfloat16, found float32" in finding["message"]
        assert "dtype that gradients are summed in: planned bfloat16" in finding["message"]
    assert not outcome.folder.metrics.exists()
    assert document(outcome)["found"]["optimizer"] is None


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    ranks = Pool()
    yield ranks
    ranks.close()


class Prepared:
    """As much of a trainer as is looked at."""

    def __init__(self, model: Any, optimizer: Any) -> None:
        from accelerate import Accelerator

        self.model = self.model_wrapped = model
        self.optimizer = optimizer
        self.accelerator = Accelerator(cpu=True)


def contradicted(folder: Path, spoil: str) -> dict[str, Any]:
    """A rank whose model is sharded by hand, with one dtype that is not planned; what the report says."""
    import torch
    import torch.distributed as dist
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    from fsdpwiz.core.errors import FsdpwizError
    from fsdpwiz.train.precision_report import PrecisionReport

    dist.init_process_group("gloo")
    reduce_dtype = torch.bfloat16 if spoil == "reduction" else torch.float32
    model = torch.nn.Linear(8, 8)
    fully_shard(model, mp_policy=MixedPrecisionPolicy(reduce_dtype=reduce_dtype))
    optimizer = torch.optim.AdamW(model.parameters())
    plan = plans.make_plan(Path("model"), Path("rows.jsonl"), kind="FSDP2", ranks=2, reduce_dtype="float32")
    report = PrecisionReport(Prepared(model, optimizer), plan, folder / "precision.json")
    stage = "prepared"
    try:
        report.prepared()
        stage = "stepped"
        model(torch.ones(2, 8)).sum().backward()
        report.before_step()
        optimizer.step()
        if spoil == "optimizer" and dist.get_rank() == 1:
            for state in optimizer.state.values():
                state["exp_avg_sq"] = state["exp_avg_sq"].bfloat16()
        report.after_step()
    except FsdpwizError as error:
        return {"stage": stage, **error.findings[0].to_json()}
    return {"stage": "trained"}


@pytest.mark.parametrize(
    ("spoil", "stage", "said"),
    [
        ("nothing", "trained", None),
        ("reduction", "prepared", "summed in: planned float32, found bfloat16"),
        ("optimizer", "stepped", "optimizer states: planned float32, found bfloat16"),
    ],
)
def test_a_contradiction_is_a_finding_on_every_rank(
    spoil: str, stage: str, said: str | None, pool: Pool, tmp_path: Path
) -> None:
    """Also where only one rank has met it: none goes on alone."""
    for report in pool.run(contradicted, 2, folder=tmp_path, spoil=spoil):
        assert report["stage"] == stage
        if said is not None:
            assert report["code"] == "P018" and said in report["message"]


LOW_RATE, STEPS = 1e-6, 40


def test_at_a_low_learning_rate_16_bits_stall(bench: Any) -> None:
    """Article 3: updates below half a weight's rounding are lost; float32 masters keep them."""
    sharded = {"kind": "FSDP2", "ranks": 2}
    alone, aligned, constrained = (
        _evaluated(bench, name, LOW_RATE, how)
        for name, how in (
            ("float32", {}),
            ("aligned", {**sharded, **ALIGNED}),
            ("constrained", {**sharded, **CONSTRAINED}),
        )
    )
    assert aligned.losses == pytest.approx(alone.losses, abs=5e-4)
    assert alone.fallen > 0.005
    assert aligned.fallen == pytest.approx(alone.fallen, rel=0.05)
    assert constrained.fallen < 0.1 * alone.fallen
    assert aligned.moved == pytest.approx(alone.moved, abs=0.01)
    assert constrained.moved < 0.05 * alone.moved


def test_at_a_high_learning_rate_16_bits_learn(bench: Any) -> None:
    """The stall is no fault of the training: greater updates survive the rounding."""
    how = {"kind": "FSDP2", "ranks": 2, **CONSTRAINED}
    assert _evaluated(bench, "constrained", 1e-3, how).fallen > 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """Evaluation losses of a training, and the share of the weights that it changed."""

    losses: list[float]
    moved: float

    @property
    def fallen(self) -> float:
        return self.losses[0] - self.losses[-1]


def _evaluated(bench: Any, name: str, rate: float, how: dict[str, Any]) -> Evaluated:
    training = {"max_steps": STEPS, "learning_rate": rate, "eval_strategy": "steps", "eval_steps": STEPS // 4}
    plan = bench.plan(**how, training=training, data={"eval_split": "train[:16]"})
    outcome = bench.train(f"stall-{name}-{rate}", plan)
    losses = [line["eval_loss"] for line in outcome.metrics() if line["eval_loss"] is not None]
    return Evaluated(losses=losses, moved=_moved(bench.model, outcome.folder.model, plan.model.dtype))


def _moved(before: Path, after: Path, dtype: str) -> float:
    """The share of the weights that differ between two model folders, trained in `dtype`."""
    import torch
    from safetensors.torch import load_file

    begin, end = (load_file(folder / "model.safetensors") for folder in (before, after))
    moved = sum(
        int((tensor.to(getattr(torch, dtype)) != end[name].to(getattr(torch, dtype))).sum())
        for name, tensor in begin.items()
    )
    return moved / sum(tensor.numel() for tensor in begin.values())
