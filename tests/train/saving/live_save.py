"""One rank of a save: a sharded model and its AdamW, saved while it takes further steps."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

HIDDEN = 96


def trained(ranks: int, replicate: int = 1) -> tuple[Any, Any, Any]:
    """Model, optimizer and a function that takes one step, on the process group made here."""
    import torch
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    dist.init_process_group("gloo")
    torch.manual_seed(1)
    names = ("replicate", "shard") if replicate > 1 else ("shard",)
    shape = (replicate, ranks // replicate) if replicate > 1 else (ranks,)
    mesh = init_device_mesh("cpu", shape, mesh_dim_names=names)
    model = torch.nn.Sequential(
        *(torch.nn.Linear(HIDDEN, HIDDEN) for _ in range(6)), torch.nn.Linear(HIDDEN, 7)
    )
    for layer in model:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    inputs = torch.randn(4, HIDDEN, generator=torch.Generator().manual_seed(2))

    def step() -> None:
        model(inputs).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()

    step()
    return model, optimizer, step


def plan_of(ranks: int, staging_gb: float | None, replicate: int = 1) -> Any:
    from tests.train.plans import make_plan

    return make_plan(
        Path("model"),
        Path("rows.jsonl"),
        kind="FSDP2",
        ranks=ranks,
        mesh={"dp_replicate": replicate, "dp_shard": ranks // replicate},
        checkpoint={"mode": "async", "staging_gb": staging_gb, "export_dtype": None},
    )


def snapshot(model: Any, optimizer: Any) -> dict[str, Any]:
    """This rank's part of everything that a checkpoint holds, copied."""
    from fsdpwiz.train.saving.checkpointer import _states

    found: dict[str, Any] = {}
    _collect(found, "", _states(model, optimizer, adapter_only=False))
    return found


def _collect(found: dict[str, Any], path: str, value: Any) -> None:
    import torch

    if isinstance(value, dict):
        for key, item in value.items():
            _collect(found, f"{path}/{key}", item)
    elif isinstance(value, torch.Tensor):
        local = value.to_local() if hasattr(value, "to_local") else value
        found[path] = local.detach().clone()
    else:
        found[path] = value


def saved_case(
    folder: Path, ranks: int, *, staging_gb: float | None, slow_s: float, replicate: int = 1, saves: int = 1
) -> dict[str, Any]:
    """Save, step twice while the (slowed) writer writes, wait; what a stock load of the files differs in."""
    from fsdpwiz.train.saving import shard_file
    from fsdpwiz.train.saving.checkpointer import Checkpointer

    slow(shard_file.ShardFile, slow_s)
    model, optimizer, step = trained(ranks, replicate)
    stalls: list[float] = []
    checkpointer = Checkpointer(plan_of(ranks, staging_gb, replicate), stalls.append)
    completed: list[Any] = []
    differences, changed = [], 0
    for number in range(saves):
        where = folder / str(number)
        begin(checkpointer, where, model, optimizer, completed)
        before = snapshot(model, optimizer)
        step()
        step()
        checkpointer.wait()
        after = snapshot(model, optimizer)
        changed = sum(not _equal(before[name], after[name]) for name in before)
        differences += differing(where, model, optimizer, before)
    return {
        "differences": differences,
        "changed": changed,
        "copied_bytes": checkpointer.copied_bytes,
        "stalls": stalls,
        "completed": completed,
    }


def begin(checkpointer: Any, where: Path, model: Any, optimizer: Any, completed: list[Any]) -> None:
    where.mkdir(parents=True, exist_ok=True)
    checkpointer.begin(where, model, optimizer, adapter_only=False, complete=completed.append)


def slow(kind: Any, seconds: float) -> None:
    """Let each entry of a file take `seconds` longer; the first call's original is kept."""
    original = getattr(kind, "_original_put", kind.put)
    kind._original_put = original

    def put(self: Any, entry: Any, data: Any) -> Any:
        time.sleep(seconds)
        return original(self, entry, data)

    kind.put = put


def differing(where: Path, model: Any, optimizer: Any, before: dict[str, Any]) -> list[str]:
    """Entries of a checkpoint, loaded by torch's own means, that are not those of `before`."""
    import torch.distributed.checkpoint as dcp

    from fsdpwiz.train.saving.checkpointer import _states

    loaded: dict[str, Any] = {}
    for name, state in _states(model, optimizer, adapter_only=False).items():
        dcp.load(state, storage_reader=dcp.FileSystemReader(where / name))
        _collect(loaded, f"/{name}", state)
    return sorted(name for name in before if not _equal(before[name], loaded.get(name)))


def _equal(one: Any, two: Any) -> bool:
    import torch

    if isinstance(one, torch.Tensor):
        return isinstance(two, torch.Tensor) and torch.equal(one, two)
    return bool(one == two)


def failing_case(folder: Path, ranks: int, failing: int) -> dict[str, Any]:
    """The writer of one rank fails; then a save that succeeds."""
    import torch.distributed as dist

    from fsdpwiz.train.saving import shard_file
    from fsdpwiz.train.saving.checkpointer import Checkpointer

    slow(shard_file.ShardFile, 0.0)
    model, optimizer, step = trained(ranks)
    checkpointer = Checkpointer(plan_of(ranks, None), lambda seconds: None)
    completed: list[Any] = []
    put = shard_file.ShardFile.put

    def full(self: Any, entry: Any, data: Any) -> Any:
        raise OSError(28, "No space left on device")

    if dist.get_rank() == failing:
        shard_file.ShardFile.put = full  # type: ignore[method-assign]
    begin(checkpointer, folder / "failed", model, optimizer, completed)
    step()
    shard_file.ShardFile.put = put  # type: ignore[method-assign]
    try:
        checkpointer.wait()
        error = ""
    except Exception as raised:
        error = str(raised)
    failed = list(completed)
    begin(checkpointer, folder / "again", model, optimizer, completed)
    before = snapshot(model, optimizer)
    step()
    checkpointer.wait()
    return {
        "error": error,
        "failed": failed,
        "differences": differing(folder / "again", model, optimizer, before),
        "metadata": (folder / "failed" / "optimizer_0" / ".metadata").exists(),
    }


def full_disk_case(folder: Path, ranks: int) -> dict[str, Any]:
    """Two saves on a disk that has room for one of them."""
    from fsdpwiz.train.saving import shard_file
    from fsdpwiz.train.saving.checkpointer import Checkpointer

    slow(shard_file.ShardFile, 0.0)
    model, optimizer, step = trained(ranks)
    checkpointer = Checkpointer(plan_of(ranks, None), lambda seconds: None)
    errors, before = [], snapshot(model, optimizer)
    for name in ("first", "second"):
        begin(checkpointer, folder / name, model, optimizer, [])
        step()
        try:
            checkpointer.wait()
            errors.append("")
        except Exception as error:
            errors.append(str(error))
    changed = snapshot(model, optimizer)
    step()
    return {
        "first": errors[0],
        "second": errors[1],
        "differences": differing(folder / "first", model, optimizer, before),
        "stepped": any(
            not _equal(value, changed[name]) for name, value in snapshot(model, optimizer).items()
        ),
    }
