"""The run folder: its file names, its records and the state read from them."""
