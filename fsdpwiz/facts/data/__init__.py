"""What is known of the data without loading it: files, columns, rows, first faults."""
