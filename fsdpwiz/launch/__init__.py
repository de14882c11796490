"""Launchers, one file each: start, follow, stop."""
