"""Rules on the launch and the target machine."""
