"""Rules on keys and values of the recipe."""
