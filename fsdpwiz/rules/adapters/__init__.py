"""Rules on LoRA."""
