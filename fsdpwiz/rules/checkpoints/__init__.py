"""Rules on saving, resuming, exporting."""
