"""A checkpoint that a training goes on from, opened so that it cannot run anything; faults as one finding.

Upstream opens two parts of a distributed checkpoint with plain pickle: `.metadata`, which is read and checked
here first, and every value that is not a tensor (`DefaultLoadPlanner.load_bytes`), which is replaced.
"""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fsdpwiz.core.errors import FsdpwizError
from fsdpwiz.core.findings import Finding
from fsdpwiz.core.text import visible

_FOLDERS = ("pytorch_model_fsdp_0", "optimizer_0")
_STATE = "trainer_state.json"
_STATE_LIMIT_BYTES = 100_000_000
_REASON_CHARACTERS = 300
_GLOBAL = re.compile(r"GLOBAL:? (?:GLOBAL )?([\w.]+)", re.IGNORECASE)


def check(checkpoint: Path) -> None:
    """Raise FsdpwizError (I032) unless the checkpoint's state and distributed folders are whole and sound.

    From here on this process opens what is not a tensor in them with `weights_only`.
    """
    from fsdpwiz.train.export.metadata import UnsoundError, holds_tensors

    _check_state(checkpoint)
    for name in _FOLDERS:
        folder = checkpoint / name
        if folder.exists() or folder.is_symlink():
            try:
                if not holds_tensors(folder):
                    raise UnsoundError("it was written without any tensor")
            except UnsoundError as error:
                raise unsound(checkpoint, f"in `{name}`: {error}") from error
    _load_bytes_safely()


@contextmanager
def opening(checkpoint: Any) -> Iterator[None]:
    """Turns what upstream raises over a part of `checkpoint` that cannot be read into a finding (I032)."""
    from safetensors import SafetensorError
    from torch.distributed.checkpoint import CheckpointException

    try:
        yield
    except (pickle.UnpicklingError, EOFError, OSError, SafetensorError, CheckpointException) as error:
        raise unsound(Path(str(checkpoint)), reason_of(error)) from error
    except RuntimeError as error:
        # torch's reader of zip archives has no error of its own.
        if "PytorchStreamReader" not in str(error):
            raise
        raise unsound(Path(str(checkpoint)), reason_of(error)) from error


def unsound(checkpoint: Path, reason: str) -> FsdpwizError:
    """I032: the checkpoint is not one that a training can go on from."""
    return FsdpwizError(
        Finding(
            code="I032",
            name="checkpoint-not-sound",
            severity="error",
            message=(
                f"`{visible(checkpoint.name)}` cannot be gone on from: "
                f"{visible(reason, limit=_REASON_CHARACTERS)}; copy it again from where it is whole, or "
                "remove its folder to go on from the one before"
            ),
            file=str(checkpoint),
        )
    )


def _check_state(checkpoint: Path) -> None:
    try:
        with (checkpoint / _STATE).open("rb") as stream:
            step = json.loads(stream.read(_STATE_LIMIT_BYTES))["global_step"]
    except (OSError, ValueError, RecursionError, KeyError, TypeError) as error:
        raise unsound(checkpoint, f"its `{_STATE}` cannot be read") from error
    if type(step) is not int or step < 0:
        raise unsound(checkpoint, f"its `{_STATE}` names no step")


def reason_of(error: BaseException) -> str:
    """Why a file cannot be read, from what upstream raises over it; without advice to trust it."""
    from torch.distributed.checkpoint import CheckpointException

    if isinstance(error, CheckpointException) and error.failures:
        error = next(iter(error.failures.values()))[0]
    if isinstance(error, pickle.UnpicklingError):
        # torch's own message goes on to advise opening the file without `weights_only`.
        return f"a file of it holds what no training saves ({_named(str(error))})"
    first = str(error).partition("\n")[0]
    return f"a file of it cannot be read: {first or type(error).__name__}"


def _named(message: str) -> str:
    """What a message of torch's says that it met; its advice is left out."""
    met = _GLOBAL.search(message)
    return f"`{met.group(1)}`" if met else "not a value of a checkpoint"


def _load_bytes_safely() -> None:
    import torch
    from torch.distributed.checkpoint._traverse import set_element
    from torch.distributed.checkpoint.default_planner import DefaultLoadPlanner

    def load_bytes(self: Any, read_item: Any, value: Any) -> None:
        name, loaded = read_item.dest_index.fqn, torch.load(value, weights_only=True)
        if self.flatten_state_dict:
            set_element(self.original_state_dict, self.mappings[name], loaded)
        else:
            self.state_dict[name] = loaded

    DefaultLoadPlanner.load_bytes = load_bytes
