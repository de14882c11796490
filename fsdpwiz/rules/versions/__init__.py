"""Rules on what a version of a library no longer, or not yet, has."""
