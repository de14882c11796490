"""Tokens and passwords recognised, so that they never reach a screen, a log or a file."""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"\b(?:hf_[A-Za-z0-9]{16,}"  # Hugging Face
    r"|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}"  # GitHub
    r"|sk-[A-Za-z0-9_-]{20,}"  # OpenAI, Anthropic
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}"  # AWS
    r"|wandb_v1_[A-Za-z0-9_]{20,}"  # Weights & Biases
    r"|xox[abprs]-[A-Za-z0-9-]{10,}"  # Slack
    r"|eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,})"  # JSON web token
)
_CREDENTIALS_IN_URL = re.compile(r"(?<=://)[^/\s:@]+:[^/\s@]+(?=@)")
_SECRET_NAME = re.compile(
    r"(?:^|_)(?:token|secret|password|passwd|api_?key|access_?key|private_?key|credentials?)$", re.I
)

_TOKEN_OF_TEXT = re.compile(
    r"(?:^|_)(?:bos|eos|pad|unk|sep|cls|mask|start|end|stop|image|special)_token$", re.I
)

HIDDEN = "‹hidden›"


def contains_secret(text: str) -> bool:
    """Whether `text` holds what looks like a token, or a URL with a password."""
    return bool(_TOKEN.search(text) or _CREDENTIALS_IN_URL.search(text))


def names_secret(name: str) -> bool:
    """Whether a key or variable of this name holds a secret, e.g. "hub_token", "WANDB_API_KEY"."""
    return bool(_SECRET_NAME.search(name)) and not _TOKEN_OF_TEXT.search(name)


def redact(text: str) -> str:
    """`text` with whatever looks like a secret hidden."""
    return _CREDENTIALS_IN_URL.sub(HIDDEN, _TOKEN.sub(HIDDEN, text))
