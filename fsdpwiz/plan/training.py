"""The method's section: what is given, and the values that decide a run's numbers, pinned."""

from __future__ import annotations

from typing import Any

from fsdpwiz.facts.types import Model
from fsdpwiz.methods.method import Method
from fsdpwiz.plan.choices import OURS, Choices
from fsdpwiz.plan.packing import decide_packing
from fsdpwiz.plan.types import DistributedType

PINNED = (
    "per_device_train_batch_size",
    "per_device_eval_batch_size",
    "num_train_epochs",
    "max_steps",
    "learning_rate",
    "lr_scheduler_type",
    "warmup_steps",
    "optim",
    "weight_decay",
    "adam_beta1",
    "adam_beta2",
    "adam_epsilon",
    "max_grad_norm",
    "average_tokens_across_devices",
    "seed",
    "max_length",
    "packing",
    "packing_strategy",
    "padding_free",
    "loss_type",
    "dataloader_num_workers",
    "dataloader_drop_last",
    "logging_steps",
    "logging_strategy",
    "save_strategy",
    "save_steps",
    "save_total_limit",
    "eval_strategy",
)

OWNED_ELSEWHERE = frozenset(
    {
        "bf16",
        "fp16",
        "fsdp",
        "fsdp_config",
        "parallelism_config",
        "gradient_checkpointing",
        "activation_checkpointing",
        "model_init_kwargs",
        "output_dir",
        "ddp_timeout",
        "deepspeed",
        "use_cpu",
    }
)


def decide_training(
    choices: Choices, method: Method, kind: DistributedType, mixed_precision: str, model: Model | None
) -> dict[str, Any]:
    """The method's keys, without the batch, which is solved apart."""
    section = method.section
    given = dict(choices.given(section) or {})
    training: dict[str, Any] = {}
    for name in given:
        if name not in OWNED_ELSEWHERE:
            training[name] = choices.choose(f"{section}.{name}", None, null_is_value=True)
    _evaluation(choices, section, training)
    training |= decide_packing(choices, model, section)
    for name, (default, by) in _pinned_defaults(choices, section).items():
        if name not in training:
            training[name] = choices.record(f"{section}.{name}", default, "default", by)
    if "report_to" not in training:
        training["report_to"] = choices.record(f"{section}.report_to", "none", "default", OURS)
    for name, value in (("bf16", mixed_precision == "bf16"), ("fp16", mixed_precision == "fp16")):
        training[name] = choices.derive(f"{section}.{name}", value, "mixed_precision")
    training["gradient_checkpointing"] = _gradient_checkpointing(choices, section, kind)
    return training


def _pinned_defaults(choices: Choices, section: str) -> dict[str, tuple[Any, str]]:
    known = {name: choices.upstream_default(section, name) for name in PINNED}
    return {name: default for name, default in known.items() if default is not None}


def _evaluation(choices: Choices, section: str, training: dict[str, Any]) -> None:
    """Evaluation data that nothing would ever read is evaluated at the end of every epoch."""
    evaluates = choices.is_given("data.eval_split") or choices.is_given("data.eval_name_or_path")
    if evaluates and "eval_strategy" not in training:
        training["eval_strategy"] = choices.derive(f"{section}.eval_strategy", "epoch", "the evaluation data")


def _gradient_checkpointing(choices: Choices, section: str, kind: DistributedType) -> bool:
    """The Trainer's own checkpointing: off under FSDP, which does it itself."""
    key = f"{section}.gradient_checkpointing"
    if kind in ("FSDP1", "FSDP2"):
        return bool(choices.derive(key, False, "fsdp.activation_checkpointing"))
    if choices.given("fsdp") is not None or not choices.recipe.has("fsdp"):
        wanted = choices.given("fsdp.activation_checkpointing")
        return bool(choices.derive(key, True if wanted is None else wanted, "fsdp.activation_checkpointing"))
    for name in ("activation_checkpointing", "gradient_checkpointing"):
        if choices.is_given(f"{section}.{name}"):
            value = choices.choose(f"{section}.{name}", None)
            return bool(choices.carry(key, value, f"{section}.{name}"))
    return bool(choices.record(key, True, "default", choices.library("trl")))
