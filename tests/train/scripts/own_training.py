"""A training script of a user's own; it knows nothing of the run folder."""

import argparse
import os
import sys

import torch.distributed as dist
from datasets import load_dataset
from torch.distributed.fsdp import FSDPModule
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import SFTConfig, SFTTrainer

parser = argparse.ArgumentParser()
parser.add_argument("--model")
parser.add_argument("--data")
parser.add_argument("--fail-on-rank", type=int, default=-1)
arguments = parser.parse_args()
config = SFTConfig(
    output_dir="unused",
    max_steps=2,
    per_device_train_batch_size=2,
    learning_rate=1e-3,
    lr_scheduler_type="constant",
    logging_steps=1,
    save_strategy="no",
    seed=7,
    max_length=96,
    bf16=False,
    report_to="none",
    gradient_checkpointing=False,
)
trainer = SFTTrainer(
    model=AutoModelForCausalLM.from_pretrained(arguments.model, dtype="float32"),
    args=config,
    train_dataset=load_dataset("json", data_files=arguments.data, split="train"),
    processing_class=AutoTokenizer.from_pretrained(arguments.model),
)
trainer.train()
assert any(isinstance(module, FSDPModule) for module in trainer.model.modules())
assert dist.get_world_size() == 2
if int(os.environ["RANK"]) == arguments.fail_on_rank:
    raise ValueError("the user's own mistake")
losses = [round(entry["loss"], 3) for entry in trainer.state.log_history if "loss" in entry]
sys.stdout.write(f"losses {losses}\n")
