"""Rules on what a launch needs of this machine."""
