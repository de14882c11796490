"""`.metadata` is read by an unpickler that runs nothing, and what it says is checked."""

from __future__ import annotations

import os
import pickle
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import torch.distributed.checkpoint as dcp  # noqa: E402
from torch.distributed.checkpoint.metadata import ChunkStorageMetadata  # noqa: E402

from fsdpwiz.core.errors import FsdpwizError  # noqa: E402
from fsdpwiz.train.export.metadata import read_metadata  # noqa: E402
from fsdpwiz.train.export.weights import DistributedWeights  # noqa: E402

TENSORS = {
    "a": torch.arange(12.0).reshape(3, 4),
    "b": torch.ones(2, dtype=torch.bfloat16),
    "c": torch.tensor(3),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    state = {"model": {**TENSORS, "step": 7}}
    dcp.save(state, storage_writer=dcp.FileSystemWriter(tmp_path / "dcp"), no_dist=True)
    return tmp_path / "dcp"


def _refused(folder: Path) -> str:
    with pytest.raises(FsdpwizError) as caught:
        read_metadata(folder)
    assert caught.value.findings[0].code == "P013"
    return caught.value.findings[0].message


def test_a_sound_checkpoint_is_read_tensor_by_tensor(folder: Path) -> None:
    weights = DistributedWeights(folder)
    assert set(weights.tensors) == {f"model.{name}" for name in TENSORS}
    for name, tensor in TENSORS.items():
        assert weights.tensors[f"model.{name}"] == (tuple(tensor.shape), tensor.dtype)
        assert torch.equal(weights.read(f"model.{name}"), tensor)


class Bomb:
    def __init__(self, call: Callable[..., Any], *arguments: Any) -> None:
        self._reduced = call, arguments

    def __reduce__(self) -> Any:
        return self._reduced


@pytest.mark.parametrize(
    "bomb",
    [
        Bomb(os.system, "touch {victim}"),
        Bomb(eval, "open('{victim}', 'w')"),
        Bomb(torch.load, "{victim}"),
        Bomb(getattr, "x", "y"),
    ],
    ids=["system", "eval", "torch.load", "getattr"],
)
def test_nothing_in_it_is_run(bomb: Bomb, folder: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    bomb._reduced = bomb._reduced[0], tuple(str(item).format(victim=victim) for item in bomb._reduced[1])
    (folder / ".metadata").write_bytes(pickle.dumps(bomb))
    assert "which no torch checkpoint holds" in _refused(folder)
    assert not victim.exists()


@pytest.mark.parametrize(
    "content", [b"", b"\x80\x04.", pickle.dumps({"a": 1}), b"not a pickle", pickle.dumps(None)]
)
def test_what_is_no_metadata_is_refused(content: bytes, folder: Path) -> None:
    (folder / ".metadata").write_bytes(content)
    assert ".metadata" in _refused(folder)


def test_without_metadata_the_save_did_not_end(folder: Path) -> None:
    (folder / ".metadata").unlink()
    assert "the save did not end" in _refused(folder)


def _changed(folder: Path, change: Callable[[Any], None]) -> str:
    metadata = pickle.loads((folder / ".metadata").read_bytes())
    change(metadata)
    (folder / ".metadata").write_bytes(pickle.dumps(metadata))
    return _refused(folder)


def _info(metadata: Any) -> Any:
    return next(iter(metadata.storage_data.values()))


def test_files_outside_the_folder_are_refused(folder: Path) -> None:
    def change(metadata: Any) -> None:
        _info(metadata).relative_path = "../secret"

    assert "is not the name of a file of this folder" in _changed(folder, change)


def test_links_out_of_the_folder_are_refused(folder: Path, tmp_path: Path) -> None:
    shard = next(folder.glob("*.distcp"))
    shard.rename(tmp_path / "elsewhere")
    shard.symlink_to(tmp_path / "elsewhere")
    assert "a link that leads out of the folder" in _refused(folder)


def test_a_missing_or_short_shard_is_named(folder: Path) -> None:
    shard = next(folder.glob("*.distcp"))
    shard.write_bytes(shard.read_bytes()[:100])
    assert f"`{shard.name}` is shorter" in _refused(folder)
    shard.unlink()
    assert f"`{shard.name}` is missing" in _refused(folder)


@pytest.mark.parametrize(
    "chunks",
    [
        [],
        [((0, 0), (2, 4))],
        [((0, 0), (3, 4)), ((0, 0), (3, 4))],
        [((0, 0), (2, 4)), ((1, 0), (1, 4))],
        [((0, 0), (3, 2)), ((1, 1), (2, 3))],
        [((1, 0), (3, 4))],
    ],
)
def test_parts_that_do_not_make_up_their_tensor_are_refused(chunks: list[Any], folder: Path) -> None:
    def change(metadata: Any) -> None:
        metadata.state_dict_metadata["model.a"].chunks[:] = [
            ChunkStorageMetadata(offsets=torch.Size(offsets), sizes=torch.Size(sizes))
            for offsets, sizes in chunks
        ]

    assert "`model.a`" in _changed(folder, change)


def test_damaged_bytes_never_get_further_than_a_finding(folder: Path) -> None:
    good, rng = (folder / ".metadata").read_bytes(), random.Random(5)
    for _ in range(300):
        raw = bytearray(good)
        for _ in range(rng.randint(1, 4)):
            raw[rng.randrange(len(raw))] = rng.randrange(256)
        (folder / ".metadata").write_bytes(raw[: rng.randint(1, len(raw))] if rng.random() < 0.2 else raw)
        try:
            read_metadata(folder)
        except FsdpwizError as error:
            assert error.findings[0].code == "P013"
