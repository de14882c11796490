"""Rules on the data set and what TRL asks of it."""
