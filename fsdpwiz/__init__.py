"""Fine-tune large models with PyTorch FSDP and TRL: from one recipe to a model that loads."""

__version__ = "0.1.0"
