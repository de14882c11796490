"""Plans of small runs on CPU processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fsdpwiz.plan.types import Plan

FSDP2: dict[str, Any] = {
    "version": 2,
    "reshard_after_forward": True,
    "state_dict_type": "SHARDED_STATE_DICT",
    "auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
    "transformer_layer_cls_to_wrap": "LlamaDecoderLayer",
    "activation_checkpointing": False,
    "offload_params": False,
    "cpu_ram_efficient_loading": False,
}
FSDP1: dict[str, Any] = {
    "version": 1,
    "sharding_strategy": "FULL_SHARD",
    "state_dict_type": "SHARDED_STATE_DICT",
    "auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
    "transformer_layer_cls_to_wrap": "LlamaDecoderLayer",
    "activation_checkpointing": False,
    "offload_params": False,
    "use_orig_params": True,
    "forward_prefetch": False,
    "backward_prefetch": "BACKWARD_PRE",
    "cpu_ram_efficient_loading": False,
    "sync_module_states": False,
}
DEFAULTS = {"FSDP2": FSDP2, "FSDP1": FSDP1}
GLOBAL_BATCH = 4
TRAINING: dict[str, Any] = {
    "max_steps": 3,
    "learning_rate": 1e-3,
    "lr_scheduler_type": "constant",
    "logging_steps": 1,
    "save_strategy": "no",
    "max_length": 96,
    "seed": 7,
    "gradient_checkpointing": False,
}


def make_plan(
    model_path: Path, data_path: Path, /, *, kind: str = "NO", ranks: int = 1, **changes: Any
) -> Plan:
    """A plan of `kind` on `ranks` CPU processes, whose global batch is GLOBAL_BATCH.

    `changes`: `training` and `fsdp` are merged into the defaults, `accumulation` and `mesh` are what
    they say, every other name is a field of the plan or of its `model`.
    """
    fsdp = (
        {**(FSDP1 if kind == "FSDP1" else FSDP2), **changes.pop("fsdp", {})}
        if kind.startswith("FSDP")
        else None
    )
    accumulation = changes.pop("accumulation", 1)
    micro = GLOBAL_BATCH // (ranks * accumulation)
    training = {
        **TRAINING,
        "per_device_train_batch_size": micro,
        "gradient_accumulation_steps": accumulation,
        "bf16": changes.get("mixed_precision") == "bf16",
        "fp16": False,
        **changes.pop("training", {}),
    }
    mesh = changes.pop("mesh", {"dp_shard": ranks} if fsdp else {"dp_replicate": ranks})
    if fsdp and fsdp.get("sharding_strategy") == "NO_SHARD":
        mesh = {"dp_replicate": ranks}
    document: dict[str, Any] = {
        "name": "tiny",
        "method": "sft",
        "sft": training,
        "model": {
            "name_or_path": str(model_path),
            "revision": None,
            "loading": "every_rank",
            "dtype": "float32",
            "trainable_dtype": "float32",
            "attn_implementation": "sdpa",
            "trust_remote_code": False,
            **changes.pop("model", {}),
        },
        "data": {
            "name_or_path": str(data_path),
            "split": "train",
            "eval_name_or_path": None,
            "eval_split": None,
            "format": data_path.stem,
            **changes.pop("data", {}),
        },
        "fsdp": fsdp,
        "mixed_precision": "no",
        "reduce_dtype": None,
        "precision": "float32",
        "checkpoint": {"mode": "sync", "staging_gb": None, "export_dtype": None},
        "process_group_timeout_s": 120,
        "peft": None,
        "quantization": None,
        "parallelism": None,
        "cluster": {
            "device": "cpu",
            "nodes": 1,
            "gpus_per_node": None,
            "processes_per_node": ranks,
            "gpu": None,
            "gpu_memory_gb": None,
            "host_memory_gb": None,
        },
        "launcher": "local",
        "slurm": None,
        "output_dir": "runs",
        "script": None,
        "script_args": [],
        "env": {},
        "world": {
            "nodes": 1,
            "ranks_per_node": ranks,
            "world_size": ranks,
            "device": "cpu",
            "mesh": mesh,
            "distributed_type": kind,
        },
        "batch": {
            "micro": micro,
            "accumulation": accumulation,
            "global": GLOBAL_BATCH,
            "tokens_per_step": None,
        },
        "units": ["LlamaDecoderLayer"] if fsdp else [],
        "versions": {},
        "hash": "0" * 16,
        "origins": {},
        **changes,
    }
    return Plan.from_json(document)
