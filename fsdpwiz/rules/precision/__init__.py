"""Rules on number formats and quantisation."""
