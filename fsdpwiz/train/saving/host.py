"""From the GPU to the host, beside what the GPU is doing."""

from __future__ import annotations

import threading
from typing import Any

import torch
from torch import Tensor

_LOCAL = threading.local()


def to_host(tensor: Tensor, ready: Any | None) -> Tensor:
    """`tensor` on the host: itself, or a copy in this thread's pinned buffer, valid until the next one.

    The copy runs on a stream of its own, once the event `ready` has passed.
    """
    if tensor.device.type != "cuda":
        return tensor
    size_bytes = tensor.numel() * tensor.element_size()
    stream = _stream(tensor.device)
    if ready is not None:
        stream.wait_event(ready)
    host = _pinned(size_bytes)[:size_bytes].view(tensor.dtype).view(tensor.shape)
    with torch.cuda.stream(stream):
        host.copy_(tensor, non_blocking=True)
    stream.synchronize()
    return host


def _stream(device: torch.device) -> Any:
    if not hasattr(_LOCAL, "stream"):
        _LOCAL.stream = torch.cuda.Stream(device)
    return _LOCAL.stream


def _pinned(size_bytes: int) -> Tensor:
    held: Tensor | None = getattr(_LOCAL, "pinned", None)
    if held is None or held.numel() < size_bytes:
        _LOCAL.pinned = held = torch.empty(size_bytes, dtype=torch.uint8, pin_memory=True)
    return held
