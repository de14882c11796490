"""Safetensors written and read in parts are what safetensors' own library reads and writes."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402

from fsdpwiz.core.errors import FsdpwizError  # noqa: E402
from fsdpwiz.train.export import folder as folders  # noqa: E402
from fsdpwiz.train.export import safetensors_file  # noqa: E402
from fsdpwiz.train.export.dtypes import dtype_of  # noqa: E402
from fsdpwiz.train.export.entry import Entry  # noqa: E402
from fsdpwiz.train.export.safetensors_file import DTYPES, read_header  # noqa: E402
from fsdpwiz.train.export.shards import Shards, ShardsWriter, stored_tensors  # noqa: E402

SHAPES = st.lists(st.lists(st.integers(0, 5), max_size=3).map(tuple), min_size=1, max_size=8)


def _tensors(shapes: list[tuple[int, ...]], dtypes: list[Any]) -> dict[str, Any]:
    return {
        f"t{index}": (torch.randn(shape) * 100).to(dtypes[index % len(dtypes)])
        for index, shape in enumerate(shapes)
    }


def _write(folder: Path, tensors: dict[str, Any], limit: int) -> Shards:
    entries = [Entry(name=name, shape=tuple(item.shape), dtype=item.dtype) for name, item in tensors.items()]
    shards = Shards.of(entries, limit)
    writer = ShardsWriter(folder, shards)
    for entry in entries:
        writer.put(entry, tensors[entry.name])
    writer.finish()
    return shards


@settings(max_examples=40, deadline=None)
@given(
    shapes=SHAPES,
    limit=st.integers(1, 400),
    dtypes=st.lists(st.sampled_from(list(DTYPES.values())[:10]), min_size=1),
)
def test_what_is_written_is_what_the_library_reads(
    shapes: list[tuple[int, ...]], limit: int, dtypes: list[Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder, tensors = tmp_path_factory.mktemp("shards"), _tensors(shapes, dtypes)
    shards = _write(folder, tensors, limit)
    read: dict[str, Any] = {}
    for name, group in shards.files.items():
        held = load_file(folder / name)
        assert sum(item.nbytes for item in held.values()) <= limit or len(group) == 1
        read.update(held)
    assert set(read) == set(tensors)
    for name, item in tensors.items():
        assert (read[name].shape, read[name].dtype) == (item.shape, item.dtype)
        assert torch.equal(read[name], item)
        assert torch.equal(stored_tensors(folder)[name].read().reshape(item.shape), item)


def test_blocks_and_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(safetensors_file, "BLOCK_BYTES", 64)
    monkeypatch.setattr(safetensors_file, "SYNC_BYTES", 128)
    tensors = {"a": torch.randn(37, 11), "b": torch.randn(5).to(torch.bfloat16)}
    _write(tmp_path, tensors, 10**9)
    stored = stored_tensors(tmp_path)["a"]
    assert torch.equal(stored.read(100, 77), tensors["a"].reshape(-1)[100:177])
    assert stored.read(407, 0).numel() == 0


def test_the_librarys_files_are_read(tmp_path: Path) -> None:
    tensors = {"a": torch.randn(3, 4), "b": torch.arange(5)}
    save_file(tensors, tmp_path / "model.safetensors", metadata={"format": "pt"})
    stored = stored_tensors(tmp_path)
    assert all(torch.equal(stored[name].read().reshape(item.shape), item) for name, item in tensors.items())


def test_a_tensor_that_never_comes_or_has_another_shape_is_an_error(tmp_path: Path) -> None:
    entries = [Entry(name=name, shape=(2,), dtype=torch.float32) for name in "ab"]
    writer = ShardsWriter(tmp_path, Shards.of(entries, 10**6))
    with pytest.raises(ValueError, match=r"`a` has shape \[3\], expected \[2\]"):
        writer.put(entries[0], torch.zeros(3))
    with pytest.raises(ValueError, match="never given"):
        writer.finish()


HEADERS: list[Any] = [
    {"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}},
    {"a": {"dtype": "F32", "shape": [-1, -1], "data_offsets": [0, 4]}},
    {"a": {"dtype": "F33", "shape": [1], "data_offsets": [0, 4]}},
    {"a": {"dtype": "F32", "shape": [1], "data_offsets": [400, 404]}},
    {"a": {"dtype": "F32", "shape": [1], "data_offsets": [-4, 0]}},
    {"a": {"dtype": "F32", "shape": ["x"], "data_offsets": [0, 4]}},
    {"a": {"dtype": "F32", "shape": [1]}},
    {"a": 5},
    [1, 2],
    "text",
]


@pytest.mark.parametrize("header", HEADERS, ids=range(len(HEADERS)))
def test_broken_headers_are_value_errors(header: Any, tmp_path: Path) -> None:
    text = json.dumps(header).encode()
    (tmp_path / "x").write_bytes(len(text).to_bytes(8, "little") + text + bytes(8))
    with pytest.raises(ValueError, match="broken header"):
        read_header(tmp_path / "x")


@settings(max_examples=200, deadline=None)
@given(raw=st.binary(max_size=200))
def test_any_bytes_are_a_value_error_at_worst(raw: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("raw") / "x"
    path.write_bytes(raw)
    with contextlib.suppress(ValueError):
        read_header(path)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("bf16", torch.bfloat16), ("torch.float16", torch.float16), ("float32", torch.float32)],
)
def test_dtypes_by_name(name: str, dtype: Any) -> None:
    assert dtype_of(name) is dtype


@pytest.mark.parametrize("name", ["int8", "no", "nn", "load", ""])
def test_what_is_no_dtype_is_said(name: str) -> None:
    with pytest.raises(ValueError, match="not a floating point dtype"):
        dtype_of(name)


def test_a_folder_appears_whole_and_replaces_the_former(tmp_path: Path) -> None:
    target = tmp_path / "model"
    for text in ("one", "two"):
        (folders.begin(target, 10) / "file").write_text(text)
        assert target.exists() == (text == "two")
        folders.commit(target)
        assert (target / "file").read_text() == text
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    with pytest.raises(RuntimeError), folders.discarded_on_failure(target, here=True):
        folders.begin(target, 10)
        raise RuntimeError
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_too_little_disk_is_a_finding(tmp_path: Path) -> None:
    with pytest.raises(FsdpwizError) as caught:
        folders.begin(tmp_path / "model", 10**18)
    assert caught.value.findings[0].code == "P003"
    assert list(tmp_path.iterdir()) == []
