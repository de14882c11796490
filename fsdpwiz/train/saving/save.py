"""One checkpoint of one rank: planned with the others, written by a thread, completed by rank 0."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.distributed.checkpoint import DefaultSavePlanner, FileSystemWriter
from torch.distributed.checkpoint.planner import SavePlan, WriteItemType

from fsdpwiz.train.saving.agreement import Agreement
from fsdpwiz.train.saving.host import to_host
from fsdpwiz.train.saving.items import Copy, Item, Items
from fsdpwiz.train.saving.shard_file import ShardFile

Checksums = Mapping[str, tuple[int, str]]
_STAY_BYTES = 64 * 1024


class Part:
    """One distributed folder of a checkpoint: `state` under its key, as Accelerate saves it."""

    def __init__(self, folder: Path, state: Mapping[str, Any]) -> None:
        self.folder = folder
        self.planner = DefaultSavePlanner()
        self.writer = FileSystemWriter(folder)
        self._state = state

    def local_plan(self, agreement: Agreement) -> SavePlan:
        self.planner.set_up_planner(dict(self._state), self.writer.storage_meta(), agreement.first)
        self.writer.set_up_storage_writer(agreement.first)
        return self.writer.prepare_local_plan(self.planner.create_local_plan())

    def global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        whole, self.metadata = self.planner.create_global_plan(plans)
        return self.writer.prepare_global_plan(whole)

    def finish_plan(self, plan: SavePlan) -> None:
        self.plan = self.planner.finish_plan(plan)

    @property
    def file_name(self) -> str:
        return f"{self.plan.storage_data.prefix}0.distcp"

    def resolve(self, entry: Any) -> Any:
        return self.planner.resolve_data(entry)


class Save:
    """Begun by `start`, settled before each optimizer step, waited for by `wait`.

    `complete` is called on rank 0 with every rank's files, sizes and checksums once all have written;
    what it raises, and what fails on any rank, `wait` raises on all.
    """

    def __init__(
        self,
        parts: Sequence[Part],
        agreement: Agreement,
        *,
        complete: Callable[[Checksums], None],
    ) -> None:
        self._parts = parts
        self._agreement = agreement
        self._complete = complete
        self._items = Items(())
        self._planned = threading.Event()
        self._error: Exception | None = None
        self._event = torch.cuda.Event() if torch.cuda.is_available() else None
        self._thread = threading.Thread(target=self._run, name="checkpoint", daemon=True)

    def start(self) -> None:
        if self._event is not None:
            self._event.record()
        self._thread.start()

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    @property
    def copied_bytes(self) -> int:
        return self._items.copied_bytes

    def settle(self, copy: Copy) -> None:
        """After this the live shards may change."""
        self._planned.wait()
        self._items.settle(copy)

    def wait(self) -> None:
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            self._plan()
            self._agreement.reduced(self._written, self._completed)
        except Exception as error:
            self._error = error
        finally:
            self._items.abandon()
            self._planned.set()

    def _plan(self) -> None:
        plans = self._agreement.reduced(
            lambda: [part.local_plan(self._agreement) for part in self._parts], self._global_plans
        )
        items: list[Item] = []
        for index, (part, plan) in enumerate(zip(self._parts, plans, strict=True)):
            part.finish_plan(plan)
            items += _items(index, part)
        # The smallest first: training waits for the one that is just being written.
        self._items = Items(sorted(items, key=lambda item: item.size_bytes))
        self._planned.set()

    def _global_plans(self, gathered: Sequence[Any]) -> list[Any]:
        by_part = [
            part.global_plan([plans[index] for plans in gathered]) for index, part in enumerate(self._parts)
        ]
        return [list(plans) for plans in zip(*by_part, strict=True)]

    def _written(self) -> tuple[list[Any], dict[str, tuple[int, str]]]:
        """Write this rank's files; results of each part, and the files with sizes and checksums."""
        files: dict[int, ShardFile] = {}
        results: list[list[Any]] = [[] for _ in self._parts]
        crc32 = torch.serialization.get_crc32_options()
        # The files have checksums of their own, of 128 bits and a tenth of the time.
        torch.serialization.set_crc32_options(False)
        try:
            self._write_small(files, results)
            self._write_large(files, results)
            for file in files.values():
                file.finish()
        except BaseException:
            for file in files.values():
                file.abandon()
            raise
        finally:
            torch.serialization.set_crc32_options(crc32)
        sums = {
            f"{self._parts[index].folder.name}/{file.path.name}": (file.size_bytes, file.checksum)
            for index, file in files.items()
        }
        return results, sums

    def _write_small(self, files: dict[int, ShardFile], results: list[list[Any]]) -> None:
        for index, part in enumerate(self._parts):
            for entry in part.plan.items:
                if entry.type == WriteItemType.BYTE_IO:
                    results[index].append(self._file(files, index).put(entry, part.resolve(entry)))

    def _write_large(self, files: dict[int, ShardFile], results: list[list[Any]]) -> None:
        while (item := self._items.take()) is not None:
            file = self._file(files, item.part)
            host = to_host(item.live, self._event)
            if host is not item.live:
                # Copied from the GPU: training need not wait for the disk.
                self._items.release(item)
            results[item.part].append(file.put(item.entry, host))

    def _file(self, files: dict[int, ShardFile], index: int) -> ShardFile:
        if index not in files:
            part = self._parts[index]
            files[index] = ShardFile(part.folder / part.file_name)
        return files[index]

    def _completed(self, gathered: Sequence[Any]) -> list[Any]:
        sums: dict[str, tuple[int, str]] = {}
        for index, part in enumerate(self._parts):
            part.writer.finish(part.metadata, [results[index] for results, _ in gathered])
        for _, files in gathered:
            sums |= files
        self._complete(sums)
        return [sums] * len(gathered)


def _items(index: int, part: Part) -> list[Item]:
    items = []
    for entry in part.plan.items:
        if entry.type == WriteItemType.BYTE_IO:
            continue
        live: Tensor = part.resolve(entry).detach()
        size_bytes = live.numel() * live.element_size()
        if size_bytes <= _STAY_BYTES:
            live = live.to("cpu", copy=True)
        items.append(Item(index, entry, live, size_bytes))
    return items
