"""A fact that cannot be had, and why."""

from __future__ import annotations


class UnknownFact(Exception):  # noqa: N818 - an absence, not an error
    """Raised by a reader where there is nothing to read; its text is the reason in `Facts.absent`."""
