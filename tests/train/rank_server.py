"""One rank process of `ranks.Ranks`: reads cases from its standard input, answers on its standard output."""

from __future__ import annotations

import gc
import importlib
import json
import os
import random
import sys
import traceback
from pathlib import Path
from typing import Any


def serve() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    _import_everything()
    clean = dict(os.environ)
    for line in sys.stdin:
        answers.write(json.dumps(_case(json.loads(line))) + "\n")
        answers.flush()
        _forget(clean)


def _import_everything() -> None:
    import torch

    for name in ("accelerate.commands.launch", "peft", "trl.trainer.sft_trainer"):
        importlib.import_module(name)
    torch.set_num_threads(1)


def _case(request: dict[str, Any]) -> dict[str, Any]:
    from fsdpwiz.plan.types import Plan
    from fsdpwiz.runs.layout import RunFolder
    from fsdpwiz.train.run import run

    path = Path(request["plan"])
    plan = Plan.read(path)
    _enter(Plan.from_json(request["launched_as"]), request["port"])
    report: dict[str, Any] = {"error": None, "finding": None}
    try:
        run(plan, RunFolder(path.parent), attempt=request["attempt"])
    except BaseException as error:
        traceback.print_exc()
        report["error"] = f"{type(error).__name__}: {error}"
        findings = getattr(error, "findings", ())
        report["finding"] = findings[0].to_json() if findings else None
    return report


def _enter(plan: Any, port: int) -> None:
    """Take on the environment that `accelerate launch` gives the ranks of this plan."""
    from tests.train.launched import launched_environment

    rank, size = os.environ["RANK_SERVER_RANK"], str(plan.world.world_size)
    os.environ.update(launched_environment(plan, port))
    if plan.world.distributed_type != "NO":
        os.environ.update(RANK=rank, LOCAL_RANK=rank, WORLD_SIZE=size, LOCAL_WORLD_SIZE=size)
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))


def _forget(clean: dict[str, str]) -> None:
    import numpy as np
    import torch
    import torch.distributed as dist
    from accelerate.state import AcceleratorState, GradientState, PartialState

    gc.collect()
    if dist.is_initialized():
        dist.destroy_process_group()
    AcceleratorState._reset_state(reset_partial_state=True)
    GradientState._reset_state()
    PartialState._reset_state()
    for name in set(os.environ) - set(clean):
        del os.environ[name]
    os.environ.update(clean)
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    gc.collect()


if __name__ == "__main__":
    serve()
