"""The command line: one file per verb, one module that prints."""
