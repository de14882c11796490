"""The types every layer shares: findings, fixes, problems, origins, errors, exit codes."""
