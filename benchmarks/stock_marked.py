"""The stock script of the memory and checkpoint benchmarks: TRL's SFTTrainer, with marks.

    accelerate launch --config_file accelerate.yaml stock_marked.py SETTINGS.json

SETTINGS.json: {"model", "data", "output", "marks", "saves", "idle_s", "arguments": SFTConfig's keyword
arguments}. Of fsdpwiz only the module is imported that makes FSDP work on a CPU, and only there.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

settings = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
if settings["arguments"].get("use_cpu"):
    from fsdpwiz.train import cpu_fsdp

    cpu_fsdp.enable()

import marks  # noqa: E402
from datasets import load_dataset  # noqa: E402
from trl import SFTConfig, SFTTrainer  # noqa: E402


def main() -> None:
    kept = marks.Marks(Path(settings["marks"]))
    kept.add("imported")
    marks.follow(kept, settings["saves"])
    marks.time_saves(kept)
    if settings["idle_s"] is not None:
        marks.idle(settings["idle_s"])
    dataset = load_dataset("json", data_files=settings["data"], split="train")
    config = SFTConfig(output_dir=settings["output"], **settings["arguments"])
    kept.add("load")
    trainer = SFTTrainer(model=settings["model"], args=config, train_dataset=dataset)
    kept.add("prepare")
    assert trainer.is_fsdp_enabled, "FSDP is not on"
    assert trainer.accelerator.distributed_type.name == "FSDP", trainer.accelerator.distributed_type
    assert trainer.accelerator.num_processes == int(os.environ["WORLD_SIZE"]), "each process trains alone"
    trainer.train()
    kept.add("end")


if __name__ == "__main__":
    main()
