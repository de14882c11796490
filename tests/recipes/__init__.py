"""Tests of the shipped recipes."""
