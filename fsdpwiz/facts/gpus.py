"""The GPUs of this machine, by NVML. Every call may be unsupported, forbidden or meet a lost card."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fsdpwiz.facts.one_line import one_line
from fsdpwiz.facts.types import Gpu, Gpus
from fsdpwiz.facts.unknown import UnknownFact
from fsdpwiz.facts.visible_devices import Chosen, chosen_devices

_MAX_CARDS = 256


def read_gpus(environ: Mapping[str, str]) -> Gpus:
    """The cards that CUDA would show under `environ`; no driver at all means known to have none.

    Raises UnknownFact where there is a driver but it does not answer.
    """
    try:
        import pynvml
    except ImportError:
        raise UnknownFact("the package `nvidia-ml-py` is not installed") from None
    try:
        pynvml.nvmlInit()
    except (pynvml.NVMLError_LibraryNotFound, pynvml.NVMLError_DriverNotLoaded):
        return Gpus(source="measured", cards=())
    except (pynvml.NVMLError, OSError) as error:
        raise UnknownFact(f"NVML does not start: {error}") from None
    try:
        return _Nvml(pynvml).gpus(environ.get("CUDA_VISIBLE_DEVICES"))
    finally:
        _Nvml(pynvml).ask(pynvml.nvmlShutdown)


class _Nvml:
    """The library once started, with calls that give None instead of raising."""

    def __init__(self, pynvml: Any) -> None:
        self._pynvml = pynvml

    def ask(self, call: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return call(*arguments)
        except (self._pynvml.NVMLError, OSError, UnicodeDecodeError, AttributeError):
            return None

    def gpus(self, shown: str | None) -> Gpus:
        count = self.ask(self._pynvml.nvmlDeviceGetCount)
        if count is None:
            raise UnknownFact("NVML does not say how many GPUs there are")
        handles = [self._handle(index) for index in range(min(count, _MAX_CARDS))]
        uuids = [self.ask(self._pynvml.nvmlDeviceGetUUID, handle) if handle else None for handle in handles]
        read = [self._chosen(device, handles) for device in chosen_devices(shown, uuids)]
        return Gpus(
            source="measured",
            cards=tuple(card for card in read if isinstance(card, Gpu)),
            driver=self.ask(self._pynvml.nvmlSystemGetDriverVersion),
            cuda=self._cuda_version(),
            unreadable=tuple(card for card in read if isinstance(card, str)),
        )

    def _handle(self, index: int) -> Any:
        return self.ask(self._pynvml.nvmlDeviceGetHandleByIndex, index)

    def _chosen(self, device: Chosen, handles: list[Any]) -> Gpu | str:
        """The card or slice, or a sentence on why it cannot be read."""
        if device.mig is not None:
            handle = self.ask(self._pynvml.nvmlDeviceGetHandleByUUID, device.mig.encode())
            return (
                self._slice(handle, index=0)
                if handle
                else f"MIG slice `{one_line(device.mig, limit=80)}` is not on this machine"
            )
        index = device.index or 0
        handle = handles[index]
        if not handle:
            return f"GPU {index} does not answer"
        modes = self.ask(self._pynvml.nvmlDeviceGetMigMode, handle)
        if modes and modes[0] == self._pynvml.NVML_DEVICE_MIG_ENABLE:
            return self._first_slice(handle, index=index)
        return self._card(handle, index=index)

    def _first_slice(self, handle: Any, *, index: int) -> Gpu | str:
        """CUDA shows the first slice of a card that is cut into slices, never the whole card."""
        count = self.ask(self._pynvml.nvmlDeviceGetMaxMigDeviceCount, handle) or 0
        for number in range(min(count, 16)):
            slice_handle = self.ask(self._pynvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, number)
            if slice_handle:
                return self._slice(slice_handle, index=index)
        return f"GPU {index} has MIG on and no slice made"

    def _slice(self, handle: Any, *, index: int) -> Gpu | str:
        whole = self.ask(self._pynvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle, handle)
        number = self.ask(self._pynvml.nvmlDeviceGetIndex, whole) if whole else None
        return self._card(handle, index=index if number is None else number, whole=whole, mig=True)

    def _card(self, handle: Any, *, index: int, whole: Any = None, mig: bool = False) -> Gpu | str:
        memory = self.ask(self._pynvml.nvmlDeviceGetMemoryInfo, handle)
        if memory is None or not memory.total:
            return f"GPU {index} does not say how much memory it has"
        capability = self.ask(self._pynvml.nvmlDeviceGetCudaComputeCapability, whole or handle)
        return Gpu(
            index=index,
            name=self.ask(self._pynvml.nvmlDeviceGetName, handle) or "unknown GPU",
            memory_bytes=int(memory.total),
            memory_free_bytes=int(memory.free),
            compute_capability=capability if capability and capability[0] > 0 else None,
            uuid=self.ask(self._pynvml.nvmlDeviceGetUUID, handle),
            mig=mig,
        )

    def _cuda_version(self) -> str | None:
        """The newest CUDA that the driver supports, e.g. "12.8"."""
        number = self.ask(self._pynvml.nvmlSystemGetCudaDriverVersion)
        return f"{number // 1000}.{number % 1000 // 10}" if number else None
