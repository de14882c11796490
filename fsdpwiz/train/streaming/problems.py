"""Why a model cannot be streamed."""

from __future__ import annotations


class NotStreamableError(Exception):
    """The model takes the stock path instead; the text says why, and follows "it is not streamed: "."""
