"""Real damage done to the written files between writing and verifying."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TENSOR = "model.layers.1.mlp.up_proj.weight"


@dataclass(frozen=True)
class Spoiler:
    """Called on every rank before the export: makes the export's verification find damaged files."""

    damage: Callable[[Path], None]

    def __call__(self) -> None:
        from fsdpwiz.train.export import produce

        original = produce.verify

        def verify(state: Any, folder: Path, architecture: Any, ranks: Any) -> Any:
            produce.verify = original
            ranks.from_first(lambda: self.damage(folder))
            return original(state, folder, architecture, ranks)

        produce.verify = verify  # type: ignore[assignment]


def _file(folder: Path) -> tuple[Path, dict[str, Any], int]:
    for path in sorted(folder.glob("*.safetensors")):
        raw = path.read_bytes()
        length = int.from_bytes(raw[:8], "little")
        header = json.loads(raw[8 : 8 + length])
        if TENSOR in header:
            return path, header, 8 + length
    raise AssertionError(TENSOR)


def flip_a_bit(folder: Path) -> None:
    """One bit of the tensor's last element."""
    path, header, start = _file(folder)
    raw = bytearray(path.read_bytes())
    raw[start + header[TENSOR]["data_offsets"][1] - 1] ^= 1
    path.write_bytes(raw)


def _rewrite_header(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    path, header, start = _file(folder)
    data = path.read_bytes()[start:]
    change(header)
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def drop_the_tensor(folder: Path) -> None:
    _rewrite_header(folder, lambda header: header.pop(TENSOR))
    index = folder / "model.safetensors.index.json"
    document = json.loads(index.read_text())
    del document["weight_map"][TENSOR]
    index.write_text(json.dumps(document))


def drop_the_tensor_from_its_file_only(folder: Path) -> None:
    _rewrite_header(folder, lambda header: header.pop(TENSOR))


def transpose_the_shape(folder: Path) -> None:
    _rewrite_header(folder, lambda header: header[TENSOR]["shape"].reverse())


def swap_the_dtype(folder: Path) -> None:
    _rewrite_header(folder, lambda header: header[TENSOR].update(dtype="I32"))


def truncate(folder: Path) -> None:
    path, _, _ = _file(folder)
    path.write_bytes(path.read_bytes()[:-100])


def break_the_config(folder: Path) -> None:
    (folder / "config.json").write_text('{"model_type": "no-such-model"}')


def change_the_config(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    config["num_hidden_layers"] = 2
    (folder / "config.json").write_text(json.dumps(config))
