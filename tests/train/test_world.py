"""A launch that went wrong stops before the first step, and says what is wrong."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.slow


def refusal(bench: Any, name: str, plan: Any, launched_as: Any) -> list[str]:
    """Train `plan` in the world that `launched_as` would get; the message of each rank."""
    outcome = bench.ranks.train(plan, bench.root / name, launched_as=launched_as)
    findings = [report["finding"] for report in outcome.ranks]
    assert [finding["code"] for finding in findings] == ["P010"] * len(findings)
    assert [finding["rank"] for finding in findings] == list(range(len(findings)))
    assert not outcome.folder.metrics.exists()
    assert not outcome.folder.model.exists()
    return [finding["message"] for finding in findings]


def test_plain_ddp_in_place_of_fsdp(bench: Any) -> None:
    plan = bench.plan(kind="FSDP2", ranks=2)
    messages = refusal(bench, "ddp-for-fsdp2", plan, bench.plan(kind="DDP", ranks=2))
    assert "distributed type: planned FSDP2, found DDP" in messages[1]


def test_the_other_version_of_fsdp(bench: Any) -> None:
    plan = bench.plan(kind="FSDP2", ranks=2)
    messages = refusal(bench, "fsdp1-for-fsdp2", plan, bench.plan(kind="FSDP1", ranks=2))
    assert "planned FSDP2, found FSDP1" in messages[0]


def test_nothing_wrapped(bench: Any) -> None:
    plan = bench.plan(kind="FSDP2", ranks=2)
    unwrapped = bench.plan(kind="FSDP2", ranks=2, fsdp={"auto_wrap_policy": "NO_WRAP"})
    messages = refusal(bench, "no-wrap", plan, unwrapped)
    assert "wrapped units (LlamaDecoderLayer): planned 3, found 0" in messages[0]


def test_another_strategy(bench: Any) -> None:
    plan = bench.plan(kind="FSDP1", ranks=2, fsdp={"sharding_strategy": "SHARD_GRAD_OP"})
    messages = refusal(bench, "strategy", plan, bench.plan(kind="FSDP1", ranks=2))
    assert "sharding strategy: planned SHARD_GRAD_OP, found FULL_SHARD" in messages[0]


def test_another_mesh(bench: Any) -> None:
    hybrid = {"dp_replicate": 2, "dp_shard": 1}
    plan = bench.plan(kind="FSDP2", ranks=2, mesh=hybrid)
    messages = refusal(bench, "mesh", plan, bench.plan(kind="FSDP2", ranks=2))
    assert "shards of a parameter: planned 1, found [2]" in messages[0]


def test_another_dtype(bench: Any) -> None:
    plan = bench.plan(kind="FSDP2", ranks=2, model={"trainable_dtype": "bfloat16"})
    aligned = bench.plan(kind="FSDP2", ranks=2, mixed_precision="bf16")
    messages = refusal(bench, "dtype", plan, aligned)
    assert "dtype of trainable parameters: planned bfloat16, found float32" in messages[0]
