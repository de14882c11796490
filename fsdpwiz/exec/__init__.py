"""The only place that starts a process or calls a scheduler's command."""
