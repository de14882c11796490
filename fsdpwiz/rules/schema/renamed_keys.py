"""Keys of older releases and what they are called now; None: dropped without a successor."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

RENAMED: Mapping[str, tuple[str | None, str]] = MappingProxyType(
    {
        "sft.evaluation_strategy": ("sft.eval_strategy", "renamed in transformers 5"),
        "sft.max_seq_length": ("sft.max_length", "renamed in TRL"),
        "sft.group_by_length": (None, "now `sft.train_sampling_strategy: group_by_length`"),
        "sft.warmup_ratio": ("sft.warmup_steps", "`warmup_steps` below 1 is a ratio"),
        "sft.overwrite_output_dir": (None, "removed; every run has its own folder"),
        "sft.logging_dir": (None, "removed in transformers 5"),
        "sft.no_cuda": (None, "removed; set `cluster.device: cpu`"),
        "sft.use_mps_device": (None, "removed in transformers 5"),
        "sft.use_ipex": (None, "removed in transformers 5"),
        "sft.jit_mode_eval": (None, "removed in transformers 5"),
        "sft.half_precision_backend": (None, "removed in transformers 5"),
        "sft.fp16_backend": (None, "removed in transformers 5"),
        "sft.fp16_opt_level": (None, "removed in transformers 5"),
        "sft.tpu_num_cores": (None, "removed in transformers 5"),
        "sft.past_index": (None, "removed in transformers 5"),
        "sft.ray_scope": (None, "removed in transformers 5"),
        "sft.adafactor": (None, "now `sft.optim: adafactor`"),
        "sft.per_gpu_train_batch_size": ("sft.per_device_train_batch_size", "renamed in transformers"),
        "sft.per_gpu_eval_batch_size": ("sft.per_device_eval_batch_size", "renamed in transformers"),
        "sft.save_safetensors": (None, "removed; weights are always safetensors"),
        "sft.push_to_hub_token": (None, "removed; log in with `hf auth login`"),
        "sft.dispatch_batches": (None, "now in `sft.accelerator_config`"),
        "sft.split_batches": (None, "now in `sft.accelerator_config`"),
        "sft.include_tokens_per_second": (None, "removed; metrics.jsonl always has tokens_per_s"),
        "sft.fsdp_min_num_params": ("fsdp.min_num_params", "it belongs to `fsdp`"),
        "sft.fsdp_transformer_layer_cls_to_wrap": (
            "fsdp.transformer_layer_cls_to_wrap",
            "it belongs to `fsdp`",
        ),
        "fsdp.backward_prefetch_policy": ("fsdp.backward_prefetch", "renamed in Accelerate"),
    }
)
