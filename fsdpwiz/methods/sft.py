"""Supervised fine-tuning with TRL's SFTTrainer."""

from fsdpwiz.methods.method import DataFormat, Method

METHOD = Method(
    section="sft",
    title="supervised fine-tuning",
    default=True,
    config_class="trl.SFTConfig",
    trainer_class="trl.SFTTrainer",
    data_formats=(
        DataFormat(name="messages", columns=("messages",)),
        DataFormat(name="prompt-completion", columns=("prompt", "completion")),
        DataFormat(name="text", columns=("text",), column_key="dataset_text_field"),
    ),
)
