"""Tests of reading recipes."""
