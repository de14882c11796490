"""A plan as text: Accelerate YAML, launch lines, rank environment, training arguments."""
