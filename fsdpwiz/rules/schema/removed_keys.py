"""Keys that older releases had and that no key replaces under a like name: what to do instead."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_GONE = "removed in transformers 5"

REMOVED: Mapping[str, str] = MappingProxyType(
    {
        "sft.group_by_length": "now `sft.train_sampling_strategy: group_by_length`",
        "sft.overwrite_output_dir": "every run has its own folder",
        "sft.logging_dir": f"{_GONE}; `env` can set the tracker's variable",
        "sft.no_cuda": "now `cluster.device: cpu`",
        "sft.adafactor": "now `sft.optim: adafactor`",
        "sft.save_safetensors": "weights are always safetensors",
        "sft.push_to_hub_token": "log in with `hf auth login`",
        "sft.dispatch_batches": "now in `sft.accelerator_config`",
        "sft.split_batches": "now in `sft.accelerator_config`",
        "sft.include_tokens_per_second": "metrics.jsonl always has tokens_per_s",
        **dict.fromkeys(
            (
                "sft.use_mps_device", "sft.use_ipex", "sft.jit_mode_eval", "sft.torchdynamo",
                "sft.fp16_backend", "sft.half_precision_backend", "sft.fp16_opt_level", "sft.tpu_num_cores",
                "sft.past_index", "sft.ray_scope", "sft.mp_parameters", "sft.include_inputs_for_metrics",
            ),
            _GONE,
        ),
    }
)  # fmt: skip
