"""Legal keys and values that no part obeys yet, one row each; a row goes when its part comes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class NotObeyed:
    """A dotted key, whether a given value of it is one that is not obeyed, and why or what to do instead."""

    key: str
    applies: Callable[[Any], bool]
    reason: str


def _given(value: Any) -> bool:
    return value is not None


def _true(value: Any) -> bool:
    return value is True


def _is(*values: Any) -> Callable[[Any], bool]:
    return lambda value: value in values


def _above_one(value: Any) -> bool:
    return isinstance(value, int) and value > 1


def _not_default_initialisation(value: Any) -> bool:
    return value not in (None, True, "gaussian", "default")


def _filled(value: Any) -> bool:
    return bool(value)


_MERGE = "the export cannot merge such an adapter yet"
_AXIS = "only the data axes `dp_replicate_size` and `dp_shard_size` are built"

ROWS: tuple[NotObeyed, ...] = (
    NotObeyed(
        "model.loading", _is("streaming"), "streaming loads are not built yet; `rank0` or `every_rank` work"
    ),
    NotObeyed("checkpoint.mode", _is("async"), "asynchronous checkpoints are not built yet; `sync` works"),
    NotObeyed("checkpoint.staging_gb", _given, "only asynchronous checkpoints have a staging buffer"),
    NotObeyed(
        "launcher", _is("slurm"), "the Slurm launcher is not built yet; `launcher: local` on each node works"
    ),
    NotObeyed("parallelism.tp_size", _above_one, _AXIS),
    NotObeyed("parallelism.cp_size", _above_one, _AXIS),
    NotObeyed("parallelism.sp_size", _above_one, _AXIS),
    NotObeyed("peft.use_dora", _true, _MERGE),
    NotObeyed("peft.init_lora_weights", _not_default_initialisation, _MERGE),
    NotObeyed("peft.trainable_token_indices", _filled, _MERGE),
    NotObeyed("peft.layer_replication", _filled, _MERGE),
    NotObeyed("peft.megatron_config", _given, "Megatron layers are not built"),
    NotObeyed("peft.loftq_config", _filled, _MERGE),
    NotObeyed("peft.eva_config", _given, _MERGE),
    NotObeyed("peft.corda_config", _given, _MERGE),
    NotObeyed("peft.arrow_config", _given, _MERGE),
    NotObeyed("peft.use_qalora", _true, _MERGE),
    NotObeyed("quantization.load_in_8bit", _true, "8-bit weights cannot be sharded; `load_in_4bit` works"),
)


def with_rows(given: Mapping[str, Any]) -> tuple[tuple[NotObeyed, Any], ...]:
    """The rows that apply to nested given values, with the value."""
    found = ((row, _value(given, row.key)) for row in ROWS)
    return tuple((row, value) for row, value in found if row.applies(value))


def _value(given: Mapping[str, Any], key: str) -> Any:
    node: Any = given
    for part in key.split("."):
        node = node.get(part) if isinstance(node, Mapping) else None
    return node
