"""A training script as you may have one: it loads a model and data, trains with TRL, and saves the model.

Nothing in it is fsdpwiz's. Sharding, precision and the processes come from the environment that the launch
sets up, as with `accelerate launch`.
"""

from __future__ import annotations

import argparse
import os

from datasets import load_dataset
from trl import SFTConfig, SFTTrainer


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--steps", type=int, default=10)
    options = parser.parse_args()

    config = SFTConfig(
        output_dir=options.output,
        max_steps=options.steps,
        max_length=256,
        per_device_train_batch_size=4,
        learning_rate=1e-4,
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        gradient_checkpointing=False,  # the recipe's fsdp.activation_checkpointing does it
        use_cpu=os.environ.get("ACCELERATE_USE_CPU") == "true",
    )
    dataset = load_dataset("json", data_files=options.data, split="train")
    trainer = SFTTrainer(model=options.model, args=config, train_dataset=dataset)

    # N processes that each train alone look just like N that train together, until you compare the models
    world_size = int(os.environ.get("WORLD_SIZE", "1"))
    assert trainer.accelerator.num_processes == world_size, "each process trains alone"
    assert world_size == 1 or trainer.is_fsdp_enabled, "the weights are not sharded"

    trainer.train()
    if world_size > 1:
        trainer.accelerator.state.fsdp_plugin.set_state_dict_type("FULL_STATE_DICT")
    trainer.save_model(options.output)


if __name__ == "__main__":
    main()
