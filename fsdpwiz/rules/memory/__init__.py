"""Rules on loading and offload."""
