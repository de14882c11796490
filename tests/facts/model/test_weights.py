import json
import os
import struct

import pytest

from fsdpwiz.facts.model.weights import Weights, read_weights


def safetensors(size_bytes=8):
    header = json.dumps(
        {"w": {"dtype": "F32", "shape": [size_bytes // 4], "data_offsets": [0, size_bytes]}}
    ).encode()
    return struct.pack("<Q", len(header)) + header + b"\0" * size_bytes


def header_alone(entry):
    header = json.dumps({"w": entry}).encode()
    return struct.pack("<Q", len(header)) + header + b"\0" * 8


def index(*names):
    return json.dumps(
        {"metadata": {}, "weight_map": {f"w{number}": name for number, name in enumerate(names)}}
    ).encode()


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:aa\nsize 123\n"
INDEX = "model.safetensors.index.json"
SHARDS = ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors")


def test_the_header_is_the_real_librarys(tmp_path):
    numpy = pytest.importorskip("numpy")
    save = pytest.importorskip("safetensors.numpy")
    save.save_file({"w": numpy.zeros(100)}, tmp_path / "model.safetensors")
    size_bytes = (tmp_path / "model.safetensors").stat().st_size
    assert read_weights(tmp_path) == Weights(present=True, size_bytes=size_bytes)
    os.truncate(tmp_path / "model.safetensors", size_bytes - 1)
    assert "cut short" in read_weights(tmp_path).problem


@pytest.mark.parametrize(
    ("files", "present", "problem"),
    [
        ({}, False, None),
        ({"config.json": b"{}", "training_args.bin": b"x"}, False, None),
        ({"model.safetensors": safetensors()}, True, None),
        ({"pytorch_model.bin": b"never unpickled"}, True, None),
        ({INDEX: index(*SHARDS), **dict.fromkeys(SHARDS, safetensors())}, True, None),
        ({"model.safetensors": b""}, True, "`model.safetensors` is empty"),
        ({"model.safetensors": POINTER}, True, "is a Git LFS pointer"),
        ({"pytorch_model.bin": POINTER}, True, "is a Git LFS pointer"),
        ({"model.safetensors": safetensors()[:20]}, True, "cut short"),
        ({"model.safetensors": b"\xff" * 64}, True, "not a safetensors file"),
        ({"model.safetensors": struct.pack("<Q", 4) + b"[[[["}, True, "cannot be read"),
        ({"model.safetensors": struct.pack("<Q", 8) + b'{"a":{}}'}, True, "cannot be read"),
        ({INDEX: index(*SHARDS), SHARDS[0]: safetensors()}, True, "1 of 2 weight files"),
        ({INDEX: index(*SHARDS)}, False, "2 of 2 weight files"),
        ({INDEX: index("../outside.safetensors")}, True, "outside its folder"),
        ({INDEX: index("/etc/passwd")}, True, "outside its folder"),
        ({INDEX: index("..\\x")}, True, "outside its folder"),
        ({INDEX: index("")}, True, "does not map to file names"),
        ({INDEX: b'{"weight_map": {"a": 3}}'}, True, "does not map to file names"),
        ({INDEX: b'{"weight_map": []}'}, True, "has no `weight_map`"),
        ({INDEX: b"[]"}, True, "holds a list, not an object"),
        ({INDEX: b"{"}, True, "not JSON"),
        ({"model.Q4.gguf": b"GGUF"}, True, "GGUF"),
        ({"consolidated.safetensors": safetensors()}, True, "only other names"),
        ({"pytorch_model-00001-of-00002.bin": b"x"}, True, "only parts"),
        ({"adapter_config.json": b"{}", "adapter_model.safetensors": safetensors()}, False, "an adapter"),
    ],
)
def test_what_a_folder_holds(tmp_path, files, present, problem):
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    found = read_weights(tmp_path)
    assert found.present is present
    assert (found.problem is None) if problem is None else (problem in found.problem)


def test_many_missing_files_are_counted_not_listed(tmp_path):
    (tmp_path / INDEX).write_bytes(index(*(f"part-{number}\x1b.safetensors" for number in range(50))))
    problem = read_weights(tmp_path).problem
    assert problem.startswith("50 of 50 weight files")
    assert problem.endswith("and 47 more")
    assert "\x1b" not in problem


def test_sizes_add_up(tmp_path):
    (tmp_path / INDEX).write_bytes(index(*SHARDS))
    for name in SHARDS:
        (tmp_path / name).write_bytes(safetensors(400))
    assert read_weights(tmp_path).size_bytes == 2 * len(safetensors(400))


def test_a_pipe_for_weights_does_not_hang(tmp_path):
    os.mkfifo(tmp_path / "model.safetensors")
    assert "not a plain file" in read_weights(tmp_path).problem


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"dtype": "F33", "shape": [2], "data_offsets": [0, 8]}, "`w` of the unknown dtype `F33`"),
        ({"dtype": [], "shape": [2], "data_offsets": [0, 8]}, "cannot be read"),
        ({"dtype": "F32", "shape": [3], "data_offsets": [0, 8]}, "do not make up its 8 bytes"),
        ({"dtype": "F32", "shape": [2], "data_offsets": [8, 0]}, "do not make up its -8 bytes"),
        ({"dtype": "F32", "shape": [-2], "data_offsets": [8, 0]}, "impossible shape"),
        ({"dtype": "F32", "shape": ["2"], "data_offsets": [0, 8]}, "impossible shape"),
        ({"dtype": "F32", "shape": [2**70, 0], "data_offsets": [0, 0]}, "impossible shape"),
        ({"dtype": "F32", "shape": 2, "data_offsets": [0, 8]}, "cannot be read"),
        ({"dtype": "F32", "shape": [2], "data_offsets": [0]}, "cannot be read"),
        ({"dtype": "F32", "shape": [2]}, "cannot be read"),
        ({"dtype": "F4", "shape": [16], "data_offsets": [0, 8]}, None),
        ({"dtype": "BF16", "shape": [2, 2], "data_offsets": [0, 8]}, None),
    ],
)
def test_a_tensor_that_the_format_refuses(tmp_path, entry, problem):
    (tmp_path / "model.safetensors").write_bytes(header_alone(entry))
    found = read_weights(tmp_path).problem
    assert found is None if problem is None else problem in found


def test_the_real_library_refuses_them_too(tmp_path):
    library = pytest.importorskip("safetensors")
    for entry in (
        {"dtype": "F33", "shape": [2], "data_offsets": [0, 8]},
        {"dtype": "F32", "shape": [3], "data_offsets": [0, 8]},
    ):
        (tmp_path / "model.safetensors").write_bytes(header_alone(entry))
        with pytest.raises(library.SafetensorError):
            library.safe_open(tmp_path / "model.safetensors", "numpy")
