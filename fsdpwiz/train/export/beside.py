"""What a checkpoint's own folder, its run and its base model say: configuration, dtype, tokenizer."""

from __future__ import annotations

from typing import Any

import torch
from transformers import AutoConfig, AutoTokenizer, GenerationConfig

from fsdpwiz.train.export.architecture import Architecture, architecture
from fsdpwiz.train.export.base import Base, read_base
from fsdpwiz.train.export.checkpoint import Checkpoint
from fsdpwiz.train.export.dtypes import dtype_of
from fsdpwiz.train.export.problems import bad_source


def base_of(checkpoint: Checkpoint, model: str | None) -> Base | None:
    """The base model: the one named, else the one the checkpoint or its run names."""
    name = model or checkpoint.base_model
    revision = checkpoint.plan.model.revision if checkpoint.plan is not None and not model else None
    return read_base(name, revision=revision) if name else None


def config_of(checkpoint: Checkpoint, base: Base | None) -> Any:
    """The checkpoint's configuration, else the base model's."""
    places = [str(checkpoint.folder)] if checkpoint.has_config else []
    places += [str(base.folder or base.name_or_path)] if base is not None else []
    if not places:
        raise bad_source(checkpoint.folder, "it has no config.json: name its base model with `--model`")
    try:
        return AutoConfig.from_pretrained(places[0], trust_remote_code=False, local_files_only=True)
    except (OSError, ValueError) as error:
        raise bad_source(
            checkpoint.folder, f"the configuration in `{places[0]}` cannot be read: {error}"
        ) from error


def dtype_for(checkpoint: Checkpoint, base: Base | None, config: Any, asked: str | None) -> torch.dtype:
    """The dtype to write: asked for, the run's, the base model's, the configuration's, the stored one."""
    wanted = asked or (checkpoint.plan.checkpoint.export_dtype if checkpoint.plan is not None else None)
    known = base.dtype if base is not None else None
    stored = next(
        (dtype for _, dtype in checkpoint.weights.tensors.values() if dtype.is_floating_point), None
    )
    return dtype_of(wanted or known or getattr(config, "dtype", None) or stored or torch.float32)


def architecture_of(checkpoint: Checkpoint, config: Any, dtype: torch.dtype) -> Architecture:
    """The architecture of the configuration; FsdpwizError (P013) where transformers knows none."""
    try:
        return architecture(config, dtype)
    except (ValueError, KeyError) as error:
        raise bad_source(
            checkpoint.folder, f"no causal language model has this configuration: {error}"
        ) from error


def tokenizer_of(checkpoint: Checkpoint, base: Base | None) -> Any:
    """The checkpoint's tokenizer, else the base model's, else None."""
    places = [str(checkpoint.folder)] if checkpoint.has_tokenizer else []
    places += [str(base.folder)] if base is not None and base.folder is not None else []
    for place in places:
        try:
            return AutoTokenizer.from_pretrained(place, trust_remote_code=False, local_files_only=True)
        except (OSError, ValueError, KeyError):
            continue
    return None


def generation_config_of(checkpoint: Checkpoint, base: Base | None) -> Any:
    """The checkpoint's generation configuration, else the base model's, else None."""
    places = [checkpoint.folder, *([base.folder] if base is not None and base.folder is not None else [])]
    for place in places:
        try:
            return GenerationConfig.from_pretrained(str(place), local_files_only=True)
        except (OSError, ValueError):
            continue
    return None
