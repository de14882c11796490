"""Checks, one file per rule, found by file."""
