import pytest

from fsdpwiz.facts.declared import declared_gpus, declared_host
from fsdpwiz.facts.unknown import UnknownFact


def test_memory_from_the_catalogue():
    gpus = declared_gpus({"gpus_per_node": 2, "gpu": "a100-80gb"})
    assert gpus.source == "catalogued"
    assert [(card.index, card.name, card.memory_bytes) for card in gpus.cards] == [
        (0, "A100-80GB", 81920 * 2**20),
        (1, "A100-80GB", 81920 * 2**20),
    ]
    assert gpus.cards[0].compute_capability == (8, 0)


def test_memory_as_declared_wins():
    gpus = declared_gpus({"gpus_per_node": 1, "gpu": "A100-80GB", "gpu_memory_gb": 85.1})
    assert gpus.source == "declared"
    assert gpus.cards[0].memory_bytes == 85_100_000_000


def test_a_card_the_catalogue_lacks():
    gpus = declared_gpus({"gpus_per_node": 1, "gpu": "X1\x1b[31m", "gpu_memory_gb": 10})
    assert gpus.cards[0].name == "X1\\x1b[31m"
    assert gpus.cards[0].compute_capability is None


def test_device_cpu_has_none():
    assert declared_gpus({"device": "cpu", "processes_per_node": 2}).cards == ()


@pytest.mark.parametrize(
    ("cluster", "reason"),
    [
        ({}, "`cluster.gpus_per_node` is not given"),
        ({"gpus_per_node": True, "gpu": "L4"}, "`cluster.gpus_per_node` is not given"),
        ({"gpus_per_node": 10**9, "gpu": "L4"}, "`cluster.gpus_per_node` is not given"),
        ({"gpus_per_node": 1}, "`cluster.gpu` is not given"),
        ({"gpus_per_node": 1, "gpu": "A100"}, "the nearest are `A100-80GB`, `A100-40GB`"),
        ({"gpus_per_node": 1, "gpu": "zzz", "gpu_memory_gb": float("nan")}, "no GPU `zzz`"),
    ],
)
def test_too_little_said(cluster, reason):
    with pytest.raises(UnknownFact, match=reason):
        declared_gpus(cluster)


def test_host():
    assert declared_host({"host_memory_gb": 1000}).memory_bytes == 10**12
    for value in (None, 0, -1, True, "1000", float("inf")):
        with pytest.raises(UnknownFact):
            declared_host({"host_memory_gb": value})
