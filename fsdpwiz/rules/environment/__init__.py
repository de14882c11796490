"""Rules on shell, environment and secrets."""
