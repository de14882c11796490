"""What is known of the base model without loading it."""
