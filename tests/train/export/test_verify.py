"""A folder that is not the trained model is found out, named, and not kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.train.export import spoilers
from tests.train.export.live_case import TRUTH, export_case
from tests.train.export.pool import Pool
from tests.train.plans import make_plan

pytestmark = pytest.mark.slow

DAMAGES: list[tuple[Callable[[Path], None], str]] = [
    (spoilers.flip_a_bit, f"the tensor `{spoilers.TENSOR}` differs from the trained one in 1 of"),
    (spoilers.drop_the_tensor, f"the tensor `{spoilers.TENSOR}` is missing"),
    (spoilers.drop_the_tensor_from_its_file_only, f"names `{spoilers.TENSOR}`, which no file holds"),
    (spoilers.transpose_the_shape, "has shape [54, 77], the architecture's is [77, 54]"),
    (spoilers.swap_the_dtype, "is torch.int32, not torch.float32"),
    (spoilers.truncate, "has a broken header"),
    (spoilers.break_the_config, "`from_pretrained` fails"),
    (spoilers.change_the_config, "`from_pretrained` reports unexpected keys"),
]


@pytest.mark.parametrize(("damage", "message"), DAMAGES, ids=[damage.__name__ for damage, _ in DAMAGES])
def test_damage_fails_the_export_on_every_rank(
    damage: Callable[[Path], None], message: str, pool: Pool, bases: dict[str, Path], tmp_path: Path
) -> None:
    plan = make_plan(bases["odd"], Path("messages.jsonl"), kind="FSDP2", ranks=2)
    answers = pool.run(export_case, 2, plan=plan, root=tmp_path, spoil=spoilers.Spoiler(damage))
    for answer in answers:
        assert answer["finding"]["code"] == "P011"
        assert message in answer["finding"]["message"]
    assert [path.name for path in tmp_path.iterdir()] == [TRUTH]


@pytest.mark.parametrize("kind", ["FSDP1", "DDP"])
def test_a_flipped_bit_is_found_whatever_holds_the_weights(
    kind: str, pool: Pool, bases: dict[str, Path], tmp_path: Path
) -> None:
    plan = make_plan(bases["odd"], Path("messages.jsonl"), kind=kind, ranks=2)
    answers = pool.run(export_case, 2, plan=plan, root=tmp_path, spoil=spoilers.Spoiler(spoilers.flip_a_bit))
    assert all(spoilers.TENSOR in answer["finding"]["message"] for answer in answers)


def test_a_flipped_bit_is_found_in_a_merged_tensor(
    pool: Pool, bases: dict[str, Path], tmp_path: Path
) -> None:
    peft = {"r": 2, "target_modules": ["up_proj"]}
    plan = make_plan(bases["odd"], Path("messages.jsonl"), kind="FSDP2", ranks=2, peft=peft)
    answers = pool.run(export_case, 2, plan=plan, root=tmp_path, spoil=spoilers.Spoiler(spoilers.flip_a_bit))
    assert all(spoilers.TENSOR in answer["finding"]["message"] for answer in answers)
    assert [path.name for path in tmp_path.iterdir()] == [TRUTH]


def test_a_full_disk_is_said_before_anything_is_written(
    pool: Pool, bases: dict[str, Path], tmp_path: Path
) -> None:
    plan = make_plan(bases["odd"], Path("messages.jsonl"), kind="FSDP2", ranks=2)
    answers = pool.run(export_case, 2, plan=plan, root=tmp_path, spoil=pretend_the_disk_is_full)
    assert {answer["finding"]["code"] for answer in answers} == {"P003"}
    assert "nothing was written" in answers[1]["finding"]["message"]
    assert [path.name for path in tmp_path.iterdir()] == [TRUTH]


def test_a_disk_that_fills_while_writing_stops_all_ranks(
    pool: Pool, bases: dict[str, Path], tmp_path: Path
) -> None:
    plan = make_plan(bases["odd"], Path("messages.jsonl"), kind="FSDP1", ranks=2)
    answers = pool.run(export_case, 2, plan=plan, root=tmp_path, spoil=limit_files_to_100_kb)
    assert {answer["finding"]["code"] for answer in answers} == {"P011"}
    assert "could not be written" in answers[1]["finding"]["message"]
    assert [path.name for path in tmp_path.iterdir()] == [TRUTH]


def pretend_the_disk_is_full() -> None:
    """What statvfs says is the one thing here that cannot be had for real."""
    import shutil

    original = shutil.disk_usage

    def full(path: Any) -> Any:
        shutil.disk_usage = original
        return original(path)._replace(free=1000)

    shutil.disk_usage = full


def limit_files_to_100_kb() -> None:
    import resource
    import signal

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))


def test_the_former_model_is_gone_when_an_export_fails(
    pool: Pool, bases: dict[str, Path], tmp_path: Path
) -> None:
    plan = make_plan(bases["odd"], Path("messages.jsonl"))
    assert pool.run(export_case, 1, plan=plan, root=tmp_path)[0]["finding"] is None
    answer = pool.run(export_case, 1, plan=plan, root=tmp_path, spoil=spoilers.Spoiler(spoilers.truncate))[0]
    assert answer["finding"]["code"] == "P011"
    assert [path.name for path in tmp_path.iterdir()] == [TRUTH]
