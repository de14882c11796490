"""A training that goes on from a checkpoint has the losses of one that was never interrupted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.train.test_losses import LORA, QLORA

pytestmark = pytest.mark.slow

STEPS, SAVED = 6, 4
QLORA_FSDP2 = {**QLORA, "kind": "FSDP2", "ranks": 2, "reduce_dtype": "bfloat16"}
CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "one": ({}, {}),
    "one-lora": ({"peft": LORA}, {}),
    "one-qlora": (QLORA, {}),
    "ddp": ({"kind": "DDP", "ranks": 2}, {}),
    "ddp-then-one": ({"kind": "DDP", "ranks": 2}, {"kind": "NO", "ranks": 1}),
    "fsdp2": ({"kind": "FSDP2", "ranks": 2}, {}),
    "fsdp2-lora": ({"kind": "FSDP2", "ranks": 2, "peft": LORA}, {}),
    "fsdp2-qlora": (QLORA_FSDP2, {}),
    "fsdp2-full-state-dict": (
        {"kind": "FSDP2", "ranks": 2, "fsdp": {"state_dict_type": "FULL_STATE_DICT"}},
        {},
    ),
    "fsdp2-2-then-4": ({"kind": "FSDP2", "ranks": 2}, {"ranks": 4}),
    "fsdp2-4-then-2": ({"kind": "FSDP2", "ranks": 4}, {"ranks": 2}),
    "fsdp2-then-offload": (
        {"kind": "FSDP2", "ranks": 2},
        {"ranks": 1, "fsdp": {"offload_params": True}},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_very_same_losses(name: str, bench: Any) -> None:
    before, changes = CASES[name]
    uninterrupted = {
        **before,
        "ranks": min(before.get("ranks", 1), 2),
        **({"fsdp": {}} if "fsdp" in before else {}),
    }
    whole = bench.once(bench.plan(**uninterrupted, training={"max_steps": STEPS}))
    saving = {"save_strategy": "steps", "save_steps": 2, "save_total_limit": 1}
    bench.train(f"resumed-{name}", bench.plan(**before, training={"max_steps": SAVED, **saving}))
    after = {**before, **changes, "training": {"max_steps": STEPS, **saving}}
    resumed = bench.train(f"resumed-{name}", bench.plan(**after), attempt=2)
    assert resumed.column("step", attempt=2) == [5, 6]
    assert resumed.column("loss", attempt=2) == pytest.approx(whole.column("loss")[SAVED:], abs=2e-6)
    assert resumed.column("grad_norm", attempt=2) == pytest.approx(
        whole.column("grad_norm")[SAVED:], rel=1e-4
    )
    assert [path.name for path in resumed.folder.checkpoints.iterdir()] == ["step-6"]


def test_sharded_checkpoints_of_fsdp1_are_refused(bench: Any) -> None:
    saving = {"save_strategy": "steps", "save_steps": 2}
    plan = bench.plan(kind="FSDP1", ranks=2, training=saving)
    saved = bench.train("fsdp1-sharded", plan)
    files = {path.name for path in saved.folder.checkpoint(2).iterdir()}
    assert {"pytorch_model_fsdp_0", "optimizer_0", "config.json", "tokenizer.json", "fsdpwiz.json"} <= files
    refused = bench.ranks.train(plan, saved.folder.root, attempt=2)
    assert [report["finding"]["code"] for report in refused.ranks] == ["I022", "I022"]
    assert saved.column("step", attempt=2) == []


EVALUATED = {
    "max_steps": 6,
    "learning_rate": 0.05,
    "eval_strategy": "steps",
    "eval_steps": 2,
    "save_strategy": "steps",
    "save_steps": 2,
    "save_total_limit": 1,
    "load_best_model_at_end": True,
    "metric_for_best_model": "eval_loss",
}


@pytest.mark.parametrize(
    "how",
    [{}, {"kind": "DDP", "ranks": 2}, {"kind": "FSDP2", "ranks": 2}, {"kind": "FSDP1", "ranks": 2}],
    ids=["one", "ddp", "fsdp2", "fsdp1"],
)
def test_the_best_model_is_kept_and_exported(how: dict[str, Any], bench: Any) -> None:
    name = f"best-{how.get('kind', 'one')}"
    plan = bench.plan(**how, data={"eval_split": "train[:8]"}, training=EVALUATED)
    outcome = bench.train(name, plan)
    losses = [line["eval_loss"] for line in outcome.metrics() if line["eval_loss"] is not None]
    assert len(losses) == 3
    best = 2 * (1 + losses.index(min(losses)))
    assert best == 2
    assert {path.name for path in outcome.folder.checkpoints.iterdir()} == {"step-2", "step-6"}
    state = json.loads((outcome.folder.checkpoint(6) / "trainer_state.json").read_text())
    assert state["best_model_checkpoint"] == str(outcome.folder.checkpoint(2))
    short = bench.train(f"{name}-short", bench.plan(**how, training={"learning_rate": 0.05, "max_steps": 2}))
    assert _weights(outcome.folder.model) == _weights(short.folder.model)


def _weights(model: Any) -> dict[str, bytes]:
    from safetensors import safe_open

    with safe_open(str(model / "model.safetensors"), framework="np") as file:
        return {name: file.get_tensor(name).tobytes() for name in file.keys()}  # noqa: SIM118
