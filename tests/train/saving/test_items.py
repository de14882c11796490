"""The writer and the training share what is still to be written."""

from __future__ import annotations

import threading
import time

import pytest
import torch
from torch import Tensor

from fsdpwiz.train.saving.items import Item, Items
from fsdpwiz.train.saving.staging import Staging


def items(count: int) -> list[Item]:
    return [Item(0, index, torch.full((4,), float(index)), 16) for index in range(count)]


def written_by(shared: Items, seconds: float = 0.0) -> tuple[threading.Thread, list[tuple[int, float, bool]]]:
    written: list[tuple[int, float, bool]] = []

    def write() -> None:
        while (item := shared.take()) is not None:
            time.sleep(seconds)
            written.append((item.entry, float(item.live[0]), item.copied))

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    return thread, written


@pytest.mark.parametrize("room", [0, 3, 100])
def test_what_is_written_is_what_was_live(room: int) -> None:
    made = items(20)
    live = [item.live for item in made]
    shared = Items(made)
    thread, written = written_by(shared, 0.003)
    left = [room]

    def copy(tensor: Tensor) -> Tensor | None:
        left[0] -= 1
        return tensor.clone() if left[0] >= 0 else None

    shared.settle(copy)
    for tensor in live:
        tensor.fill_(-1.0)
    thread.join(10)
    assert sorted(entry for entry, _, _ in written) == list(range(20))
    assert all(value == entry for entry, value, _ in written)
    assert sum(copied for _, _, copied in written) == shared.copied_bytes // 16 <= room


def test_the_writer_waits_for_a_copy_that_is_being_made() -> None:
    shared = Items(items(1))
    copying, go = threading.Event(), threading.Event()

    def copy(tensor: Tensor) -> Tensor:
        copying.set()
        go.wait(10)
        return tensor.clone()

    settling = threading.Thread(target=shared.settle, args=(copy,), daemon=True)
    settling.start()
    assert copying.wait(10)
    thread, written = written_by(shared)
    time.sleep(0.05)
    assert thread.is_alive() and written == []
    go.set()
    thread.join(10)
    settling.join(10)
    assert written == [(0, 0.0, True)]


def test_a_save_that_failed_keeps_nobody_waiting() -> None:
    shared = Items(items(5))
    shared.take()
    settling = threading.Thread(target=shared.settle, args=(lambda tensor: None,), daemon=True)
    settling.start()
    time.sleep(0.05)
    assert settling.is_alive()
    shared.abandon()
    settling.join(10)
    assert not settling.is_alive()


def test_staging_gives_no_more_than_it_may() -> None:
    staging = Staging()
    staging.begin(200)
    tensors = [torch.arange(10, dtype=torch.float32) + index for index in range(4)]
    copies = [staging.copy(tensor) for tensor in tensors]
    assert [copy is not None for copy in copies] == [True, True, True, False]
    for tensor, copy in zip(tensors, copies[:3], strict=False):
        assert copy is not None and torch.equal(copy, tensor)
    staging.begin(200)
    assert staging.copy(torch.ones(2, 3, dtype=torch.bfloat16)) is not None
    staging.begin(0)
    assert staging.copy(tensors[0]) is None
