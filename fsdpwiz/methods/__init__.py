"""Training methods, one file each, described without importing their library."""
