"""Versions of the libraries that matter, from their packages' metadata; nothing is imported."""

from __future__ import annotations

import importlib.metadata
import platform

from fsdpwiz.facts.types import Software

DISTRIBUTIONS = (
    "torch",
    "accelerate",
    "transformers",
    "trl",
    "peft",
    "datasets",
    "bitsandbytes",
    "tokenizers",
    "safetensors",
    "huggingface-hub",
    "numpy",
)


def read_software() -> Software:
    """The installed ones of `DISTRIBUTIONS`, and Python's own version."""
    found = {name: version for name in DISTRIBUTIONS if (version := _version(name)) is not None}
    return Software(source="measured", versions=found, python=platform.python_version())


def _version(name: str) -> str | None:
    try:
        version: str | None = importlib.metadata.version(name)
    except (importlib.metadata.PackageNotFoundError, OSError, ValueError, KeyError):
        return None
    return version or None
