"""Rules on activation checkpointing."""
