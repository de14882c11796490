"""The stock script of the throughput benchmark: TRL's SFTTrainer as anybody would start it by hand.

    accelerate launch --config_file accelerate.yaml stock_train.py SETTINGS.json

SETTINGS.json: {"model", "data", "output", "times", "arguments": SFTConfig's keyword arguments}. The end of
every step is written to `times`, one time a line. Of fsdpwiz only the module is imported that makes FSDP
work on a CPU, and only there.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

settings = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
if settings["arguments"].get("use_cpu"):
    from fsdpwiz.train import cpu_fsdp

    cpu_fsdp.enable()

from datasets import load_dataset  # noqa: E402
from transformers import TrainerCallback  # noqa: E402
from trl import SFTConfig, SFTTrainer  # noqa: E402


class StepTimes(TrainerCallback):
    """Keeps when each step ended."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def on_step_end(self, *_: Any, **__: Any) -> None:
        self.times.append(time.time())


def main() -> None:
    clock = StepTimes()
    dataset = load_dataset("json", data_files=settings["data"], split="train")
    config = SFTConfig(output_dir=settings["output"], **settings["arguments"])
    trainer = SFTTrainer(model=settings["model"], args=config, train_dataset=dataset, callbacks=[clock])
    assert trainer.is_fsdp_enabled, "FSDP is not on"
    assert trainer.accelerator.distributed_type.name == "FSDP", trainer.accelerator.distributed_type
    assert trainer.accelerator.num_processes == int(os.environ["WORLD_SIZE"]), "each process trains alone"
    trainer.train()
    if trainer.is_world_process_zero():
        Path(settings["times"]).write_text("\n".join(map(str, clock.times)), encoding="utf-8")


if __name__ == "__main__":
    main()
