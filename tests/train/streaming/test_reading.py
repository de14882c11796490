"""Parts of a stored tensor, whatever its shape and the block."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import save_file

from fsdpwiz.train.export.safetensors_file import read_header
from fsdpwiz.train.streaming.reading import Reader


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_a_part_is_the_slice(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 7), min_size=0, max_size=4), label="shape"))
    begins = [data.draw(st.integers(0, size - 1)) for size in shape]
    ends = [data.draw(st.integers(begin, size)) for begin, size in zip(begins, shape, strict=True)]
    stored_dtype = data.draw(st.sampled_from([torch.float32, torch.bfloat16, torch.float16]), label="stored")
    dtype = data.draw(st.sampled_from([torch.float32, torch.bfloat16]), label="wanted")
    block_bytes = data.draw(st.sampled_from([8, 64, 1 << 20]), label="block")
    tensor = torch.arange(torch.Size(shape).numel(), dtype=stored_dtype).reshape(shape)
    path = tmp_path_factory.mktemp("part") / "a.safetensors"
    save_file({"before": torch.ones(3), "a": tensor}, path)
    wanted = tensor[tuple(slice(begin, end) for begin, end in zip(begins, ends, strict=True))].to(dtype)
    into = torch.full(wanted.shape, -1.0, dtype=dtype)
    with Reader(block_bytes) as reader:
        reader.fill(into, read_header(path)["a"], begins)
        assert reader.read_bytes == wanted.numel() * stored_dtype.itemsize
    assert torch.equal(into, wanted)


def test_a_file_that_became_shorter_is_said(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    save_file({"a": torch.ones(100)}, path)
    stored = read_header(path)["a"]
    os.truncate(path, path.stat().st_size - 40)
    with Reader() as reader, pytest.raises(EOFError, match="damaged, or changing"):
        reader.fill(torch.empty(100), stored, (0,))
