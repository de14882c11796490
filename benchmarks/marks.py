"""What both sides of a benchmark have in a rank: marks of what was done when, chosen saves, idle steps.

It hooks into transformers alone, so that both sides are followed by the same code. A mark is a line of
`marks-R.jsonl`: {"time": unix seconds, "mark": name, …}.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any


class Marks:
    """The marks of this rank."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / f"marks-{os.environ['RANK']}.jsonl"

    def add(self, mark: str, **values: Any) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"time": time.time(), "mark": mark, **values}) + "\n")


def read(folder: Path, rank: int) -> list[dict[str, Any]]:
    """A rank's marks in their order."""
    lines = (folder / f"marks-{rank}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def follow(marks: Marks, saves: Collection[int] = ()) -> None:
    """Mark the begin of the training and the end of each step; save after the steps in `saves` alone."""
    from transformers.trainer_callback import DefaultFlowCallback

    upstream = DefaultFlowCallback.on_step_end

    def on_train_begin(*_: Any, **__: Any) -> None:
        marks.add("train")

    def on_step_end(self: Any, args: Any, state: Any, control: Any, **kwargs: Any) -> Any:
        marks.add("step", step=state.global_step)
        control = upstream(self, args, state, control, **kwargs)
        control.should_save = state.global_step in saves
        return control

    DefaultFlowCallback.on_train_begin = on_train_begin
    DefaultFlowCallback.on_step_end = on_step_end


def time_saves(marks: Marks) -> None:
    """Mark how long each of the Trainer's saves kept the loop waiting."""
    from transformers import Trainer

    upstream = Trainer._save_checkpoint

    def _save_checkpoint(self: Any, *args: Any, **kwargs: Any) -> None:
        begin_s = time.perf_counter()
        upstream(self, *args, **kwargs)
        marks.add("stall", seconds=time.perf_counter() - begin_s)

    Trainer._save_checkpoint = _save_checkpoint


def idle(seconds: float) -> None:
    """Let forward and backward be a sleep and a barrier, which leave the CPU as free as a GPU's step does.

    The gradients are constants, the optimizer's step is the real one.
    """
    import torch
    import torch.distributed as dist
    from transformers import Trainer

    gradients: dict[Any, Any] = {}

    def training_step(_: Any, model: Any, *__: Any, **___: Any) -> Any:
        time.sleep(seconds)
        dist.barrier()
        for parameter in model.parameters():
            if parameter.requires_grad:
                if parameter not in gradients:
                    gradients[parameter] = torch.full_like(parameter, 1e-3, requires_grad=False)
                parameter.grad = gradients[parameter]
        return torch.zeros(())

    Trainer.training_step = training_step
