"""The exit codes, the same for every verb."""

from __future__ import annotations

OK = 0
FOUND = 1
NOT_JUDGED = 2
INTERRUPTED = 130
