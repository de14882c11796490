"""Every rank writes its own rows; where that cannot be, rank 0 gathers them and says why."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.train.export.folders import differing, tensors_of
from tests.train.export.live_case import TRUTH, export_case
from tests.train.export.pool import Pool
from tests.train.plans import make_plan

pytestmark = pytest.mark.slow

HYBRID = {
    "parallelism": {"dp_replicate_size": 2, "dp_shard_size": 2},
    "mesh": {"dp_replicate": 2, "dp_shard": 2},
}


@dataclass(frozen=True)
class NothingIsGathered:
    """Until the model is verified this rank cannot gather a tensor."""

    def __call__(self) -> None:
        from fsdpwiz.train.export import live, produce

        whole, verify = live.whole, produce.verify

        def refused(tensor: Any) -> Any:
            raise AssertionError(f"a tensor of shape {tuple(tensor.shape)} was gathered")

        def verified(*arguments: Any) -> Any:
            live.whole, produce.verify = whole, verify
            return verify(*arguments)

        live.whole, produce.verify = refused, verified  # type: ignore[assignment]


@dataclass(frozen=True)
class FolderOfItsOwn:
    """Rank 1 does not see what rank 0 writes."""

    def __call__(self) -> None:
        import torch.distributed as dist

        from fsdpwiz.train.export import direct

        if dist.get_rank() != 1:
            return
        original = direct._probe_of

        def probe_of(folder: Path) -> str | None:
            direct._probe_of = original
            return original(folder.with_name("elsewhere"))

        direct._probe_of = probe_of


@dataclass(frozen=True)
class WritesFail:
    """The first write at an offset of rank 1 fails with an error number."""

    number: int

    def __call__(self) -> None:
        import torch.distributed as dist

        original = os.pwrite

        def pwrite(*_: Any) -> int:
            os.pwrite = original
            raise OSError(self.number, os.strerror(self.number))

        if dist.get_rank() == 1:
            os.pwrite = pwrite


def plan_of(base: Path, **changes: Any) -> Any:
    return make_plan(base, Path("messages.jsonl"), kind="FSDP2", **{"ranks": 2, **changes})


def assert_the_trained_weights(root: Path) -> None:
    import torch

    truth, stored = torch.load(root / TRUTH), tensors_of(root / "model")
    assert differing(stored, {name: truth[name] for name in stored}) == []


@pytest.mark.parametrize("how", [{"ranks": 2}, {"ranks": 4}, {"ranks": 4, **HYBRID}])
def test_nothing_is_gathered(how: dict[str, Any], pool: Pool, bases: dict[str, Path], tmp_path: Path) -> None:
    plan = plan_of(bases["odd"], **how)
    reports = pool.run(export_case, how["ranks"], plan=plan, root=tmp_path, spoil=NothingIsGathered())
    assert [report["report"].gathered for report in reports] == [None] * how["ranks"]
    assert_the_trained_weights(tmp_path)


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (FolderOfItsOwn(), "is not the same one on every node"),
        (WritesFail(errno.EINVAL), "does not take files that several processes write"),
    ],
)
def test_another_way_is_taken_and_said(
    spoil: Any, reason: str, pool: Pool, bases: dict[str, Path], tmp_path: Path
) -> None:
    reports = pool.run(export_case, 2, plan=plan_of(bases["odd"]), root=tmp_path, spoil=spoil)
    assert all(reason in report["report"].gathered for report in reports)
    assert_the_trained_weights(tmp_path)
    assert not list((tmp_path / "model").glob(".*"))


def test_a_disk_that_fills_up_for_one_rank_stops_all(
    pool: Pool, bases: dict[str, Path], tmp_path: Path
) -> None:
    reports = pool.run(
        export_case, 2, plan=plan_of(bases["odd"]), root=tmp_path, spoil=WritesFail(errno.ENOSPC)
    )
    assert [report["finding"]["code"] for report in reports] == ["P003", "P003"]
    assert not list(tmp_path.glob("*model*"))
