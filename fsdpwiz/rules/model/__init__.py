"""Rules on the base model and how FSDP wraps it."""
