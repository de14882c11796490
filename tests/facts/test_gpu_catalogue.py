import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsdpwiz.facts.gpu_catalogue import _plain, catalogued_gpus, gpu_by_name, nearest_gpu_names


@pytest.mark.parametrize(
    ("name", "expected", "memory_gb", "bf16"),
    [
        ("A100-80GB", "A100-80GB", 85.899, True),
        ("NVIDIA A100-SXM4-80GB", "A100-80GB", 85.899, True),
        ("nvidia_a100_80gb_pcie", "A100-80GB", 85.899, True),
        ("a100-40gb", "A100-40GB", 42.950, True),
        ("h100", "H100-80GB", 85.521, True),
        ("NVIDIA H200", "H200", 150.755, True),
        ("b200", "B200", 192.266, True),
        ("NVIDIA GeForce RTX 4090", "RTX-4090", 25.757, True),
        ("rtx 3090", "RTX-3090", 25.770, True),
        ("TITAN RTX", "TITAN-RTX", 25.770, False),
        ("Tesla T4", "T4", 16.106, False),
        ("v100-32gb", "V100-32GB", 34.360, False),
        ("l4", "L4", 24.153, True),
    ],
)
def test_found_by_any_name(name, expected, memory_gb, bf16):
    gpu = gpu_by_name(name)
    assert gpu.name == expected
    assert gpu.memory_bytes / 1e9 == pytest.approx(memory_gb, abs=0.001)
    assert gpu.bf16 is bf16


def test_peaks_are_dense_ones_of_16_bits():
    peaks = {gpu.name: gpu.half_flops / 1e12 for gpu in catalogued_gpus()}
    assert (peaks["A100-80GB"], peaks["H100-80GB"], peaks["H200"], peaks["V100-16GB"]) == (312, 989, 989, 125)
    assert all(50 < peak < 3000 for peak in peaks.values())


def test_a_name_that_could_be_two_cards_is_none_of_them():
    assert gpu_by_name("A100") is None
    assert nearest_gpu_names("A100")[:2] == ("A100-80GB", "A100-40GB")


def test_nearest_names():
    assert "RTX-4090" in nearest_gpu_names("RTX 4O90")
    assert nearest_gpu_names("") == ()


def test_no_name_means_two_cards():
    plain = [_plain(name) for gpu in catalogued_gpus() for name in {gpu.name, *gpu.aliases}]
    owners = [(_plain(name), gpu.name) for gpu in catalogued_gpus() for name in (gpu.name, *gpu.aliases)]
    assert len({name for name, _ in owners}) == len(set(owners))
    assert all(plain)
    assert len(catalogued_gpus()) >= 25


def test_the_files_bf16_flag_follows_from_the_capability():
    import json
    from importlib.resources import files

    document = json.loads((files("fsdpwiz.facts") / "catalog" / "gpus.json").read_text())
    assert all(entry["bf16"] == gpu_by_name(entry["name"]).bf16 for entry in document["gpus"])


@given(st.text(max_size=200))
def test_any_text_is_looked_up(name):
    gpu_by_name(name)
    assert len(nearest_gpu_names(name)) <= 3
