"""Micro batch, accumulation and global batch."""

from __future__ import annotations

from typing import Any

import pytest

from tests.plan.recipes import cpu, cuda, make_plan

MICRO, ACCUMULATION = "per_device_train_batch_size", "gradient_accumulation_steps"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"cluster": cpu(2)}, (8, 1, 16)),
        ({"cluster": cpu(2), "sft": {MICRO: 3, ACCUMULATION: 5}}, (3, 5, 30)),
        ({"cluster": cpu(2), "global_batch_size": 64, "sft": {MICRO: 2}}, (2, 16, 64)),
        ({"cluster": cuda(8, nodes=2), "global_batch_size": 64, "sft": {MICRO: 2}}, (2, 2, 64)),
        ({"cluster": cpu(2), "global_batch_size": 64}, (8, 4, 64)),
        ({"cluster": cpu(2), "global_batch_size": 22}, (1, 11, 22)),
        ({"cluster": cpu(2), "global_batch_size": 12}, (6, 1, 12)),
        ({"cluster": cpu(1), "global_batch_size": 4}, (4, 1, 4)),
        ({"cluster": cpu(4), "fsdp": None, "global_batch_size": 4}, (1, 1, 4)),
        ({"cluster": cuda(8), "parallelism": {"dp_replicate_size": 2}, "sft": {MICRO: 1}}, (1, 1, 8)),
        ({"cluster": cuda(8), "parallelism": {"cp_size": 4}, "sft": {MICRO: 1}}, (1, 1, 2)),
        (
            {"cluster": cuda(8), "parallelism": {"tp_size": 2}, "global_batch_size": 8, "sft": {MICRO: 1}},
            (1, 2, 8),
        ),
    ],
)
def test_batch(given: dict[str, Any], expected: tuple[int, int, int]) -> None:
    plan = make_plan(**given)
    assert (plan.batch.micro, plan.batch.accumulation, plan.batch.global_) == expected
    assert plan.training[MICRO] == plan.batch.micro
    assert plan.training[ACCUMULATION] == plan.batch.accumulation


def test_tokens_are_an_upper_bound() -> None:
    assert make_plan(cluster=cpu(2), sft={"max_length": 100, MICRO: 1}).batch.tokens_per_step == 200
    assert make_plan(cluster=cpu(2), sft={"max_length": None, MICRO: 1}).batch.tokens_per_step is None


def test_origins_say_what_was_solved() -> None:
    plan = make_plan(cluster=cpu(2), global_batch_size=64, sft={MICRO: 2})
    assert plan.origins["batch.micro"]["source"] == "recipe"
    assert plan.origins["batch.global"]["source"] == "recipe"
    assert plan.origins[f"sft.{ACCUMULATION}"] == plan.origins["batch.accumulation"]
    assert plan.origins["batch.accumulation"]["by"] == "global_batch_size"
