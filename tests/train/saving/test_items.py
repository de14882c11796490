"""The writer and the training share what is still to be written."""

from __future__ import annotations

import threading
import time

import pytest
import torch
from torch import Tensor

from fsdpwiz.train.saving.foresight import Foresight
from fsdpwiz.train.saving.items import Item, Items
from fsdpwiz.train.saving.staging import TOUCH_BYTES, Staging


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


def test_the_writer_begins_nothing_while_training_copies() -> None:
    shared = Items(items(3))
    begun: list[bool] = []

    def copy(tensor: Tensor) -> Tensor:
        if not begun:
            begun.append(True)
            threads.append(written_by(shared))
        time.sleep(0.02)
        assert threads[0][1] == []
        return tensor.clone()

    threads: list[tuple[threading.Thread, list[tuple[int, float, bool]]]] = []
    shared.settle(copy)
    thread, written = threads[0]
    thread.join(10)
    assert sorted(entry for entry, _, _ in written) == [0, 1, 2]
    assert all(copied for _, _, copied in written)


def test_memory_that_is_still_being_taken_spoils_no_copy() -> None:
    size = 64 * TOUCH_BYTES
    staging = Staging()
    staging.warm(size, size)
    staging.begin(size)
    copies = [staging.copy(torch.full((1024,), float(index))) for index in range(50)]
    time.sleep(0.1)
    assert all(copy is not None and (copy == index).all() for index, copy in enumerate(copies))


def test_memory_that_was_taken_is_the_memory_that_is_used() -> None:
    staging = Staging()
    staging.warm(1 << 20, 1 << 20)
    staging.begin(1 << 19)
    first = staging.copy(torch.ones(8))
    staging.begin(1 << 20)
    second = staging.copy(torch.ones(8))
    assert first is not None and second is not None and first.data_ptr() == second.data_ptr()


@pytest.mark.parametrize(("step_s", "unwritten"), [(0.0, True), (10.0, False)])
def test_what_a_step_leaves_no_time_to_write(
    step_s: float, unwritten: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    parameter = torch.nn.Parameter(torch.zeros(1000))
    optimizer = torch.optim.AdamW([parameter])
    parameter.grad = torch.ones(1000)
    optimizer.step()
    now = [0.0]
    monkeypatch.setattr("fsdpwiz.train.saving.foresight.time.perf_counter", lambda: now[0])
    foresight, told = Foresight(), []
    for _ in range(5):
        now[0] += step_s
        told.append(foresight.unwritten_bytes(optimizer))
    assert told == [None, None, 12004 if unwritten else 0, None, None]


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


def test_training_does_not_wait_for_what_the_writer_has_copied() -> None:
    shared = Items(items(1))
    taken = shared.take()
    assert taken is not None
    settling = threading.Thread(target=shared.settle, args=(lambda tensor: None,), daemon=True)
    settling.start()
    time.sleep(0.05)
    assert settling.is_alive()
    shared.release(taken)
    settling.join(10)
    assert not settling.is_alive()
