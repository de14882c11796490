"""The safetensors files of a pretrained model, on this machine; what is missing is fetched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fsdpwiz.train.export.safetensors_file import Stored, read_header
from fsdpwiz.train.streaming.problems import NotStreamableError


def stored_weights(name_or_path: str, revision: str | None) -> dict[str, Stored]:
    """Every tensor that `from_pretrained` would read, by its name in the files.

    Raises NotStreamableError where the weights are not safetensors, or a file is not sound.
    """
    stored: dict[str, Stored] = {}
    for path in _paths(name_or_path, revision):
        try:
            header = read_header(path)
        except (OSError, ValueError) as error:
            raise NotStreamableError(str(error)) from error
        twice = stored.keys() & header.keys()
        if twice:
            raise NotStreamableError(f"two of its files hold the tensor `{min(twice)}`")
        stored |= header
    return stored


def _paths(name_or_path: str, revision: str | None) -> list[Path]:
    from transformers.utils import SAFE_WEIGHTS_INDEX_NAME, SAFE_WEIGHTS_NAME
    from transformers.utils.hub import get_checkpoint_shard_files

    whole = _cached(name_or_path, SAFE_WEIGHTS_NAME, revision)
    if whole is not None:
        return [Path(whole)]
    index = _cached(name_or_path, SAFE_WEIGHTS_INDEX_NAME, revision)
    if index is None:
        raise NotStreamableError("its weights are not safetensors files")
    shards, _ = get_checkpoint_shard_files(name_or_path, index, revision=revision)
    return [Path(path) for path in shards]


def _cached(name_or_path: str, file_name: str, revision: str | None) -> Any:
    from transformers.utils.hub import cached_file

    return cached_file(
        name_or_path,
        file_name,
        revision=revision,
        _raise_exceptions_for_gated_repo=False,
        _raise_exceptions_for_missing_entries=False,
        _raise_exceptions_for_connection_errors=False,
    )
