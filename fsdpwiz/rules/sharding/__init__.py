"""Rules on how the world is divided."""
