"""The GPU reader against the real pynvml over a compiled stand-in for the driver's library."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fsdpwiz.facts.gpus import read_gpus

PROGRAM = """
import json, os
from fsdpwiz.facts.gpus import read_gpus
from fsdpwiz.facts.to_json import to_json
from fsdpwiz.facts.unknown import UnknownFact
try:
    print(json.dumps(to_json(read_gpus(os.environ))))
except UnknownFact as reason:
    print(json.dumps({"unknown": str(reason)}))
"""
NOT_SUPPORTED, NO_PERMISSION, DRIVER_NOT_LOADED, MISMATCH = 3, 4, 9, 18


@pytest.fixture(scope="module")
def library_folder(tmp_path_factory) -> Path:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler here to build the stand-in for NVIDIA's library")
    folder = tmp_path_factory.mktemp("nvml")
    source = Path(__file__).with_name("nvml_imitation.c")
    target = folder / "libnvidia-ml.so.1"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", target, source], check=True, timeout=60)
    return folder


@pytest.fixture
def read(library_folder):
    def read_with(**environ: str):
        base = {name: value for name, value in os.environ.items() if name != "CUDA_VISIBLE_DEVICES"}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**base, "LD_LIBRARY_PATH": str(library_folder), **environ},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return read_with


def test_reads_every_card(read):
    gpus = read()
    assert gpus["source"] == "measured"
    assert gpus["driver"] == "580.65.06"
    assert gpus["cuda"] == "13.0"
    assert [card["index"] for card in gpus["cards"]] == [0, 1]
    assert gpus["cards"][1] == {
        "index": 1,
        "name": "NVIDIA A100-SXM4-80GB",
        "memory_bytes": 81920 * 2**20,
        "memory_free_bytes": 80896 * 2**20,
        "compute_capability": [8, 0],
        "uuid": "GPU-10000000-aaaa",
        "mig": False,
    }


@pytest.mark.parametrize(
    ("visible", "indices"),
    [("", []), ("-1", []), ("1", [1]), ("1,0", [1, 0]), ("0,9,1", [0]), ("GPU-1", [1]), ("0,0", [])],
)
def test_respects_visible_devices(read, visible, indices):
    assert [card["index"] for card in read(CUDA_VISIBLE_DEVICES=visible)["cards"]] == indices


@pytest.mark.parametrize("code", [NOT_SUPPORTED, 12345])
@pytest.mark.parametrize(
    ("function", "key"),
    [
        ("nvmlSystemGetDriverVersion", "driver"),
        ("nvmlSystemGetCudaDriverVersion", "cuda"),
    ],
)
def test_a_version_that_fails_is_unknown(read, function, key, code):
    gpus = read(NVML_FAIL=f"{function}:{code}")
    assert gpus[key] is None
    assert len(gpus["cards"]) == 2


@pytest.mark.parametrize("code", [NO_PERMISSION, 999])
@pytest.mark.parametrize(
    ("function", "key", "value"),
    [
        ("nvmlDeviceGetName", "name", "unknown GPU"),
        ("nvmlDeviceGetUUID", "uuid", None),
        ("nvmlDeviceGetCudaComputeCapability", "compute_capability", None),
    ],
)
def test_a_property_that_fails_is_unknown(read, function, key, value, code):
    cards = read(NVML_FAIL=f"{function}:{code}")["cards"]
    assert [card[key] for card in cards] == [value, value]


def test_a_lost_card_is_named_and_the_others_stay(read):
    gpus = read(NVML_LOST="0")
    assert [card["index"] for card in gpus["cards"]] == [1]
    assert gpus["unreadable"] == ["GPU 0 does not say how much memory it has"]


def test_cards_without_handles_are_named(read):
    gpus = read(NVML_FAIL=f"nvmlDeviceGetHandleByIndex:{NO_PERMISSION}")
    assert gpus["cards"] == []
    assert gpus["unreadable"] == ["GPU 0 does not answer", "GPU 1 does not answer"]


def test_an_unanswered_count_is_unknown(read):
    assert read(NVML_FAIL="nvmlDeviceGetCount:999") == {
        "unknown": "NVML does not say how many GPUs there are"
    }


def test_a_driver_that_is_not_loaded_means_none(read):
    assert read(NVML_INIT=str(DRIVER_NOT_LOADED))["cards"] == []


def test_a_driver_that_does_not_start_is_unknown(read):
    assert "NVML does not start" in read(NVML_INIT=str(MISMATCH))["unknown"]


def test_no_library_means_none():
    if shutil.which("nvidia-smi"):
        pytest.skip("there is a driver here")
    assert read_gpus({}).cards == ()


def test_a_card_cut_into_slices_shows_its_first_slice(read):
    cards = read(NVML_MIG="1")["cards"]
    assert [(card["index"], card["mig"]) for card in cards] == [(0, False), (1, True)]
    assert cards[1]["memory_bytes"] == 40192 * 2**20
    assert cards[1]["compute_capability"] == [8, 0]


def test_a_slice_chosen_by_id(read):
    cards = read(NVML_MIG="1", CUDA_VISIBLE_DEVICES="MIG-slice-0")["cards"]
    assert [(card["index"], card["uuid"]) for card in cards] == [(1, "MIG-slice-0")]


def test_slices_that_are_not_there_are_named(read):
    assert read(NVML_MIG="0", NVML_NO_SLICE="1")["unreadable"] == ["GPU 0 has MIG on and no slice made"]
    gpus = read(CUDA_VISIBLE_DEVICES="MIG-other")
    assert gpus["unreadable"] == ["MIG slice `MIG-other` is not on this machine"]


def test_no_cards_at_all(read):
    assert read(NVML_CARDS="0")["cards"] == []
