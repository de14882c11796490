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


def _not(*values: Any) -> Callable[[Any], bool]:
    return lambda value: value is not None and value not in values


def _above_one(value: Any) -> bool:
    return isinstance(value, int) and value > 1


def _changes_base(value: Any) -> bool:
    """Whether PEFT takes part of the base weights into such an adapter, or wants data for it first."""
    names = ("pissa", "olora", "corda", "loftq", "lora_ga", "eva")
    return isinstance(value, str) and value.startswith(names)


def _filled(value: Any) -> bool:
    return bool(value)


_MERGE = "the export cannot merge such an adapter"
_INITIAL = "it changes the base weights or needs data first, so the export cannot merge the adapter"
_AXIS = "only the data axes `dp_replicate_size` and `dp_shard_size` are built"
_PUSHED = "only the verified model is pushed, once, at the end"
_UNREAD = "the trainer does not read it"

_UNMERGEABLE = (
    "alora_invocation_tokens", "arrow_config", "layer_replication", "monteclora_config", "target_parameters",
    "trainable_token_indices", "use_bdlora", "use_qalora", "kasa_config", "velora_config",
)  # fmt: skip

ROWS: tuple[NotObeyed, ...] = (
    NotObeyed("launcher", _is("slurm"), "the Slurm launcher is not built; `local` on each node works"),
    *(NotObeyed(f"parallelism.{axis}_size", _above_one, _AXIS) for axis in ("tp", "cp", "sp")),
    NotObeyed("peft.peft_type", _not("LORA"), "only LoRA is built"),
    NotObeyed("peft.task_type", _not("CAUSAL_LM"), "only causal language models are trained"),
    NotObeyed("peft.inference_mode", _true, "nothing would be trained"),
    NotObeyed("peft.init_lora_weights", _changes_base, _INITIAL),
    NotObeyed("peft.megatron_config", _given, "Megatron layers are not built"),
    *(NotObeyed(f"peft.{key}", _filled, _MERGE) for key in _UNMERGEABLE),
    NotObeyed("quantization.load_in_8bit", _true, "8-bit weights cannot be sharded; `load_in_4bit` works"),
    NotObeyed("sft.hub_strategy", _not("end"), _PUSHED),
    NotObeyed("sft.hub_always_push", _true, _PUSHED),
    *(
        NotObeyed(f"sft.{key}", _given, _UNREAD)
        for key in ("do_train", "do_eval", "do_predict", "local_rank")
    ),
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
