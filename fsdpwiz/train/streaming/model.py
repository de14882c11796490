"""A pretrained model of placeholders, and the load that fills its shards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from fsdpwiz.train.streaming import placeholder
from fsdpwiz.train.streaming.files import stored_weights
from fsdpwiz.train.streaming.load import StreamedLoad
from fsdpwiz.train.streaming.names import sources
from fsdpwiz.train.streaming.problems import NotStreamableError

_NO_CONVERSION = "its configuration names {}, and only plain weights are streamed"


def streamed_model(
    name_or_path: str, *, revision: str | None, dtype: torch.dtype, attn_implementation: str | None
) -> tuple[Any, StreamedLoad]:
    """What `from_pretrained` returns, without its weights, and their load.

    Raises NotStreamableError where that would not give exactly the weights of `from_pretrained`
    (transformers 5.24), OSError where there is no such model.
    """
    from transformers import AutoConfig

    config: Any = AutoConfig.from_pretrained(name_or_path, revision=revision or "main")
    _check_configuration(config, name_or_path)
    arguments = {} if attn_implementation is None else {"attn_implementation": attn_implementation}
    model = placeholder.build(config, dtype, **arguments)
    _check_model(model, dtype)
    load = StreamedLoad(sources(model, stored_weights(name_or_path, revision)))
    model.config.name_or_path = name_or_path
    if model.can_generate():
        _read_generation_config(model, name_or_path, revision)
    return model, load


def _check_configuration(config: Any, name_or_path: str) -> None:
    if getattr(config, "auto_map", None):
        raise NotStreamableError("it brings code of its own, which may compute weights")
    for key in ("quantization_config", "transformers_weights", "fusion_config"):
        if getattr(config, key, None) is not None:
            raise NotStreamableError(_NO_CONVERSION.format(f"`{key}`"))
    if getattr(type(config), "extra_files", None):
        raise NotStreamableError("its class reads further files")
    if (Path(name_or_path) / "adapter_config.json").is_file():
        raise NotStreamableError("the folder holds an adapter over another model")


def _check_model(model: Any, dtype: torch.dtype) -> None:
    kept = model._get_dtype_plan(dtype)
    if kept:
        raise NotStreamableError(f"transformers keeps `{min(kept)}` in another dtype")


def _read_generation_config(model: Any, name_or_path: str, revision: str | None) -> None:
    model.adjust_generation_fn(
        None,
        from_auto_class=True,
        from_pipeline=None,
        pretrained_model_name_or_path=name_or_path,
        cache_dir=None,
        force_download=False,
        proxies=None,
        local_files_only=False,
        token=None,
        revision=revision or "main",
        subfolder="",
        trust_remote_code=False,
    )
