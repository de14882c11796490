"""Whether a model folder has a tokenizer and a chat template."""

from __future__ import annotations

from pathlib import Path

from fsdpwiz.facts.regular_file import UnreadableFileError, read_json_object

_FILES = (
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
    "vocab.json",
    "spiece.model",
    "tekken.json",
)
_JSON_FILES = ("tokenizer.json", "tokenizer_config.json", "vocab.json")
_TEMPLATES = ("chat_template.jinja", "chat_template.json", "additional_chat_templates")


def has_tokenizer(folder: Path) -> bool:
    """Whether any file that a tokenizer is loaded from is there."""
    return any((folder / name).is_file() for name in _FILES)


def has_chat_template(folder: Path) -> bool:
    """Whether the tokenizer would have a chat template: a file of its own, or a key of its configuration."""
    if any((folder / name).exists() for name in _TEMPLATES):
        return True
    try:
        return bool(read_json_object(folder / "tokenizer_config.json").get("chat_template"))
    except UnreadableFileError:
        return False


def tokenizer_problem(folder: Path) -> str | None:
    """What is wrong with the first of the tokenizer's JSON files that is there and cannot be read."""
    for name in _JSON_FILES:
        if not (folder / name).is_file():
            continue
        try:
            read_json_object(folder / name)
        except UnreadableFileError as error:
            if not str(error).startswith("larger than"):
                return f"`{name}`: {error}"
    return None
