"""Everything decided about a run, every value with its origin."""
