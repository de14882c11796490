"""Rules on names and values that upstream reads otherwise."""
