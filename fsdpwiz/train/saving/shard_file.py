"""One rank's file of a distributed checkpoint: entries written one after the other, counted and hashed."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import torch
import xxhash
from torch import Tensor
from torch.distributed.checkpoint.filesystem import _StorageInfo
from torch.distributed.checkpoint.storage import WriteResult


class ShardFile(io.RawIOBase):
    """As torch's own FileSystemWriter (2.13) writes it: each entry a `torch.save`, one after the other."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self._stream = path.open("wb", buffering=0)
        self._hash = xxhash.xxh3_128()
        self._failure: OSError | None = None
        self.size_bytes = 0

    @property
    def checksum(self) -> str:
        """xxh3-128 of what was written so far, in hexadecimal."""
        return self._hash.hexdigest()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        self._hash.update(view)
        self._write_whole(view)
        self.size_bytes += len(view)
        return len(view)

    def _write_whole(self, left: memoryview) -> None:
        try:
            while left:
                left = left[self._stream.write(left) :]
        except OSError as error:
            self._failure = error
            raise

    def put(self, entry: Any, data: Tensor | io.BytesIO) -> WriteResult:
        """Append one entry; a tensor is on the host."""
        offset = self.size_bytes
        if isinstance(data, io.BytesIO):
            self.write(data.getbuffer())
        else:
            self._save(data)
        length = self.size_bytes - offset
        return WriteResult(
            index=entry.index,
            size_in_bytes=length,
            storage_data=_StorageInfo(self.path.name, offset, length),
        )

    def _save(self, tensor: Tensor) -> None:
        try:
            torch.save(exactly(tensor), self)
        except RuntimeError:
            # torch's writer of zip archives has words of its own for a write that failed.
            if self._failure is not None:
                raise self._failure from None
            raise

    def finish(self) -> None:
        """Make the file durable."""
        os.fsync(self._stream.fileno())
        self._stream.close()

    def abandon(self) -> None:
        self._stream.close()


def exactly(tensor: Tensor) -> Tensor:
    """The same values over a storage that holds nothing else, which is what `torch.save` writes whole."""
    tensor = tensor.detach()
    if tensor.untyped_storage().nbytes() == tensor.numel() * tensor.element_size():
        return tensor
    raw = tensor.contiguous().reshape(-1).view(torch.uint8).numpy()
    return torch.from_numpy(raw).view(tensor.dtype).view(tensor.shape)
