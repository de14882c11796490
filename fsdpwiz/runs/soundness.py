"""Whether the `.metadata` of a checkpoint's distributed folders is what torch writes, read without torch.

torch opens that file with plain pickle, which runs whatever it names. Here only the names that torch itself
writes into it are admitted, and each of them is an inert class: nothing of it is imported or called.
"""

from __future__ import annotations

import io
import os
import pickle
import re
import stat
from pathlib import Path
from typing import Any

from fsdpwiz.core.text import visible

METADATA_NAME = ".metadata"
LIMIT_BYTES = 1_000_000_000
_REASON_CHARACTERS = 200
_FOLDER = re.compile(r"(pytorch_model_fsdp|optimizer)_[0-9]{1,6}")
_DTYPE = re.compile(r"bool|(bits|bfloat|complex|float|q?u?int)[0-9]+(x[0-9]+)?(_e[0-9]+m[0-9]+[a-z]*(_x2)?)?")
_METADATA = ("torch.distributed.checkpoint.metadata", "Metadata")
NAMES: frozenset[tuple[str, str]] = frozenset(
    {
        _METADATA,
        ("torch", "Size"),
        ("torch.serialization", "_get_layout"),
        ("torch.distributed.checkpoint.filesystem", "_StorageInfo"),
        ("pathlib", "PosixPath"),
        ("pathlib._local", "PosixPath"),
        ("pathlib", "WindowsPath"),
        *(
            ("torch.distributed.checkpoint.metadata", name)
            for name in (
                "BytesStorageMetadata",
                "ChunkStorageMetadata",
                "MetadataIndex",
                "StorageMeta",
                "TensorProperties",
                "TensorStorageMetadata",
                "_MEM_FORMAT_ENCODING",
            )
        ),
    }
)


def is_admitted(module: str, name: str) -> bool:
    """Whether a checkpoint's `.metadata` may name `module.name`."""
    return (module, name) in NAMES or (module == "torch" and _DTYPE.fullmatch(name) is not None)


def why_unsound(checkpoint: Path) -> str | None:
    """What is wrong with the metadata of a checkpoint folder; None where torch may open it, or there is none.

    Never raises: what cannot be read is unsound.
    """
    for folder in _distributed(checkpoint):
        reason = _why_unsound(folder / METADATA_NAME)
        if reason is not None:
            reason = visible(reason, limit=_REASON_CHARACTERS)
            return f"its `{folder.name}/{METADATA_NAME}` {reason}"
    return None


class _Inert:
    """Stands for a class of torch's: takes any arguments and any state, and keeps none."""

    def __new__(cls, *_: Any, **__: Any) -> _Inert:
        return object.__new__(cls)

    def __setstate__(self, _: Any) -> None:
        """Keeps nothing."""


class _InertMetadata(_Inert):
    """Stands for the class of the whole document."""


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if not is_admitted(module, name):
            raise pickle.UnpicklingError(f"names `{module}.{name}`, which no torch checkpoint holds")
        return _InertMetadata if (module, name) == _METADATA else _Inert

    def persistent_load(self, _: Any) -> Any:
        raise pickle.UnpicklingError("refers to objects outside itself")


def _distributed(checkpoint: Path) -> list[Path]:
    """The folders of the checkpoint that torch opens as distributed ones."""
    try:
        with os.scandir(checkpoint) as entries:
            return sorted(
                Path(entry.path) for entry in entries if _FOLDER.fullmatch(entry.name) and entry.is_dir()
            )
    except OSError:
        return []


def _why_unsound(path: Path) -> str | None:
    try:
        content = _content(path)
    except FileNotFoundError:
        return "is missing: the save did not end, or the copy is not whole"
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"
    if content is None:
        return "is not a file of a checkpoint's size"
    try:
        found = _Unpickler(io.BytesIO(content)).load()
    except pickle.UnpicklingError as error:
        return str(error) if str(error).startswith(("names ", "refers ")) else f"cannot be read: {error}"
    except Exception as error:
        # A damaged pickle fails in as many ways as there are opcodes.
        return f"cannot be read: {error or type(error).__name__}"
    return None if isinstance(found, _InertMetadata) else "is not that of a torch checkpoint"


def _content(path: Path) -> bytes | None:
    """The bytes of a regular file of a size that can be; a link or a pipe is not followed."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        content = stream.read(LIMIT_BYTES + 1)
    return content if len(content) <= LIMIT_BYTES else None
